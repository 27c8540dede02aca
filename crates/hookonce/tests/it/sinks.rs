//! Sinks: what is sent, and what each answer means.

mod answers;
mod children;
mod claim;
mod exec;
mod log;
mod peer;
mod requests;
mod sql;
