//! The section of an `amqp` sink.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::OnUnknownName;
use crate::config::quantity::{Period, Rate};

/// Publishes each event to `RabbitMQ` by AMQP 0-9-1: the payload as the body, the event's attributes as
/// `CloudEvents` headers, an `idempotency-key`. Persistent; done once the broker has confirmed that a
/// queue has it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct AmqpConfig {
    /// Where the broker is: `amqp://USER@HOST:PORT/VHOST`, or `amqps://…` for TLS.
    pub(crate) url: String,
    /// The user's password, where `url` has none; written like a source's secret.
    pub(crate) password: Option<String>,
    /// A file of certificates (PEM) that are trusted in place of the system's, for `amqps://…`.
    pub(crate) ca: Option<String>,
    /// The exchange to publish to. Without it the default exchange, which leads to `queue`.
    pub(crate) exchange: Option<String>,
    /// What the exchange is declared as, if it is.
    #[serde(default)]
    pub(crate) exchange_type: ExchangeName,
    /// The routing key for the exchange, in which `{kind}`, `{source}` and `{route}` stand for those of
    /// the event; `{kind}` where it is not given. Without an `exchange` it is the queue's name.
    pub(crate) routing_key: Option<String>,
    /// The queue. With an `exchange` it matters to `declare` alone, which binds it for every event.
    pub(crate) queue: Option<String>,
    /// What the queue is declared as, if it is.
    #[serde(default)]
    pub(crate) queue_type: QueueName,
    /// Whether exchange and queue are declared, durable, whenever the broker is connected to. Where
    /// they are there already they must be alike.
    #[serde(default)]
    pub(crate) declare: bool,
    /// How long publishing may take, from connecting to the broker's confirmation; then the attempt
    /// failed and is made again.
    #[serde(default = "AmqpConfig::timeout")]
    #[schemars(with = "String")]
    pub(crate) timeout: Period,
    /// How many events are published at the same time, in each process; each has a channel of its own
    /// meanwhile. At most 1000.
    #[serde(default = "AmqpConfig::concurrency")]
    pub(crate) concurrency: usize,
    /// How many start in a time, such as `50/s`, `30/m` or `100/h`, in each process; no limit where it
    /// is not given.
    #[schemars(with = "Option<String>")]
    pub(crate) rate: Option<Rate>,
    /// What is done when nobody knows whether an event was published: no confirmation came, a queue of
    /// several refused it, or the server died meanwhile. `retry`: it is published again, with the same
    /// `idempotency-key`. `hold`: the task is dead (*outcome unknown*) until a person looks.
    #[serde(default)]
    pub(crate) on_unknown: OnUnknownName,
}

/// What an exchange is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ExchangeName {
    /// It distributes by patterns of the routing key.
    #[default]
    Topic,
    /// It distributes by the routing key.
    Direct,
    /// Every queue gets everything.
    Fanout,
    /// It distributes by headers.
    Headers,
}

/// What a queue is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum QueueName {
    /// Several nodes keep it.
    #[default]
    Quorum,
    /// One node keeps it.
    Classic,
}

impl AmqpConfig {
    fn timeout() -> Period {
        Period::seconds(30)
    }

    fn concurrency() -> usize {
        16
    }
}
