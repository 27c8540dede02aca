//! The section of a `bullmq` sink.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::quantity::{Period, Rate};

/// Adds each event as a job to a queue of `BullMQ` 6.7: a `CloudEvent` in JSON with the payload as
/// `data`, under a `jobId` by which a second copy is ignored. Done once Redis has answered.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct BullmqConfig {
    /// Where Redis is: `redis://USER@HOST:PORT/DATABASE`, or `rediss://…` for TLS. Needs Redis 6 or
    /// later; one node, or the one of a cluster that has the queue.
    pub(crate) url: String,
    /// The name of the queue.
    pub(crate) queue: String,
    /// What the queue's keys begin with, as workers have it.
    #[serde(default = "BullmqConfig::prefix")]
    pub(crate) prefix: String,
    /// The user's password, where `url` has none; written like a source's secret.
    pub(crate) password: Option<String>,
    /// A file of certificates (PEM) that are trusted in place of the system's, for `rediss://…`.
    pub(crate) ca: Option<String>,
    /// How often workers try a job before it has failed.
    #[serde(default = "BullmqConfig::attempts")]
    pub(crate) attempts: u32,
    /// How long a job waits after its first failed try; twice as long after each other.
    #[serde(default = "BullmqConfig::backoff")]
    #[schemars(with = "String")]
    pub(crate) backoff: Period,
    /// How long a completed job is kept in the queue, and with it the `jobId` by which a copy is
    /// ignored. Failed jobs are kept until somebody removes them.
    #[serde(default = "BullmqConfig::keep")]
    #[schemars(with = "String")]
    pub(crate) keep: Period,
    /// How long adding may take, with connecting; then the attempt failed and is made again.
    #[serde(default = "BullmqConfig::timeout")]
    #[schemars(with = "String")]
    pub(crate) timeout: Period,
    /// How many events are added at the same time, in each process.
    #[serde(default = "BullmqConfig::concurrency")]
    pub(crate) concurrency: usize,
    /// How many start in a time, such as `50/s`, `30/m` or `100/h`, in each process; no limit where it
    /// is not given.
    #[schemars(with = "Option<String>")]
    pub(crate) rate: Option<Rate>,
}

impl BullmqConfig {
    fn prefix() -> String {
        "bull".to_owned()
    }

    fn attempts() -> u32 {
        10
    }

    fn backoff() -> Period {
        Period::seconds(1)
    }

    fn keep() -> Period {
        Period::days(7)
    }

    fn timeout() -> Period {
        Period::seconds(30)
    }

    fn concurrency() -> usize {
        16
    }
}
