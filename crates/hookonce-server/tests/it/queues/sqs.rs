//! Events through a queue of SQS to the consumer `sqs.py`.

use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::office::{Consumer, MESSAGES, Office, made};
use crate::crash::wait_until;
use crate::engine::port;
use crate::program::root;

/// Makes the queue at an address; what it prints is the queue's own.
const CREATE: &str = "
import boto3, sys
queue = boto3.client('sqs', endpoint_url=sys.argv[1])
print(queue.create_queue(QueueName='books.fifo', Attributes={'FifoQueue': 'true'})['QueueUrl'])
";

/// A server that speaks as SQS does, killed when it is dropped.
struct Sqs {
    at: String,
    running: Child,
    _dir: tempfile::TempDir,
}

impl Sqs {
    fn start() -> Self {
        let (dir, port) = (tempfile::tempdir().unwrap(), port::free());
        let mut command = python();
        command.arg(root().join("crates/hookonce/tests/it/sinks/sqs/server.py"));
        command.arg(port.to_string()).arg(dir.path().join("asked"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let running = command.spawn().unwrap();
        wait_until("it listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());
        Self { at: format!("http://127.0.0.1:{port}"), running, _dir: dir }
    }

    /// Makes a queue, and gives its URL.
    fn queue(&self) -> String {
        let made = as_somebody(python().args(["-c", CREATE, &self.at])).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        String::from_utf8(made.stdout).unwrap().trim().to_owned()
    }
}

impl Drop for Sqs {
    fn drop(&mut self) {
        let _ = self.running.kill();
        let _ = self.running.wait();
    }
}

fn python() -> Command {
    let mut command = Command::new(made().join("sqs/bin/python"));
    command.env("PYTHONDONTWRITEBYTECODE", "1");
    command
}

fn as_somebody(command: &mut Command) -> &mut Command {
    command.envs([
        ("AWS_ACCESS_KEY_ID", "a"),
        ("AWS_SECRET_ACCESS_KEY", "b"),
        ("AWS_DEFAULT_REGION", "eu-central-1"),
    ])
}

#[test]
fn each_event_is_booked_once_though_the_consumer_is_killed() {
    let sqs = Sqs::start();
    let url = sqs.queue();
    let office = Office::open(&format!(
        "type = \"sqs\"\nurl = \"{url}\"\nregion = \"eu-central-1\"\naccess_key = \"a\"\n\
         secret_key = \"b\""
    ));
    let books = office.place.path("books.db");
    let consumer = || {
        let mut command = Consumer::python("sqs.py");
        as_somebody(command.arg(&url).arg(&books))
            .env("AWS_ENDPOINT_URL", &sqs.at)
            .env("LEASE", "2");
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
