//! What there is to be said of the server and the tables, for whoever looks for what is wrong.

use std::time::Duration;

use jiff::Timestamp;

use super::error::{Failed, again};
use super::{PostgresStore, rows};
use crate::store::StoreError;

/// How a store's server is.
#[derive(Debug, Clone)]
pub struct PostgresFacts {
    /// The server's version, in its own words.
    pub server: String,
    /// The version of the tables.
    pub version: usize,
    /// What time it is there.
    pub now: Timestamp,
    /// It follows another server and takes no writes.
    pub in_recovery: bool,
    /// It takes no writes because it was told so.
    pub read_only: bool,
    /// It flushes what it commits.
    pub flushes: bool,
    /// Connections of everybody's.
    pub connections: u64,
    /// How many there may be.
    pub most_connections: u64,
    /// How long the oldest transaction that is open elsewhere has been, as far as this user may see:
    /// no dead row younger than it can be cleared away.
    pub oldest_transaction: Option<Duration>,
    /// The same of those that were prepared and wait for their second half.
    pub oldest_prepared: Option<Duration>,
    /// Replication slots that nobody reads, which keep the log, and dead rows, from being cleared
    /// away.
    pub idle_slots: u64,
    /// Dead rows of the tasks' table.
    pub dead_tasks: u64,
    /// Its live rows.
    pub live_tasks: u64,
}

impl PostgresStore {
    /// Says how the server and the tables are.
    pub async fn facts(&self) -> Result<PostgresFacts, StoreError> {
        let found = again!(self.pool.query(include_str!("facts.sql"), &[]).await)?;
        let row = found.first().ok_or_else(|| StoreError::unavailable("the server is silent"))?;
        let seconds = |at| -> Result<Option<Duration>, tokio_postgres::Error> {
            let seconds: Option<f64> = row.try_get(at)?;
            Ok(seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()))
        };
        let read = || -> Result<PostgresFacts, Failed> {
            Ok(PostgresFacts {
                server: row.try_get(0)?,
                version: usize::try_from(row.try_get::<_, i32>(1)?).unwrap_or_default(),
                now: rows::time(row, 2)?,
                in_recovery: row.try_get(3)?,
                read_only: row.try_get(4)?,
                flushes: row.try_get(5)?,
                connections: rows::count(row, 6)?,
                most_connections: rows::count(row, 7)?,
                oldest_transaction: seconds(8)?,
                oldest_prepared: seconds(9)?,
                idle_slots: rows::count(row, 10)?,
                dead_tasks: rows::count(row, 11)?,
                live_tasks: rows::count(row, 12)?,
            })
        };
        Ok(read()?)
    }
}
