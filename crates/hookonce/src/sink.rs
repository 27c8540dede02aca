//! Steps that ship with us.

pub mod http;
pub mod log;
pub mod sql;
