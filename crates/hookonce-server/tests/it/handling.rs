//! Every way a task can go, seen on the real program: outages, floods, blocked lanes, shutdowns,
//! senders that wait, and a configuration that changes meanwhile.

mod flood;
mod lanes;
mod outages;
mod reloading;
mod stopping;
mod unknown;
mod waiting;
