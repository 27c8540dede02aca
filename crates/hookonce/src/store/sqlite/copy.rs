//! Reads a whole store, to be copied to another one: held by us alone, and only read.

use std::path::Path;
use std::time::Duration;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, OpenFlags, named_params};

use super::migrate;
use crate::store::StoreError;
use crate::store::copy::{Cell, Piece, Row, Table};

/// How long a command that is about to end is waited for.
const PATIENCE: Duration = Duration::from_millis(500);
/// How many events, and bytes of their payloads, are a range: what one transaction copies.
const RANGE: (i64, i64) = (500, 4 << 20);
/// How many rows, and bytes, are given at once.
const PIECE: (usize, usize) = (500, 1 << 20);

/// A store that is held.
pub(in crate::store) struct Source {
    connection: Connection,
    made_at: i64,
    events: u64,
}

impl Source {
    /// Opens a store and keeps everybody else out until it is dropped. Blocks while it does.
    pub(in crate::store) fn open(path: &Path) -> Result<Self, StoreError> {
        migrate::check(path)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(PATIENCE)?;
        connection.pragma_update(None, "locking_mode", "exclusive")?;
        connection.execute_batch(include_str!("copy/hold.sql")).map_err(|error| {
            if error.sqlite_error_code() != Some(ErrorCode::DatabaseBusy) {
                return StoreError::from(error);
            }
            StoreError::Refused(format!(
                "`{}` is in use: stop the server and whatever else has it open, so that nothing is \
                 written to it while it is copied",
                path.display()
            ))
        })?;
        let facts = connection
            .query_row(include_str!("copy/made_at.sql"), (), |row| Ok((row.get(0)?, row.get(1)?)));
        let (made_at, events) = facts?;
        Ok(Self { connection, made_at, events })
    }

    /// When the store was made, by which it is known again.
    pub(in crate::store) fn made_at(&self) -> i64 {
        self.made_at
    }

    /// How many events there are.
    pub(in crate::store) fn events(&self) -> u64 {
        self.events
    }

    /// How many there are up to a number.
    pub(in crate::store) fn behind(&self, after: i64) -> Result<u64, StoreError> {
        let sql = include_str!("copy/behind.sql");
        Ok(self.connection.query_row(sql, named_params! { ":after": after }, |row| row.get(0))?)
    }

    /// Gives all that belongs to events after a number, range by range, and what belongs to none;
    /// until `give` wants no more. Blocks while it does.
    pub(in crate::store) fn read(
        &self,
        after: i64,
        give: &mut dyn FnMut(Piece) -> bool,
    ) -> Result<(), StoreError> {
        let mut after = after;
        // What is behind the last event belongs to its range, should there be anything.
        while after < i64::MAX {
            let until = self.range(after)?;
            for table in &Table::ALL[..Table::OF_EVENTS] {
                if !self.read_table(*table, Some((after, until)), give)? {
                    return Ok(());
                }
            }
            if !give(Piece::Through(until)) {
                return Ok(());
            }
            after = until;
        }
        for table in &Table::ALL[Table::OF_EVENTS..] {
            if !self.read_table(*table, None, give)? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// The last number of the range behind another.
    fn range(&self, after: i64) -> rusqlite::Result<i64> {
        let mut sizes = self.connection.prepare_cached(include_str!("copy/sizes.sql"))?;
        let (limit, bytes) = RANGE;
        let mut rows = sizes.query(named_params! { ":after": after, ":limit": limit })?;
        let (mut n, mut sum) = (0, 0);
        while let Some(row) = rows.next()? {
            n += 1;
            sum += row.get::<_, i64>(1)?;
            if n == limit || sum >= bytes {
                return row.get(0);
            }
        }
        Ok(i64::MAX)
    }

    /// Gives a table's rows, of a range where it has events; false where no more is wanted.
    fn read_table(
        &self,
        table: Table,
        range: Option<(i64, i64)>,
        give: &mut dyn FnMut(Piece) -> bool,
    ) -> Result<bool, StoreError> {
        let mut statement = self.connection.prepare_cached(sql(table))?;
        let mut rows = match range {
            Some((after, until)) => {
                statement.query(named_params! { ":after": after, ":until": until })?
            }
            None => statement.query(())?,
        };
        let (most, limit) = PIECE;
        let (mut piece, mut bytes) = (Vec::new(), 0);
        while let Some(row) = rows.next()? {
            let mut cells = Row::new();
            for at in 0..table.columns().len() {
                let cell = cell(row.get_ref(at)?)?;
                bytes += match &cell {
                    Cell::Text(text) => text.len(),
                    Cell::Bytes(bytes) => bytes.len(),
                    Cell::Number(_) | Cell::Null => 8,
                };
                cells.push(cell);
            }
            piece.push(cells);
            if piece.len() == most || bytes >= limit {
                bytes = 0;
                if !give(Piece::Rows(table, std::mem::take(&mut piece))) {
                    return Ok(false);
                }
            }
        }
        Ok(piece.is_empty() || give(Piece::Rows(table, piece)))
    }
}

fn cell(value: ValueRef<'_>) -> rusqlite::Result<Cell> {
    Ok(match value {
        ValueRef::Null => Cell::Null,
        ValueRef::Integer(number) => Cell::Number(number),
        ValueRef::Text(_) => Cell::Text(value.as_str()?.to_owned()),
        ValueRef::Blob(bytes) => Cell::Bytes(bytes.to_vec()),
        // Nothing of ours is stored as one.
        ValueRef::Real(_) => return Err(rusqlite::types::FromSqlError::InvalidType.into()),
    })
}

fn sql(table: Table) -> &'static str {
    match table {
        Table::Events => include_str!("copy/events.sql"),
        Table::Arrivals => include_str!("copy/arrivals.sql"),
        Table::Tasks => include_str!("copy/tasks.sql"),
        Table::Attempts => include_str!("copy/attempts.sql"),
        Table::Steps => include_str!("copy/steps.sql"),
        Table::Sources => include_str!("copy/sources.sql"),
        Table::Routes => include_str!("copy/routes.sql"),
        Table::Audit => include_str!("copy/audit.sql"),
        Table::Minutes => include_str!("copy/minutes.sql"),
        Table::Meta => include_str!("copy/meta.sql"),
    }
}
