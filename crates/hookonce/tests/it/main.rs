//! The library's integration tests, in reading order.

#![expect(clippy::unwrap_used, reason = "a test fails where it stands")]

mod bed;
mod evolution;
mod fuzz;
mod generic;
mod meta;
mod postgres;
mod receiving;
mod redis;
mod sinks;
mod store;
mod tidy;
mod twilio;
mod waha;
mod working;

mod functions;

mod wasender;

mod steering;
mod working_together;

mod embedding;

mod cases;
