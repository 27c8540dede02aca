//! The section of a `nats` sink.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::OnUnknownName;
use crate::config::quantity::{Period, Rate};

/// Publishes each event to a stream of NATS `JetStream`: the payload as the body, the event's attributes
/// as `CloudEvents` headers, an `idempotency-key`, and the same as `Nats-Msg-Id`, by which the stream
/// drops copies. Done once the stream has acknowledged it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct NatsConfig {
    /// Where the server is: `nats://USER@HOST:PORT`, or `tls://…` for TLS.
    pub(crate) url: String,
    /// The subject to publish under, in which `{kind}`, `{source}`, `{route}` and `{lane}` stand for those
    /// of the event; of the lane it is a hash.
    pub(crate) subject: String,
    /// The user's password, where `url` has none; the token, where `url` has no user. Written like a
    /// source's secret.
    pub(crate) password: Option<String>,
    /// A file of credentials (`.creds`), in place of user and password, written like a source's secret:
    /// `file:PATH`.
    pub(crate) credentials: Option<String>,
    /// A file of certificates (PEM) that are trusted in place of the system's, for `tls://…`.
    pub(crate) ca: Option<String>,
    /// The stream that has to take the events. Any that listens to the subject, where it is not given.
    pub(crate) stream: Option<String>,
    /// Whether the stream is made, for every event's subject, where there is none of its name.
    #[serde(default)]
    pub(crate) declare: bool,
    /// How long publishing may take, from connecting to the stream's acknowledgement; then the attempt
    /// failed and is made again.
    #[serde(default = "NatsConfig::timeout")]
    #[schemars(with = "String")]
    pub(crate) timeout: Period,
    /// How many events are published at the same time, in each process.
    #[serde(default = "NatsConfig::concurrency")]
    pub(crate) concurrency: usize,
    /// How many start in a time, such as `50/s`, `30/m` or `100/h`, in each process; no limit where it
    /// is not given.
    #[schemars(with = "Option<String>")]
    pub(crate) rate: Option<Rate>,
    /// What is done when nobody knows whether an event was published: no acknowledgement came, or the
    /// server died meanwhile. `retry`: it is published again, with the same `Nats-Msg-Id`. `hold`: the
    /// task is dead (*outcome unknown*) until a person looks.
    #[serde(default)]
    pub(crate) on_unknown: OnUnknownName,
}

impl NatsConfig {
    fn timeout() -> Period {
        Period::seconds(30)
    }

    fn concurrency() -> usize {
        16
    }
}
