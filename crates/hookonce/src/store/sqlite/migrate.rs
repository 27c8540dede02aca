//! The tables' versions: forward only, checked both ways.

use jiff::Timestamp;
use rusqlite::Connection;

use crate::store::StoreError;

/// Every migration in order; the last one is the version that this program writes.
const MIGRATIONS: [&str; 1] = [include_str!("migrations/0001_first.sql")];

/// Brings the tables up to date, in one transaction, so that two processes may start together.
pub(super) fn run(connection: &Connection, now: Timestamp) -> Result<(), StoreError> {
    if version(connection)? == MIGRATIONS.len() {
        return Ok(());
    }
    connection.execute_batch("begin immediate")?;
    let result = run_in_transaction(connection, now);
    connection.execute_batch(if result.is_ok() { "commit" } else { "rollback" })?;
    result
}

fn run_in_transaction(connection: &Connection, now: Timestamp) -> Result<(), StoreError> {
    let from = version(connection)?;
    if from > MIGRATIONS.len() {
        return Err(StoreError::unavailable(format!(
            "the database has tables of version {from}, this program knows them up to version {}: \
             use the newer hookonce that made them",
            MIGRATIONS.len()
        )));
    }
    for (n, migration) in MIGRATIONS.iter().enumerate().skip(from) {
        connection.execute_batch(migration)?;
        connection.execute(
            "insert into hookonce_migrations (version, at) values (?, ?)",
            (n + 1, now.as_millisecond()),
        )?;
    }
    Ok(())
}

/// The version of the tables that are there; 0 where there are none.
fn version(connection: &Connection) -> rusqlite::Result<usize> {
    connection.execute_batch(
        "create table if not exists hookonce_migrations (version integer primary key, at integer)",
    )?;
    connection.query_row("select coalesce(max(version), 0) from hookonce_migrations", (), |row| {
        row.get(0)
    })
}
