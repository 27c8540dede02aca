//! A Redis of a test's own.

use std::process::Command;

use redis::{Connection, FromRedisValue};

use super::broker::Broker;

/// A Redis that keeps what it has answered for, even if it is killed.
pub(crate) struct Redis {
    pub(crate) broker: Broker,
}

impl Redis {
    pub(crate) fn start() -> Self {
        Self { broker: Broker::start(command) }
    }

    /// Starts it again, and waits until it has read what it keeps.
    pub(crate) fn up(&mut self) {
        self.broker.up();
        drop(self.connect());
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.broker.port)
    }

    /// Asks it, in words with spaces between.
    pub(crate) fn ask<T: FromRedisValue>(&self, words: &str) -> T {
        self.ask_with(&words.split(' ').collect::<Vec<_>>())
    }

    pub(crate) fn ask_with<T: FromRedisValue>(&self, words: &[&str]) -> T {
        let mut command = redis::cmd(words[0]);
        command.arg(&words[1..]).query(&mut self.connect()).unwrap()
    }

    /// A connection to it, once it has read what it keeps.
    pub(crate) fn connect(&self) -> Connection {
        let client = redis::Client::open(self.url()).unwrap();
        loop {
            let mut connection = client.get_connection().unwrap();
            connection.set_read_timeout(None).unwrap();
            if redis::cmd("PING").query::<String>(&mut connection).is_ok() {
                return connection;
            }
        }
    }
}

/// What starts one on a port.
pub(crate) fn command(dir: &std::path::Path, port: u16) -> Command {
    let mut command = Command::new("redis-server");
    command.args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", ""]);
    command.args(["--appendonly", "yes", "--appendfsync", "always"]);
    command.arg("--dir").arg(dir);
    command
}
