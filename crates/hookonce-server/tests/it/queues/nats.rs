//! Events through a stream of NATS to the consumer `jetstream.py`.

use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::office::{Consumer, MESSAGES, Office};
use crate::crash::wait_until;
use crate::engine::port;

/// A server, killed when it is dropped.
struct Nats {
    url: String,
    running: Child,
    _dir: tempfile::TempDir,
}

impl Nats {
    fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let port = port::free();
        let mut command = Command::new("nats-server");
        command.args(["--jetstream", "--addr", "127.0.0.1", "--port", &port.to_string()]);
        command.arg("--store_dir").arg(dir.path());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let running = command.spawn().unwrap();
        wait_until("it listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());
        Self { url: format!("nats://127.0.0.1:{port}"), running, _dir: dir }
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        let _ = self.running.kill();
        let _ = self.running.wait();
    }
}

#[test]
fn each_event_is_booked_once_though_it_is_published_twice_and_the_consumer_is_killed() {
    let nats = Nats::start();
    let office = Office::open(&format!(
        "type = \"nats\"\nurl = \"{}\"\nsubject = \"books.{{kind}}\"\nstream = \"q\"\ndeclare = true",
        nats.url
    ));
    let books = office.place.path("books.db");
    let consumer = || {
        let mut command = Consumer::python("jetstream.py");
        command.args([&nats.url, "q"]).arg(&books).env("LEASE", "2");
        Consumer::start(command)
    };
    let first = consumer();
    office.receive();
    wait_until("some are booked", || booked(&books) > 0);
    drop(first);
    let _second = consumer();
    wait_until("all are booked", || booked(&books) == MESSAGES);
}

fn booked(books: &Path) -> usize {
    let open = rusqlite::Connection::open(books).unwrap();
    open.query_row("select count(*) from ledger", (), |row| row.get(0)).unwrap_or(0)
}
