//! Receiving: who gets in, what is answered, and what a client can't do to the server.

mod addresses;
mod answers;
mod client;
mod connections;
mod descriptors;
mod framing;
mod intake;
mod limits;
pub(crate) mod metrics;
mod parsing;
pub(crate) mod scheme;
mod server;
pub(crate) mod store;
mod tls;
