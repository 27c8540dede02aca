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
//! | [`log`](mod@log) | the event is gone | | | | | the output can't be written, the store can't be read |
//!
//! *Transient* counts as an attempt and is retried by the route's policy; *not yet* and *sink down*
//! cost none; *unavailable* costs one where it is the event's fault, which a [gate](crate::gate) finds
//! out. When the outcome is *unknown* the step runs again, unless its gate says that it may not:
//! whoever is called tells the copies apart by the idempotency key.

mod attributes;
mod quote;

pub mod exec;
pub mod http;
pub mod log;
pub mod sql;
