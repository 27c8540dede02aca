//! The library's integration tests, in reading order.

mod bed;
mod meta;
mod receiving;
mod sinks;
mod store;
mod working;
