//! The commands beside `serve`: each reads the configuration and, where it needs to, opens the
//! store directly.

pub(crate) mod backup;
pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod init;
pub(crate) mod list;
pub(crate) mod show;
pub(crate) mod sign;
pub(crate) mod stats;
pub(crate) mod steer;
