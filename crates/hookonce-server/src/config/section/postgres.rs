//! The section of a store in PostgreSQL.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a `store` that is `postgres://…` is reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct PostgresConfig {
    /// How many connections this process has open at most under load, from 4 to 64; beside them one
    /// that keeps leases and one that listens. An idle process has two at most.
    pub(crate) connections: usize,
    /// Where to listen for notifications, if not at `store`: behind `PgBouncer` in transaction mode
    /// none arrive, so name the server itself. Without notifications, work is found within
    /// `worker.poll`.
    pub(crate) listen_url: Option<String>,
    /// The password, where `store` has none: `env:NAME` or `file:PATH`. Without it the one in
    /// `PGPASSWORD`, else that of the password file in `PGPASSFILE` or `~/.pgpass`.
    pub(crate) password: Option<String>,
}

impl Default for PostgresConfig {
    fn default() -> Self {
        Self { connections: 8, listen_url: None, password: None }
    }
}
