//! What is deleted after its retention, and what is folded.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio_postgres::Row;
use tokio_postgres::types::Type;
use uuid::Uuid;

use super::error::{Failed, again};
use super::pool::{Pool, Typed};
use super::read;
use super::rows;
use super::time::Time;
use crate::event::Priority;
use crate::store::{Pruned, Retention, StoreError};

/// Arrivals of the last hour are kept apart.
const ARRIVALS_APART: f64 = 3600.0;

/// How many waiting lanes are looked at by one statement, and each time.
const LANES_AT_ONCE: i32 = 256;
const LANES_OF_A_WALK: i32 = 16_384;

/// From how many woken lanes on they are drained, how many by one statement, and how often each time.
const MANY_WOKEN: i64 = 2048;
const LANES_OF_A_DRAIN: i64 = 256;
const DRAINS: u32 = 128;

/// Where the walks over events and arrivals stand.
#[derive(Debug)]
pub(super) struct Walk {
    /// `None` at the end; once both are there, they begin anew.
    payloads: Option<i64>,
    keys: Option<i64>,
    arrivals: i64,
    /// The lane that was looked at last.
    lane: Uuid,
}

impl Default for Walk {
    fn default() -> Self {
        Self { payloads: Some(0), keys: Some(0), arrivals: 0, lane: Uuid::nil() }
    }
}

/// An event, as the two walks see it.
struct Seen {
    seq: i64,
    received_at: Timestamp,
    /// The latest of its arrivals and of its tasks' finishes.
    last: Timestamp,
}

impl Seen {
    fn of(row: &Row) -> Result<Self, Failed> {
        let received_at = rows::time(row, 1)?;
        let others = [rows::optional_time(row, 2)?, rows::optional_time(row, 3)?];
        let last = others.into_iter().flatten().fold(received_at, Timestamp::max);
        Ok(Self { seq: row.try_get(0)?, received_at, last })
    }

    /// Whether a walk in the order in which events came ends here: what came after an event that is
    /// too young is younger. A time that is yet to come says nothing of the events after it.
    fn is_edge(&self, before: Timestamp, now: Timestamp) -> bool {
        (before..=now).contains(&self.received_at)
    }
}

/// Deletes what is older than its retention: first payloads, then whole events without payload.
pub(super) async fn prune(
    pool: &Pool,
    walk: &mut Walk,
    retention: &Retention,
    limit: usize,
) -> Result<Pruned, StoreError> {
    let now = read::now(pool).await?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let (payloads, next) = match walk.payloads {
        Some(after) => again!(prune_payloads(pool, (after, limit), retention, now).await)?,
        None => (0, None),
    };
    walk.payloads = next;
    let (events, next) = match walk.keys {
        Some(after) => again!(prune_keys(pool, (after, limit), retention, now).await)?,
        None => (0, None),
    };
    walk.keys = next;
    let more = walk.payloads.or(walk.keys).is_some();
    if !more {
        (walk.payloads, walk.keys) = (Some(0), Some(0));
    }
    Ok(Pruned { payloads, events, more })
}

async fn prune_payloads(
    pool: &Pool,
    (after, limit): (i64, i64),
    retention: &Retention,
    now: Timestamp,
) -> Result<(usize, Option<i64>), Failed> {
    let (before, before_dead) = (ago(now, retention.payload), ago(now, retention.dead));
    let parameters = [(&after as _, Type::INT8), (&limit as _, Type::INT8)];
    let found = pool.query(include_str!("prune_payload_candidates.sql"), &parameters).await?;
    let mut next = next(&found, limit)?;
    let mut gone = Vec::new();
    for row in &found {
        let event = Seen::of(row)?;
        if event.is_edge(before.max(before_dead), now) {
            next = None;
            break;
        }
        let (live, dead): (bool, bool) = (row.try_get(4)?, row.try_get(5)?);
        if !live && event.last < if dead { before_dead } else { before } {
            gone.push(event.seq);
        }
    }
    if gone.is_empty() {
        return Ok((0, next));
    }
    // Another node may be at the same ones.
    let parameters = [(&gone as _, Type::INT8_ARRAY)];
    let pruned = tidied(pool, include_str!("prune_payload.sql"), &parameters).await?;
    Ok((pruned.len(), next))
}

