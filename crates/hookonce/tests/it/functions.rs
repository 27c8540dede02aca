//! The SQL functions that workers in other languages call, by plain SQL on a real PostgreSQL; and the
//! same for Rust.

mod claiming;
mod comments;
mod effect;
mod ending;
mod example;
mod granting;
mod holding;
mod policy;
mod receiving;
mod reference;
mod worker;
