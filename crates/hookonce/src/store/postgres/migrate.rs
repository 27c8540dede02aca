//! The tables' versions: forward only, checked both ways.
//!
//! Nodes are replaced one by one, so older programs meet newer tables: each version says from which on
//! programs still work with it. It is expanded first, and contracted once nobody uses the old any more.

use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::address::WAIT;
use super::error::{Failed, again};
use super::pool::Pool;
use super::{copy, functions};
use crate::store::{Migrated, StoreError};

/// One step from a version to the next.
struct Migration {
    /// The oldest version whose programs still work with the tables afterwards.
    usable_from: i32,
    parts: &'static [&'static str],
}

/// Every migration in order; the last one is the version that this program writes.
const MIGRATIONS: [Migration; 2] = [
    Migration {
        usable_from: 1,
        parts: &[
            include_str!("migrations/0001_first.sql"),
            include_str!("functions/insert_events.sql"),
            include_str!("functions/insert_arrivals.sql"),
            include_str!("functions/lock_lane.sql"),
            include_str!("functions/drain_wakes.sql"),
            include_str!("functions/due_tasks.sql"),
            include_str!("functions/due_tasks_since.sql"),
            include_str!("functions/finish_tasks.sql"),
        ],
    },
    Migration { usable_from: 1, parts: &functions::MIGRATION },
];

/// What tables are there.
#[derive(Clone, Copy, Default)]
struct Tables {
    /// 0 where there are none.
    version: usize,
    /// The oldest version whose programs still work with them.
    usable_from: usize,
}

impl Tables {
    /// Reads them from the first two columns of a row, if there is one.
    fn read(row: Option<&Row>) -> Result<Self, Failed> {
        let Some(row) = row else { return Ok(Self::default()) };
        let version: i32 = row.try_get(0)?;
        let usable_from: Option<i32> = row.try_get(1)?;
        let number = |n: i32| usize::try_from(n).unwrap_or_default();
        Ok(Self { version: number(version), usable_from: number(usable_from.unwrap_or(version)) })
    }

    /// Fails if this program can't work with them for being too old.
    fn known(self) -> Result<Self, StoreError> {
        if self.usable_from <= MIGRATIONS.len() {
            return Ok(self);
        }
        Err(StoreError::Refused(format!(
            "the database has tables of version {}, with which programs work from version {} on, and \
             this one knows them up to version {}: use the newer hookonce that made them",
            self.version,
            self.usable_from,
            MIGRATIONS.len()
        )))
    }
}

/// Brings the tables up to date, in one transaction under a lock, so that several nodes may start
/// together.
pub(super) async fn run(pool: &Pool) -> Result<Migrated, StoreError> {
    again!({
        // Looked at first: whoever has others migrate may have no right to.
        let from = tables(pool).await.map_err(Failed::at_opening)?.known()?.version;
        if from >= MIGRATIONS.len() {
            return Ok(Migrated { from, to: from, grants: None });
        }
        migrate(pool).await.map_err(Failed::at_opening)
    })
}

/// Fails if the tables aren't there, or this program can't work with their version.
pub(super) async fn check(pool: &Pool) -> Result<(), StoreError> {
    let tables = again!(tables(pool).await.map_err(Failed::at_opening))?;
    match tables.known()?.version {
        0 => Err(StoreError::Refused(
            "the database has no tables of hookonce: `hookonce migrate` or `hookonce serve` makes \
             them"
                .to_owned(),
        )),
        version if version < MIGRATIONS.len() => Err(StoreError::Refused(format!(
            "the database has tables of version {version}, this program uses version {}: `hookonce \
             migrate` or `hookonce serve` brings them up to date",
            MIGRATIONS.len()
        ))),
        _ => Ok(()),
    }
}

async fn tables(pool: &Pool) -> Result<Tables, Failed> {
    let found = pool.query(include_str!("migrated_any.sql"), &[]).await?;
    if !found.first().map_or(Ok(false), |row| row.try_get(0))? {
        return Ok(Tables::default());
    }
    Tables::read(pool.query(include_str!("version.sql"), &[]).await?.first())
}

async fn migrate(pool: &Pool) -> Result<Migrated, Failed> {
    let mut connection = pool.get().await?;
    let mut transaction = connection.transaction().await?;
    transaction.batch_execute(include_str!("migrate.sql")).await?;
    let tables = transaction.query_typed(include_str!("version.sql"), &[]).await?;
    let from = Tables::read(tables.first())?.known()?.version;
    for (n, migration) in MIGRATIONS.iter().enumerate().skip(from) {
        for part in migration.parts {
            transaction.batch_execute(part).await?;
        }
        let version = i32::try_from(n + 1).unwrap_or(i32::MAX);
        let parameters = [(&version as _, Type::INT4), (&migration.usable_from as _, Type::INT4)];
        transaction.query_typed(include_str!("migrated.sql"), &parameters).await?;
    }
    if from < MIGRATIONS.len() {
        functions::grant(&mut transaction).await?;
    }
    transaction.commit().await?;
    Ok(Migrated { from, to: from.max(MIGRATIONS.len()), grants: None })
}

/// Fails if the server can't be written to, or this program can't work with the version of its tables.
pub(super) async fn ready(pool: &Pool) -> Result<(), StoreError> {
    let asked = pool.query(include_str!("probe.sql"), &[]);
    let Ok(found) = tokio::time::timeout(WAIT, asked).await else {
        return Err(Failed::NoConnection("no answer in time".to_owned()).into());
    };
    let found = found?;
    let read = || -> Result<(Tables, bool, bool), Failed> {
        let row = found.first().ok_or_else(|| StoreError::unavailable("the server is silent"))?;
        Ok((Tables::read(Some(row))?, row.try_get(2)?, row.try_get(3)?))
    };
    let (tables, takes_writes, is_copied_into) = read()?;
    tables.known()?;
    if is_copied_into {
        return Err(copy::unfinished());
    }
    if takes_writes {
        return Ok(());
    }
    Err(StoreError::unavailable(
        "the database takes no writes now: it is a replica or was made read-only; point `store` at the \
         primary, or wait for the failover to end",
    ))
}
