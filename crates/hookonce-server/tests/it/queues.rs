//! Queues as sinks: the real program before a real queue, with the consumers of `examples/queues`
//! behind it.

mod bullmq;
#[cfg(feature = "nats")]
mod nats;
mod office;
mod redis_stream;
#[cfg(feature = "sqs")]
mod sqs;

use std::process::Command;

use crate::engine::Redis;

/// What a Redis answers to these words, as a person reads it.
fn ask(server: &Redis, words: &[&str]) -> String {
    let mut command = Command::new("redis-cli");
    command.args(["-p", &server.port().to_string()]).args(words);
    let said = command.output().unwrap();
    assert!(said.status.success());
    String::from_utf8(said.stdout).unwrap().trim().to_owned()
}
