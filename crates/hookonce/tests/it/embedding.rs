//! The example of the guide, as a program of its own.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long anything that is waited for may take.
const LIMIT: Duration = Duration::from_secs(20);

/// The example, running; killed when dropped.
struct Shop {
    process: Child,
    /// The line that it prints to try.
    curl: String,
}

impl Shop {
    fn open(file: &Path) -> Self {
        let mut command = Command::new(example());
        let command = command.arg(file).arg("127.0.0.1:0").stdout(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let mut curl = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut curl).unwrap();
        Self { process, curl }
    }

    /// Pastes the line into a shell; gives the answer.
    fn send(&self) -> String {
        shell(&self.curl)
    }

    fn get(&self, path: &str) -> String {
        let (_, url) = self.curl.trim().rsplit_once(' ').unwrap();
        shell(&format!("curl -sS {}", url.replace("/webhooks/whatsapp", path)))
    }
}

impl Drop for Shop {
    fn drop(&mut self) {
        // `kill -9`, unless it has ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// `cargo test` builds it beside the tests.
fn example() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let path = tests.ancestors().nth(2).unwrap().join("examples/embed");
    assert!(path.exists(), "build it first: cargo build -p hookonce --example embed");
    path
}

fn shell(line: &str) -> String {
    let output = Command::new("sh").args(["-c", line]).env("no_proxy", "*").output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

fn until(what: &str, holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < LIMIT, "not within {LIMIT:?}: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn the_example_books_a_message_once_though_it_is_sent_twice_and_the_program_is_killed() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("shop.db");
    let shop = Shop::open(&file);
    assert_eq!(shop.get("/readyz"), "ready\n");
    assert_eq!(shop.send(), r#"{"new":1,"duplicates":0}"#);
    drop(shop);
    // Perhaps it was killed while it had the task: let its lease be over.
    let database = rusqlite::Connection::open(&file).unwrap();
    database
        .execute("update hookonce_tasks set lease_until = 0 where state = 'claimed'", ())
        .unwrap();

    let mut shop = Shop::open(&file);
    assert_eq!(shop.send(), r#"{"new":0,"duplicates":1}"#);
    let count = |from: &str| -> i64 {
        let count = format!("select count(*) from {from}");
        database.query_row(&count, (), |row| row.get(0)).unwrap()
    };
    until("it is done", || count("hookonce_tasks where state = 'completed'") == 1);
    assert_eq!(count("orders"), 1);
    let orders = shop.get("/orders");
    assert!(orders.ends_with(" two loaves\n") && orders.lines().count() == 1, "{orders}");

    shell(&format!("kill -TERM {}", shop.process.id()));
    let began = Instant::now();
    let status = loop {
        if let Some(status) = shop.process.try_wait().unwrap() {
            break status;
        }
        assert!(began.elapsed() < LIMIT, "it doesn't stop");
        std::thread::sleep(Duration::from_millis(20));
    };
    assert!(status.success(), "{status}");
}
