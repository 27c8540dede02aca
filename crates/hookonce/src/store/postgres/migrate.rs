//! The tables' versions: forward only, checked both ways.

use tokio_postgres::types::Type;

use super::address::WAIT;
use super::error::{Failed, again};
use super::pool::Pool;
use super::{copy, functions};
use crate::store::{Migrated, StoreError};

/// Every migration in order; the last one is the version that this program writes.
const MIGRATIONS: [&[&str]; 2] = [
    &[
        include_str!("migrations/0001_first.sql"),
        include_str!("functions/insert_events.sql"),
        include_str!("functions/insert_arrivals.sql"),
        include_str!("functions/lock_lane.sql"),
        include_str!("functions/drain_wakes.sql"),
        include_str!("functions/due_tasks.sql"),
        include_str!("functions/finish_tasks.sql"),
    ],
    &functions::MIGRATION,
];

/// Brings the tables up to date, in one transaction under a lock, so that several nodes may start
/// together.
pub(super) async fn run(pool: &Pool) -> Result<Migrated, StoreError> {
    again!({
        // Looked at first: whoever has others migrate may have no right to.
        match version(pool).await.map_err(Failed::at_opening)? {
            from if from == MIGRATIONS.len() => Ok(Migrated { from, to: from, grants: None }),
            _ => migrate(pool).await.map_err(Failed::at_opening),
        }
    })
}

/// Fails if the tables aren't there, or are of another version than this program writes.
pub(super) async fn check(pool: &Pool) -> Result<(), StoreError> {
    let version = again!(version(pool).await.map_err(Failed::at_opening))?;
    known(version)?;
    match version {
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

async fn version(pool: &Pool) -> Result<usize, Failed> {
    let found = pool.query(include_str!("migrated_any.sql"), &[]).await?;
    if !found.first().map_or(Ok(false), |row| row.try_get(0))? {
        return Ok(0);
    }
    let version = pool.query(include_str!("version.sql"), &[]).await?;
    let version: i32 = version.first().map_or(Ok(0), |row| row.try_get(0))?;
    Ok(usize::try_from(version).unwrap_or_default())
}

async fn migrate(pool: &Pool) -> Result<Migrated, Failed> {
    let mut connection = pool.get().await?;
    let mut transaction = connection.transaction().await?;
    transaction.batch_execute(include_str!("migrate.sql")).await?;
    let version = transaction.query_typed(include_str!("version.sql"), &[]).await?;
    let version: i32 = version.first().map_or(Ok(0), |row| row.try_get(0))?;
    let from = usize::try_from(version).unwrap_or_default();
    known(from)?;
    for (n, migration) in MIGRATIONS.iter().enumerate().skip(from) {
        for part in *migration {
            transaction.batch_execute(part).await?;
        }
        let version = i32::try_from(n + 1).unwrap_or(i32::MAX);
        let parameters = [(&version as _, Type::INT4)];
        transaction.query_typed(include_str!("migrated.sql"), &parameters).await?;
    }
    if from < MIGRATIONS.len() {
        functions::grant(&mut transaction).await?;
    }
    transaction.commit().await?;
    Ok(Migrated { from, to: MIGRATIONS.len(), grants: None })
}

/// Fails if the server can't be written to, or its tables are of a version that this program doesn't
/// know.
pub(super) async fn ready(pool: &Pool) -> Result<(), StoreError> {
    let asked = pool.query(include_str!("probe.sql"), &[]);
    let Ok(found) = tokio::time::timeout(WAIT, asked).await else {
        return Err(Failed::NoConnection("no answer in time".to_owned()).into());
    };
    let found = found?;
    let read = || -> Result<(i32, bool, bool), Failed> {
        let row = found.first().ok_or_else(|| StoreError::unavailable("the server is silent"))?;
        Ok((row.try_get(0)?, row.try_get(1)?, row.try_get(2)?))
    };
    let (version, takes_writes, is_copied_into) = read()?;
    known(usize::try_from(version).unwrap_or_default())?;
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

fn known(version: usize) -> Result<(), StoreError> {
    if version <= MIGRATIONS.len() {
        return Ok(());
    }
    Err(StoreError::Refused(format!(
        "the database has tables of version {version}, this program knows them up to version {}: use \
         the newer hookonce that made them",
        MIGRATIONS.len()
    )))
}
