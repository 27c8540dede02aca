//! What went wrong for others, enacted on the real program: each test is named by its case in
//! `cases.jsonl`, sends that case's request, and holds what is right there, or what the design says
//! where it says otherwise. What needs a clock or a store of its own stands with the library.

#[path = "../../../hookonce/tests/it/cases/case.rs"]
pub(crate) mod case;

pub(crate) mod bot;
pub(crate) mod client;
pub(crate) mod stand;

mod corpus;

mod db;
mod dup;
mod effect;
mod false_;
mod http;
mod ident;
mod job;
mod lost;
mod ord;
mod sig;
mod stat;
mod types;
mod verify;
mod wasender;
