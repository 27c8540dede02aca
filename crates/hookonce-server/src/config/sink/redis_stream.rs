//! The section of a `redis-stream` sink.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::OnUnknownName;
use crate::config::quantity::{Period, Rate};

/// Appends each event to a stream of a Redis, with the payload as `data`, the event's attributes as
/// `CloudEvents` fields and an `idempotency-key`. Done once Redis has answered.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct RedisStreamConfig {
    /// Where Redis is: `redis://USER@HOST:PORT/DATABASE`, or `rediss://…` for TLS. Needs Redis 6 or
    /// later; one node, or the one of a cluster that has the stream.
    pub(crate) url: String,
    /// The key of the stream; it is made with the first event.
    pub(crate) stream: String,
    /// The user's password, where `url` has none; written like a source's secret.
    pub(crate) password: Option<String>,
    /// A file of certificates (PEM) that are trusted in place of the system's, for `rediss://…`.
    pub(crate) ca: Option<String>,
    /// How many of the newest events are kept, about; **older ones are removed whether they were read
    /// or not**. All are kept where neither this nor `max_age` is given.
    pub(crate) max_length: Option<u64>,
    /// How long events are kept, about, counted by this machine's clock; **older ones are removed
    /// whether they were read or not**.
    #[schemars(with = "Option<String>")]
    pub(crate) max_age: Option<Period>,
    /// How long appending may take, with connecting; then the attempt failed and is made again.
    #[serde(default = "RedisStreamConfig::timeout")]
    #[schemars(with = "String")]
    pub(crate) timeout: Period,
    /// How many events are appended at the same time, in each process.
    #[serde(default = "RedisStreamConfig::concurrency")]
    pub(crate) concurrency: usize,
    /// How many start in a time, such as `50/s`, `30/m` or `100/h`, in each process; no limit where it
    /// is not given.
    #[schemars(with = "Option<String>")]
    pub(crate) rate: Option<Rate>,
    /// What is done when nobody knows whether an event was appended: no answer came, or the server
    /// died meanwhile. `retry`: it is appended again, with the same `idempotency-key`. `hold`: the
    /// task is dead (*outcome unknown*) until a person looks.
    #[serde(default)]
    pub(crate) on_unknown: OnUnknownName,
}

impl RedisStreamConfig {
    fn timeout() -> Period {
        Period::seconds(30)
    }

    fn concurrency() -> usize {
        16
    }
}
