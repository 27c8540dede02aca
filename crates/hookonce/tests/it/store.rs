//! The contract that every store keeps: one suite, a test of each store.

mod claiming;
mod copying;
mod costs;
mod finishing;
mod inserting;
mod moving;
mod pruning;
mod reading;
mod sqlite;
mod statements;
mod steering;
