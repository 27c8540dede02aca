//! Steps that ship with us.
//!
//! A sink says what became of an event in the four words of [`Failure`](crate::step::Failure), and
//! only an explicit success completes. How each classifies:
//!
//! | | permanent | not yet | sink down | transient |
//! |---|---|---|---|---|
//! | [`http`] | 400, 410, 413, 422 (configurable); nothing left to send | 425, 429 | refused, DNS, TLS | any other answer, redirects too; a connection that breaks; no answer in time |
//! | [`sql`] | a constraint is violated, a value doesn't fit; not an SQL store | | | everything else |
//! | [`log`](mod@log) | the event is gone | | | the output can't be written, the store can't be read |
//!
//! *Transient* counts as an attempt and is retried by the route's policy, and so does *sink down* as
//! long as nothing watches over a sink's state; *not yet* costs none. When the outcome is unknown (no answer in time) the step runs again: whoever is called
//! tells the copies apart by the idempotency key.

pub mod http;
pub mod log;
pub mod sql;
