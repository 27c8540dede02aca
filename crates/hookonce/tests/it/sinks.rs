//! Sinks: what is sent, and what each answer means.

mod answers;
mod claim;
mod log;
mod peer;
mod requests;
mod sql;
