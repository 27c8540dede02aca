//! Takes a whole store in that was another one's, and says what it holds afterwards.

use std::pin::pin;

use futures_util::TryStreamExt as _;
use tokio_postgres::Row as Answer;
use tokio_postgres::types::Type;

use super::error::{Failed, again};
use super::pool::{Connection, Pool, Typed};
use super::{PostgresOptions, migrate};
use crate::store::StoreError;
use crate::store::copy::{Cell, Kind, Row, Sum, Table};

/// What a range begins with: it is on the disk before it is called done.
const BEGIN: &str = include_str!("copy/begin_range.sql");

/// A store that is written.
pub(in crate::store) struct Target {
    pool: Pool,
}

/// How far an earlier copy came.
pub(in crate::store) struct Begun {
    /// When it began, in milliseconds.
    pub(in crate::store) began_at: i64,
    /// Up to which event all is there.
    pub(in crate::store) after: i64,
    /// All is there.
    pub(in crate::store) is_whole: bool,
}

/// One transaction, for all that belongs to a range of events.
pub(in crate::store) struct Range {
    connection: Connection,
}

impl Target {
    /// Connects, and brings the tables up to date.
    pub(in crate::store) async fn open(options: &PostgresOptions) -> Result<Self, StoreError> {
        let pool = Pool::new(options)?;
        migrate::run(&pool).await?;
        Ok(Self { pool })
    }

    /// Begins a copy of the store that was made then, or goes on with it.
    pub(in crate::store) async fn begin(&self, made_at: i64) -> Result<Begun, StoreError> {
        again!({
            let mut connection = self.pool.get().await?;
            let transaction = connection.transaction().await?;
            let mut begun = transaction.query_typed(include_str!("copy/begun.sql"), &[]).await?;
            if begun.is_empty() {
                let sql = include_str!("copy/obstacles.sql");
                let found = transaction.query_typed(sql, &[]).await?;
                check_obstacles(found.first())?;
                transaction.query_typed(include_str!("copy/clear_mirror.sql"), &[]).await?;
                let parameters: [Typed<'_>; 1] = [(&made_at, Type::INT8)];
                transaction.query_typed(include_str!("copy/begin.sql"), &parameters).await?;
                begun = transaction.query_typed(include_str!("copy/begun.sql"), &[]).await?;
            }
            let row =
                begun.first().ok_or_else(|| StoreError::unavailable("the server is silent"))?;
            if row.try_get::<_, i64>(0)? != made_at {
                return Err(Failed::Told(StoreError::Refused(
                    "the database holds part of a copy of another store: go on with that one, or drop \
                     the schema `hookonce` and copy anew"
                        .to_owned(),
                )));
            }
            let begun = Begun {
                began_at: row.try_get(1)?,
                after: row.try_get(2)?,
                is_whole: row.try_get(3)?,
            };
            transaction.commit().await?;
            Ok(begun)
        })
    }

    /// Begins a range.
    pub(in crate::store) async fn range(&self) -> Result<Range, StoreError> {
        let connection = self.pool.get().await?;
        connection.begin(BEGIN).await?;
        Ok(Range { connection })
    }

    /// Reads a table whole.
    pub(in crate::store) async fn sum(&self, table: Table) -> Result<Sum, StoreError> {
        Ok(self.try_sum(table).await?)
    }

    /// Ends the copy: from now on the store can be opened.
    pub(in crate::store) async fn open_for_all(&self) -> Result<(), StoreError> {
        let range = self.range().await?;
        Ok(range.do_and_end(&[(include_str!("copy/done.sql"), &[])]).await?)
    }

    async fn try_sum(&self, table: Table) -> Result<Sum, Failed> {
        let connection = self.pool.get().await?;
        let none: [(i64, Type); 0] = [];
        let rows = connection.query_typed_raw(read_sql(table), none).await?;
        let mut rows = pin!(rows);
        let mut sum = Sum::default();
        while let Some(answer) = rows.try_next().await? {
            sum.add(&row(table, &answer)?);
        }
        Ok(sum)
    }
}

impl Range {
    /// Writes rows.
    pub(in crate::store) async fn write(
        &self,
        table: Table,
        rows: &[Row],
    ) -> Result<(), StoreError> {
        let columns = table.columns().iter().enumerate();
        let columns: Vec<Values<'_>> =
            columns.map(|(at, (_, kind))| Values::of(rows, at, *kind)).collect();
        let parameters: Vec<Typed<'_>> = columns.iter().map(Values::typed).collect();
        let written = self.connection.query_typed(write_sql(table), &parameters).await;
        Ok(written.map(drop)?)
    }

