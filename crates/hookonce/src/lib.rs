//! Makes webhook processing idempotent: at-least-once delivery in, exactly-once effects out.

pub mod element;
pub mod event;
pub mod janitor;
pub mod listener;
pub mod receiver;
pub mod retry;
pub mod route;
pub mod scheme;
pub mod sink;
pub mod step;
pub mod store;
pub mod task;
pub mod telemetry;
pub mod worker;
