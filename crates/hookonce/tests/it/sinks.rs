//! Sinks: what is sent, and what each answer means.

#![expect(clippy::unwrap_used, reason = "it fails the test, as it should")]

mod answers;
mod claim;
mod log;
mod peer;
mod requests;
mod sql;
