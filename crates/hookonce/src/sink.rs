//! Steps that ship with us.
//!
//! A sink says what became of an event in the words of [`Failure`](crate::step::Failure), and only
//! an explicit success completes. How each classifies:
//!
//! | | permanent | not yet | sink down | unavailable | unknown | transient |
//! |---|---|---|---|---|---|---|
//! | [`http`] | 400, 410, 413, 422 (configurable); nothing left to send | 425, 429 | refused, DNS, TLS | 502, 503, 504; no connection in time | no answer in time; a connection that breaks | any other answer, redirects too |
//! | [`exec`] | exit 65; nothing left to hand over | exit 75 | can't be started | | out of time, ended by a signal | any other exit |
//! | [`sql`] | a constraint is violated, a value doesn't fit; not an SQL store | | | the store can't write | | everything else |
//! | `amqp` | refused by the broker for what it is, such as its size | no channel is left | no connection, no exchange, the topology differs, the broker is short of memory or disk | no queue takes it, a full queue, not allowed | no confirmation in time; a connection that breaks | |
//! | `nats` | longer than the server or the stream takes | | no connection, no stream, the stream doesn't listen to the subject | no stream listens, a full stream, no leader | no acknowledgement in time; a connection that breaks | any other refusal |
//! | `sqs` | longer than the queue takes, characters that it doesn't take | throttled | can't be reached, no such queue, no rights, no key to encrypt with | 502, 503, 504 | no answer in time, a connection that breaks, 500 | any other refusal |
//! | `redis_stream`, `bullmq` | longer than the server takes | | no connection, and every refusal that is not about the event | | no answer in time; a connection that breaks | any other error of the server |
//! | [`log`](mod@log) | the event is gone | | | | | the output can't be written, the store can't be read |
//!
//! *Transient* counts as an attempt and is retried by the route's policy; *not yet* and *sink down*
//! cost none; *unavailable* costs one where it is the event's fault, which a [gate](crate::gate) finds
//! out. When the outcome is *unknown* the step runs again, unless its gate says that it may not:
//! whoever is called tells the copies apart by the idempotency key.
//!
//! A sink whose client is heavy is there with the cargo feature of its name.

mod attributes;
mod quote;
mod redis;
#[cfg(any(feature = "amqp", feature = "nats"))]
mod trust;

#[cfg(feature = "amqp")]
pub mod amqp;
pub mod bullmq;
pub mod exec;
pub mod http;
pub mod log;
#[cfg(feature = "nats")]
pub mod nats;
pub mod redis_stream;
pub mod sql;
#[cfg(feature = "sqs")]
pub mod sqs;
