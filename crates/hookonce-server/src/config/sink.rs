//! The sections of sinks in `hookonce.toml`. Their comments are the reference, as those of the other
//! sections are.

mod amqp;
mod bullmq;
mod nats;
mod redis_stream;
mod sqs;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::quantity::{Period, Rate};

#[cfg(feature = "amqp")]
pub(crate) use amqp::QueueName;
pub(crate) use amqp::{AmqpConfig, ExchangeName};
pub(crate) use bullmq::BullmqConfig;
pub(crate) use nats::NatsConfig;
pub(crate) use redis_stream::RedisStreamConfig;
pub(crate) use sqs::SqsConfig;

/// What a sink does with an event; `type` says which of these it is.
#[derive(Debug, Clone)]
pub(crate) enum SinkConfig {
    Http(HttpConfig),
    Exec(ExecConfig),
    Sql(SqlConfig),
    Log(LogConfig),
    Amqp(AmqpConfig),
    Nats(NatsConfig),
    RedisStream(RedisStreamConfig),
    Bullmq(BullmqConfig),
    Sqs(SqsConfig),
}

/// The words that `type` may be.
pub(crate) const TYPES: [&str; 9] =
    ["http", "exec", "sql", "log", "amqp", "nats", "redis-stream", "bullmq", "sqs"];

/// Those of them whose client is heavy, and whether this program was built with it.
const BUILT: [(&str, bool); 3] = [
    ("amqp", cfg!(feature = "amqp")),
    ("nats", cfg!(feature = "nats")),
    ("sqs", cfg!(feature = "sqs")),
];

/// Whether this program was built with the sinks of a type.
pub(crate) fn is_built(word: &str) -> bool {
    !BUILT.contains(&(word, false))
}

/// What is done when nobody knows whether a step happened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum OnUnknownName {
    /// It is run again.
    #[default]
    Retry,
    /// The task is dead until a person looks.
    Hold,
}

/// Whose signature is put beside our own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SignAsName {
    /// Meta's.
    Meta,
}

/// Posts the payload to a URL, with the event's attributes as `CloudEvents` headers and an
/// `Idempotency-Key`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct HttpConfig {
    /// Where to: `http://…` or `https://…`.
    pub(crate) url: String,
    /// How long one request may take; then the attempt failed and is made again.
    #[serde(default = "HttpConfig::timeout")]
    #[schemars(with = "String")]
    pub(crate) timeout: Period,
    /// How many requests run at the same time, in each process.
    #[serde(default = "HttpConfig::concurrency")]
    pub(crate) concurrency: usize,
    /// How many requests start in a time, such as `50/s`, `30/m` or `100/h`, in each process; no
    /// limit where it is not given.
    #[schemars(with = "Option<String>")]
    pub(crate) rate: Option<Rate>,
    /// What is done when nobody knows whether a request was handled: no answer came, a proxy answered
    /// 502 or 504, or the server died meanwhile. `retry`: it is made again, with the same `Idempotency-Key`. `hold`: the task
    /// is dead (*outcome unknown*) until a person looks.
    #[serde(default)]
    pub(crate) on_unknown: OnUnknownName,
    /// Status codes after which trying again can't help: the task is dead at once.
    #[serde(default = "HttpConfig::permanent")]
    pub(crate) permanent: Vec<u16>,
    /// Signs each request, so that the receiver can prove who sent it; written like a source's
    /// secret. Standard Webhooks headers unless `sign_as` says otherwise.
    pub(crate) secret: Option<String>,
    /// `meta`: also signs with `X-Hub-Signature-256`, as Meta does, so that a handler written for
    /// Meta needs no change. Needs a `secret`.
    pub(crate) sign_as: Option<SignAsName>,
}

impl HttpConfig {
    fn timeout() -> Period {
        Period::seconds(30)
    }

    fn concurrency() -> usize {
        16
    }

    fn permanent() -> Vec<u16> {
        vec![400, 410, 413, 422]
    }
}

/// Runs a command, with the payload on its standard input and the event's attributes in its
/// environment. Exit 0 is done, 65 permanent, 75 not yet, any other is tried again.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ExecConfig {
    /// The program and its arguments; no shell is put around them. Runs in the directory of this
    /// file.
    pub(crate) command: Vec<String>,
    /// How long it may run; then it is killed with its children, and the attempt is made again.
    #[serde(default = "ExecConfig::timeout")]
    #[schemars(with = "String")]
    pub(crate) timeout: Period,
    /// How many commands run at the same time, in each process.
    #[serde(default = "ExecConfig::concurrency")]
    pub(crate) concurrency: usize,
    /// How many commands start in a time, such as `50/s`, `30/m` or `100/h`, in each process; no
    /// limit where it is not given.
    #[schemars(with = "Option<String>")]
    pub(crate) rate: Option<Rate>,
    /// What is done when nobody knows whether a command did its work: it was killed after `timeout`
    /// or by a signal, or the server died meanwhile. `retry`: it is run again. `hold`: the task is
    /// dead (*outcome unknown*) until a person looks.
    #[serde(default)]
    pub(crate) on_unknown: OnUnknownName,
}

impl ExecConfig {
    fn timeout() -> Period {
        Period::seconds(30)
    }

    fn concurrency() -> usize {
        16
    }
}

/// Runs a statement on the store's own database, in one transaction with the record of the step:
/// the effect happens exactly once.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct SqlConfig {
    /// One statement. Its parameters: `:id :source :key :kind :lane :payload :element :attempt :run
    /// :received_at`.
    pub(crate) statement: String,
    /// How long one statement may take, and wait for a connection; then it is cut off, and the attempt
    /// is made again. In SQLite it may take 1 s at most, whatever this says.
    #[serde(default = "SqlConfig::timeout")]
    #[schemars(with = "String")]
    pub(crate) timeout: Period,
    /// How many statements run at the same time, in each process: in SQLite one; in PostgreSQL no more
    /// than three fewer than `postgres.connections`, for all `sql` sinks together. The others wait.
    #[serde(default = "SqlConfig::concurrency")]
    pub(crate) concurrency: usize,
    /// How many statements start in a time, such as `50/s`, `30/m` or `100/h`, in each process; no
    /// limit where it is not given.
    #[schemars(with = "Option<String>")]
    pub(crate) rate: Option<Rate>,
}

impl SqlConfig {
    fn timeout() -> Period {
        Period::seconds(30)
    }

    fn concurrency() -> usize {
        16
    }
}

/// Writes each event as a line of JSON to standard output.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct LogConfig {}
