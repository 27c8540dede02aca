//! What went wrong for others, where enacting it needs a clock, a store or a step of the test's own.
//! Each test is named by its case in `cases.jsonl`; the others stand with the program.

mod case;
mod intake;

mod db;
mod dup;
mod effect;
mod job;
mod lost;
mod ord;
mod redis;
