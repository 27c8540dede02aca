//! Receiving: who gets in, what is answered, and what a client can't do to the server.

#![expect(clippy::unwrap_used, reason = "it fails the test, as it should")]

mod answers;
mod client;
mod connections;
mod descriptors;
mod framing;
mod limits;
mod metrics;
pub(crate) mod scheme;
mod server;
pub(crate) mod store;
