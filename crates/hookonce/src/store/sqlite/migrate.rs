//! The tables' versions: forward only, checked both ways.

use std::path::Path;

use jiff::Timestamp;
use rusqlite::{Connection, OpenFlags};

use crate::store::StoreError;

/// Every migration in order; the last one is the version that this program writes.
const MIGRATIONS: [&str; 1] = [include_str!("migrations/0001_first.sql")];
/// The version that this program writes.
pub(super) const VERSION: usize = MIGRATIONS.len();

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

/// Fails if there is no store of this version in the file, without changing the file.
pub(super) fn check(path: &Path) -> Result<(), StoreError> {
    match found(path)? {
        Some(version) if version == MIGRATIONS.len() => Ok(()),
        None => Err(StoreError::unavailable(format!(
            "`{}` is no store of hookonce: `hookonce serve` makes one",
            path.display()
        ))),
        Some(version) => Err(StoreError::unavailable(format!(
            "`{}` has tables of version {version}, this program writes version {}: `hookonce serve` \
             of the newer program brings them up to date",
            path.display(),
            MIGRATIONS.len()
        ))),
    }
}

/// The version of the tables in a file, if there are any, without changing the file.
pub(super) fn found(path: &Path) -> Result<Option<usize>, StoreError> {
    if !path.exists() {
        return Ok(None);
    }
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let known = "select exists (select 1 from sqlite_master where name = 'hookonce_migrations')";
    if !connection.query_row(known, (), |row| row.get(0))? {
        return Ok(None);
    }
    let version = "select max(version) from hookonce_migrations";
    Ok(connection.query_row(version, (), |row| row.get(0))?)
}

fn run_in_transaction(connection: &Connection, now: Timestamp) -> Result<(), StoreError> {
    let from = version(connection)?;
    known(from)?;
    for (n, migration) in MIGRATIONS.iter().enumerate().skip(from) {
        connection.execute_batch(migration)?;
        connection.execute(
            "insert into hookonce_migrations (version, at) values (?, ?)",
            (n + 1, now.as_millisecond()),
        )?;
    }
    Ok(())
}

/// Fails if the tables are of a version that this program doesn't know.
pub(super) fn known(version: usize) -> Result<(), StoreError> {
    if version <= MIGRATIONS.len() {
        return Ok(());
    }
    Err(StoreError::unavailable(format!(
        "the database has tables of version {version}, this program knows them up to version {}: use \
         the newer hookonce that made them",
        MIGRATIONS.len()
    )))
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
