//! What there is to be said of the file itself, for whoever looks for what is wrong.

use super::{SqliteStore, disk};
use crate::store::StoreError;

/// How a store's file is.
#[derive(Debug, Clone)]
pub struct SqliteFacts {
    /// The version of its tables.
    pub version: usize,
    /// How changes are written: `wal`.
    pub journal_mode: String,
    /// The bytes that are free on its disk, where the system tells.
    pub free_disk: Option<u64>,
}

impl SqliteStore {
    /// Says how the file is.
    pub async fn facts(&self) -> Result<SqliteFacts, StoreError> {
        let free_disk = disk::free(&self.path);
        self.read(move |connection| {
            connection.query_row(include_str!("facts.sql"), (), |row| {
                Ok(SqliteFacts { version: row.get(0)?, journal_mode: row.get(1)?, free_disk })
            })
        })
        .await
    }
}
