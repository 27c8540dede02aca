//! Moves everything from a store in a file to one in a database: a node that has outgrown its file.
//!
//! In ranges of events, each one transaction, which also notes how far it has come; so a copy that was
//! broken off at any instant goes on where it was. At the end both stores are read whole and compared.
//! The file is held meanwhile, and only read.

mod fit;
mod table;

use std::path::Path;

use serde::Serialize;
use tokio::sync::mpsc;

use super::StoreError;
use super::postgres::PostgresOptions;
use super::postgres::copy::Target;
use super::sqlite::copy::Source;
use fit::Fit;

pub(super) use table::{Cell, Kind, Row, Sum, Table};

/// How many pieces may wait for the slower side.
const QUEUE: usize = 4;

/// What is done at the moment, and how far it has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Copying {
    /// Events are written.
    Writing {
        /// How many are written.
        done: u64,
        /// How many there are.
        of: u64,
    },
    /// The stores are compared.
    Comparing {
        /// How many events of the file are read.
        done: u64,
        /// How many there are.
        of: u64,
    },
}

/// What was copied, and found to be the same in both stores.
#[derive(Debug, Clone, Serialize)]
pub struct Copied {
    /// Table by table.
    pub tables: Vec<CopiedTable>,
    /// Events whose payload is kept as base64, since the database's text can't hold it.
    pub refused: u64,
}

/// A table that was copied.
#[derive(Debug, Clone, Serialize)]
pub struct CopiedTable {
    /// Its name.
    pub table: &'static str,
    /// How many rows it has.
    pub rows: u64,
    /// The sum over the hashes of all of them, in hexadecimal digits.
    pub checksum: String,
}

/// A part of a store on its way: rows of one table, or that something is complete.
pub(super) enum Piece {
    /// Some rows.
    Rows(Table, Vec<Row>),
    /// All that belongs to events up to this number was given.
    Through(i64),
}

/// Copies the store in the file `from`, which nobody may have open, to the database `to`, which holds
/// nothing yet but what an earlier call has copied. Tells `note` how far it is.
///
/// Fails with [`StoreError::Refused`] where a person has to do something first; any other error may
/// pass, and a call after it goes on where this one was. So does one after the process was killed.
/// Until it has come to its end, nobody can open the store in the database.
pub async fn copy(
    from: &Path,
    to: &PostgresOptions,
    note: &mut (dyn FnMut(Copying) + Send),
) -> Result<Copied, StoreError> {
    let path = from.to_owned();
    let source = blocking(move || Source::open(&path)).await?;
    let target = Target::open(to).await?;
    let begun = target.begin(source.made_at()).await?;
    let fit = || Fit::new(begun.began_at);
    let source = if begun.is_whole {
        source
    } else {
        write(source, &target, begun.after, fit(), note).await?
    };
    let copied = compare(source, &target, fit(), note).await?;
    target.open_for_all().await?;
    Ok(copied)
}

/// Writes what comes after an event.
async fn write(
    source: Source,
    target: &Target,
    after: i64,
    mut fit: Fit,
    note: &mut (dyn FnMut(Copying) + Send),
) -> Result<Source, StoreError> {
    let (of, mut done) = (source.events(), source.behind(after)?);
    let (mut pieces, reading) = read(source, after);
    let written = async {
        let mut range = target.range().await?;
        while let Some(mut piece) = pieces.recv().await {
            fit.fit(&mut piece);
            match piece {
                Piece::Rows(table, rows) => {
                    if table == Table::Events {
                        done += count(&rows);
                    }
                    range.write(table, &rows).await?;
                }
                Piece::Through(seq) => {
                    range.end(seq).await?;
                    note(Copying::Writing { done, of });
                    range = target.range().await?;
                }
            }
        }
        // What belongs to no event came last. Of a file that could not be read to its end, it isn't
        // all.
        Ok::<_, StoreError>(range)
    };
    let written = written.await;
    // Where writing failed, so that reading ends.
    drop(pieces);
    let source = reading.await;
    let range = written?;
    let source = source?;
    range.end_all().await?;
    Ok(source)
}

/// Reads both stores whole; what differs is told by its table.
async fn compare(
    source: Source,
    target: &Target,
    mut fit: Fit,
    note: &mut (dyn FnMut(Copying) + Send),
) -> Result<Copied, StoreError> {
    let (of, mut done) = (source.events(), 0);
    let mut sums = [Sum::default(); Table::ALL.len()];
    let (mut pieces, reading) = read(source, 0);
    while let Some(mut piece) = pieces.recv().await {
        fit.fit(&mut piece);
        match piece {
            Piece::Rows(table, rows) => {
                if table == Table::Events {
                    done += count(&rows);
                }
                for row in &rows {
                    sums[table as usize].add(row);
                }
            }
            Piece::Through(_) => note(Copying::Comparing { done, of }),
        }
    }
    // Held until both are compared, so that the file can't change.
    let _source = reading.await?;
    let mut tables = Vec::new();
    for (table, here) in Table::ALL.into_iter().zip(sums) {
        let there = target.sum(table).await?;
        if here != there {
            return Err(StoreError::Refused(format!(
                "the stores differ in `{}`: {} rows in the file, {} in the database, or other ones of \
                 the same number; one of them was written to since the copy began: drop the schema \
                 `hookonce` of the database and copy anew",
                table.name(),
                here.rows,
                there.rows
            )));
        }
        let (table, rows, checksum) = (table.name(), here.rows, here.checksum());
        tables.push(CopiedTable { table, rows, checksum });
    }
    Ok(Copied { tables, refused: fit.refused() })
}

/// Reads a file on a thread of its own, which ends with its reader.
fn read(
    source: Source,
    after: i64,
) -> (mpsc::Receiver<Piece>, impl Future<Output = Result<Source, StoreError>>) {
    let (give, pieces) = mpsc::channel(QUEUE);
    let reading = blocking(move || {
        source.read(after, &mut |piece| give.blocking_send(piece).is_ok())?;
        Ok(source)
    });
    (pieces, reading)
}

/// Has a thread do what blocks; begun before it is awaited.
fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> impl Future<Output = Result<T, StoreError>> {
    let done = tokio::task::spawn_blocking(work);
    async {
        done.await.unwrap_or_else(|_| Err(StoreError::unavailable("reading the file panicked")))
    }
}

fn count(rows: &[Row]) -> u64 {
    u64::try_from(rows.len()).unwrap_or(u64::MAX)
}
