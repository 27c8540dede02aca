//! The admin listener of the real program: who may call what, and that every call does and answers
//! what its document says.

mod audit;
mod browser;
mod claiming;
mod client;
mod dashboard;
mod document;
mod guide;
mod looking;
mod metrics;
mod refusals;
mod roles;
mod shutdown;
mod stand;
mod tokens;