    /// Commits, and notes that all is there up to this event.
    pub(in crate::store) async fn end(self, seq: i64) -> Result<(), StoreError> {
        let parameters: [Typed<'_>; 1] = [(&seq, Type::INT8)];
        Ok(self.do_and_end(&[(include_str!("copy/through.sql"), &parameters)]).await?)
    }

    /// Commits, and notes that all is there.
    pub(in crate::store) async fn end_all(self) -> Result<(), StoreError> {
        let wake = include_str!("copy/wake.sql");
        Ok(self.do_and_end(&[(wake, &[]), (include_str!("copy/whole.sql"), &[])]).await?)
    }

    async fn do_and_end(self, statements: &[(&str, &[Typed<'_>])]) -> Result<(), Failed> {
        for (sql, parameters) in statements {
            self.connection.query_typed(sql, parameters).await?;
        }
        self.connection.end("commit").await
    }
}

/// Fails where a copy into the store is not finished.
pub(super) async fn check_finished(pool: &Pool) -> Result<(), StoreError> {
    let found = again!(pool.query(include_str!("copy/unfinished.sql"), &[]).await)?;
    let is_unfinished = found.first().map_or(Ok(false), |row| row.try_get(0));
    if !is_unfinished.map_err(Failed::from)? {
        return Ok(());
    }
    Err(unfinished())
}

/// Says so of a copy that somebody broke off, or that runs.
pub(super) fn unfinished() -> StoreError {
    StoreError::Refused(
        "a copy into the database is not finished: run `hookonce copy` again, which goes on where it \
         was; or drop the schema `hookonce` to begin with nothing"
            .to_owned(),
    )
}

fn check_obstacles(found: Option<&Answer>) -> Result<(), Failed> {
    let Some(row) = found else { return Ok(()) };
    let (has_rows, is_open): (bool, bool) = (row.try_get(0)?, row.try_get(1)?);
    let obstacle = if has_rows {
        "the database has events already that are not of this copy: name a database without any, or \
         drop its schema `hookonce` if nobody needs what is in it"
    } else if is_open {
        "a hookonce has the database open: stop it, so that it handles nothing before all is there"
    } else {
        return Ok(());
    };
    Err(Failed::Told(StoreError::Refused(obstacle.to_owned())))
}

/// The values of a column, as the server takes them.
enum Values<'a> {
    Numbers(Vec<Option<i64>>),
    Texts(Vec<Option<&'a str>>),
    Bytes(Vec<Option<&'a [u8]>>),
}

impl<'a> Values<'a> {
    fn of(rows: &'a [Row], at: usize, kind: Kind) -> Self {
        let cells = rows.iter().map(|row| &row[at]);
        match kind {
            Kind::Number => Self::Numbers(
                cells
                    .map(|cell| if let Cell::Number(n) = cell { Some(*n) } else { None })
                    .collect(),
            ),
            Kind::Text => Self::Texts(
                cells
                    .map(|cell| if let Cell::Text(t) = cell { Some(&**t) } else { None })
                    .collect(),
            ),
            Kind::Bytes => Self::Bytes(
                cells
                    .map(|cell| if let Cell::Bytes(b) = cell { Some(&**b) } else { None })
                    .collect(),
            ),
        }
    }

    fn typed(&self) -> Typed<'_> {
        match self {
            Self::Numbers(numbers) => (numbers, Type::INT8_ARRAY),
            Self::Texts(texts) => (texts, Type::TEXT_ARRAY),
            Self::Bytes(bytes) => (bytes, Type::BYTEA_ARRAY),
        }
    }
}

fn row(table: Table, answer: &Answer) -> Result<Row, tokio_postgres::Error> {
    let columns = table.columns().iter().enumerate();
    let cell = |(at, (_, kind)): (usize, &(&str, Kind))| {
        Ok(match kind {
            Kind::Number => answer.try_get::<_, Option<i64>>(at)?.map(Cell::Number),
            Kind::Text => answer.try_get::<_, Option<String>>(at)?.map(Cell::Text),
            Kind::Bytes => answer.try_get::<_, Option<Vec<u8>>>(at)?.map(Cell::Bytes),
        }
        .unwrap_or(Cell::Null))
    };
    columns.map(cell).collect()
}

fn write_sql(table: Table) -> &'static str {
    match table {
        Table::Events => include_str!("copy/write_events.sql"),
        Table::Arrivals => include_str!("copy/write_arrivals.sql"),
        Table::Tasks => include_str!("copy/write_tasks.sql"),
        Table::Attempts => include_str!("copy/write_attempts.sql"),
        Table::Steps => include_str!("copy/write_steps.sql"),
        Table::Sources => include_str!("copy/write_sources.sql"),
        Table::Routes => include_str!("copy/write_routes.sql"),
        Table::Audit => include_str!("copy/write_audit.sql"),
        Table::Minutes => include_str!("copy/write_minutes.sql"),
        Table::Meta => include_str!("copy/write_meta.sql"),
    }
}

fn read_sql(table: Table) -> &'static str {
    match table {
        Table::Events => include_str!("copy/read_events.sql"),
        Table::Arrivals => include_str!("copy/read_arrivals.sql"),
        Table::Tasks => include_str!("copy/read_tasks.sql"),
        Table::Attempts => include_str!("copy/read_attempts.sql"),
        Table::Steps => include_str!("copy/read_steps.sql"),
        Table::Sources => include_str!("copy/read_sources.sql"),
        Table::Routes => include_str!("copy/read_routes.sql"),
        Table::Audit => include_str!("copy/read_audit.sql"),
        Table::Minutes => include_str!("copy/read_minutes.sql"),
        Table::Meta => include_str!("copy/read_meta.sql"),
    }
}
