//! Many nodes on one PostgreSQL or Redis while all of it breaks: the real program is killed, its server is stopped
//! and replaced, connections are cut, the network is held up, clocks are wrong; and no acked event is
//! lost, effected twice or out of its order.
//!
//! `HOOKONCE_SECONDS` says how long the chaos lasts (a few seconds, where it is not set), `HOOKONCE_SEED`
//! repeats the random choices of a run.

#![allow(clippy::print_stderr, reason = "a long run shows how far it is, and its seed")]

mod clocks;
mod failover;
mod fleet;
mod history;
mod load;
mod network;
mod nodes;
mod open;
mod redis;
mod troubles;
