//! What is promised when things break: the real program is killed, paused, starved of disk and
//! stopped, and no acked event is lost, stored twice or effected twice.
//!
//! `HOOKONCE_ROUNDS` says how often the program is killed in a test of rounds (a few times, where
//! it is not set), `HOOKONCE_SEED` repeats the random choices of a run.

#![allow(clippy::print_stderr, reason = "a long run shows how far it is, and its seed")]

mod backup;
pub(crate) mod chance;
mod claims;
mod copies;
mod disk;
mod flush;
mod moving;
mod nodes;
mod poison;
mod rounds;
pub(crate) mod sender;
mod shop;
mod shutdown;
pub(crate) mod sink;
mod workers;

use std::time::{Duration, Instant};

/// How long anything that is waited for may take.
const LIMIT: Duration = Duration::from_secs(60);

/// Waits until `is_so`; gives up with what was waited for.
pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + LIMIT;
    while !is_so() {
        assert!(Instant::now() < until, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