async fn prune_keys(
    pool: &Pool,
    (after, limit): (i64, i64),
    retention: &Retention,
    now: Timestamp,
) -> Result<(usize, Option<i64>), Failed> {
    let before = ago(now, retention.key);
    // What is younger than payloads are kept has one still.
    let edge = before.min(ago(now, retention.payload.min(retention.dead)));
    let parameters = [(&after as _, Type::INT8), (&limit as _, Type::INT8)];
    let found = pool.query(include_str!("prune_key_candidates.sql"), &parameters).await?;
    let mut next = next(&found, limit)?;
    let (mut gone, mut until) = (Vec::new(), None);
    for row in &found {
        let event = Seen::of(row)?;
        if event.is_edge(edge, now) {
            next = None;
            break;
        }
        let (is_bare, sent_at): (bool, _) = (row.try_get(4)?, rows::optional_time(row, 5)?);
        // An event that the sender dates later than it came can't be proven old when it comes
        // again: its key stays until that date is as old.
        if !is_bare || event.last >= before || sent_at.is_some_and(|at| at >= before) {
            continue;
        }
        let priority = Priority::from_number(row.try_get::<_, i16>(6)?.into());
        until = until.max(sent_at.filter(|_| priority != Priority::History));
        gone.push(event.seq);
    }
    if !gone.is_empty() {
        let until = until.map(Time);
        let parameters = [(&gone as _, Type::INT8_ARRAY), (&until as _, Type::TIMESTAMPTZ)];
        tidied(pool, include_str!("prune_event.sql"), &parameters).await?;
    }
    Ok((gone.len(), next))
}

/// Where a walk goes on; nowhere where fewer came than were asked for.
fn next(found: &[Row], limit: i64) -> Result<Option<i64>, Failed> {
    let is_full = i64::try_from(found.len()).is_ok_and(|n| n == limit);
    Ok(found.last().filter(|_| is_full).map(|row| row.try_get(0)).transpose()?)
}

fn ago(now: Timestamp, span: Duration) -> Timestamp {
    let span = SignedDuration::try_from(span).unwrap_or(SignedDuration::MAX);
    now.checked_sub(span).unwrap_or(Timestamp::MIN)
}

/// Folds old arrivals into one row an event, and old minutes into their day, and gives woken lanes their
/// heads where they are many; says whether it came to the end.
pub(super) async fn fold(pool: &Pool, walk: &mut Walk, limit: usize) -> Result<bool, StoreError> {
    let (after, limit) = (walk.arrivals, i64::try_from(limit).unwrap_or(i64::MAX));
    let folded: Option<i64> = again!({
        let parameters = [
            (&after as _, Type::INT8),
            (&ARRIVALS_APART as _, Type::FLOAT8),
            (&limit as _, Type::INT8),
        ];
        let found = tidied(pool, include_str!("fold_arrivals.sql"), &parameters).await?;
        Ok(found.first().map(|row| row.try_get(0)).transpose()?.flatten())
    })?;
    if let Some(until) = folded {
        walk.arrivals = until;
        return Ok(false);
    }
    again!(tidied(pool, include_str!("fold_minutes.sql"), &[]).await)?;
    wake_stranded(pool, walk).await?;
    drain(pool).await?;
    Ok(true)
}

/// Runs one statement in a transaction of its own that waits for no lock for long.
async fn tidied(pool: &Pool, sql: &str, parameters: &[Typed<'_>]) -> Result<Vec<Row>, Failed> {
    let connection = pool.get().await?;
    connection.begin(include_str!("begin_tidy.sql")).await?;
    let rows = connection.query_typed(sql, parameters).await?;
    connection.end("commit").await?;
    Ok(rows)
}

/// Keeps the list of woken lanes short where nobody claims.
async fn drain(pool: &Pool) -> Result<(), StoreError> {
    for _ in 0..DRAINS {
        let is_long: bool = again!({
            let parameters = [(&MANY_WOKEN as _, Type::INT8)];
            let found = pool.query(include_str!("many_woken.sql"), &parameters).await?;
            Ok(found.first().map(|row| row.try_get(0)).transpose()?.unwrap_or(false))
        })?;
        if !is_long {
            break;
        }
        let parameters = [(&LANES_OF_A_DRAIN as _, Type::INT8), (&0i64 as _, Type::INT8)];
        again!(pool.query(include_str!("drain.sql"), &parameters).await)?;
    }
    Ok(())
}

/// Looks at lanes that wait, in turn, and wakes those that have no head. None should have been missed.
async fn wake_stranded(pool: &Pool, walk: &mut Walk) -> Result<(), StoreError> {
    for _ in 0..LANES_OF_A_WALK / LANES_AT_ONCE {
        let after = walk.lane;
        let last: Option<Uuid> = again!({
            let parameters = [(&after as _, Type::UUID), (&LANES_AT_ONCE as _, Type::INT4)];
            let found = pool.query(include_str!("wake_stranded.sql"), &parameters).await?;
            Ok(found.first().map(|row| row.try_get(0)).transpose()?.flatten())
        })?;
        walk.lane = last.unwrap_or_default();
        if last.is_none() {
            break;
        }
    }
    Ok(())
}
