//! What is deleted after its retention, and what is folded.

use std::cell::Cell;

use rusqlite::{Row, named_params};

use super::claim::millis;
use super::session::Session;
use crate::event::Priority;
use crate::store::{Pruned, Retention};

/// Arrivals and minutes of the last hour and month are kept apart.
const ARRIVALS_APART: i64 = 60 * 60 * 1000;
const MINUTES_APART: i64 = 31 * 24 * 60;

/// Where the walks over old events stand; they begin anew when they come to the end.
#[derive(Default)]
pub(super) struct Walk {
    payloads: Cell<i64>,
    keys: Cell<i64>,
    arrivals: Cell<i64>,
}

/// An old event, as the two walks see it.
struct Old {
    seq: i64,
    /// The latest of its arrivals and of its tasks' finishes.
    last: i64,
}

/// Deletes what is older than its retention: first payloads, then whole events without payload.
pub(super) fn prune(
    session: &Session,
    walk: &Walk,
    retention: &Retention,
    limit: usize,
) -> rusqlite::Result<Pruned> {
    let now = session.now();
    let payloads = prune_payloads(session, &walk.payloads, retention, now, limit)?;
    let events = prune_keys(session, &walk.keys, now - millis(retention.key), limit)?;
    Ok(Pruned { payloads, events })
}

fn prune_payloads(
    session: &Session,
    after: &Cell<i64>,
    retention: &Retention,
    now: i64,
    limit: usize,
) -> rusqlite::Result<usize> {
    let before = now - millis(retention.payload);
    let before_dead = now - millis(retention.dead);
    let old = |row: &Row<'_>| Ok((old(row)?, row.get::<_, bool>(4)?, row.get::<_, bool>(5)?));
    let candidates: Vec<(Old, bool, bool)> = session
        .connection
        .prepare_cached(include_str!("prune_payload_candidates.sql"))?
        .query_map(
            named_params! {
                ":after": after.get(), ":before": before.max(before_dead), ":limit": limit,
            },
            old,
        )?
        .collect::<rusqlite::Result<_>>()?;
    advance(after, candidates.last().map(|(old, ..)| old.seq), candidates.len() < limit);
    let mut pruned = 0;
    for (old, live, dead) in candidates {
        if !live && old.last < if dead { before_dead } else { before } {
            pruned += session.execute(include_str!("prune_payload.sql"), (old.seq,))?;
        }
    }
    Ok(pruned)
}

fn prune_keys(
    session: &Session,
    after: &Cell<i64>,
    before: i64,
    limit: usize,
) -> rusqlite::Result<usize> {
    let candidates: Vec<(Old, Option<i64>, i64)> = session
        .connection
        .prepare_cached(include_str!("prune_key_candidates.sql"))?
        .query_map(
            named_params! { ":after": after.get(), ":before": before, ":limit": limit },
            |row| Ok((old(row)?, row.get(4)?, row.get(5)?)),
        )?
        .collect::<rusqlite::Result<_>>()?;
    advance(after, candidates.last().map(|(old, ..)| old.seq), candidates.len() < limit);
    let mut pruned = 0;
    for (old, sent_at, priority) in candidates {
        // An event that the sender dates later than it came can't be proven old when it comes
        // again: its key stays until that date is as old.
        if old.last >= before || sent_at.is_some_and(|at| at >= before) {
            continue;
        }
        for table in [
            include_str!("prune_tasks.sql"),
            include_str!("prune_attempts.sql"),
            include_str!("prune_steps.sql"),
            include_str!("prune_arrivals.sql"),
            include_str!("prune_events.sql"),
        ] {
            session.execute(table, (old.seq,))?;
        }
        if let Some(at) = sent_at.filter(|_| Priority::from_number(priority) != Priority::History) {
            session.execute(include_str!("prune_until.sql"), (at,))?;
        }
        pruned += 1;
    }
    Ok(pruned)
}

fn old(row: &Row<'_>) -> rusqlite::Result<Old> {
    let (received, arrived, finished): (i64, i64, i64) = (row.get(1)?, row.get(2)?, row.get(3)?);
    Ok(Old { seq: row.get(0)?, last: received.max(arrived).max(finished) })
}

fn advance(after: &Cell<i64>, last: Option<i64>, at_end: bool) {
    after.set(if at_end { 0 } else { last.unwrap_or(0) });
}

/// Folds old arrivals of an event into one row, and old minutes into their day.
pub(super) fn fold(session: &Session, walk: &Walk, limit: usize) -> rusqlite::Result<usize> {
    let before = session.now() - ARRIVALS_APART;
    let after = walk.arrivals.get();
    let until = after.saturating_add(i64::try_from(limit).unwrap_or(i64::MAX));
    let several: Vec<(i64, i64, i64, i64)> = session
        .connection
        .prepare_cached(include_str!("fold_arrivals.sql"))?
        .query_map(named_params! { ":after": after, ":until": until, ":before": before }, |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
        })?
        .collect::<rusqlite::Result<_>>()?;
    let mut folded = 0;
    for (seq, arrival, at, n) in several {
        let parameters = named_params! {
            ":seq": seq, ":after": after, ":until": until, ":before": before, ":arrival": arrival,
        };
        folded += session.execute(include_str!("fold_arrivals_delete.sql"), parameters)?;
        let parameters = named_params! { ":arrival": arrival, ":n": n, ":at": at };
        session.execute(include_str!("fold_arrivals_update.sql"), parameters)?;
    }
    let last = session
        .connection
        .prepare_cached(include_str!("fold_arrivals_last.sql"))?
        .query_row((), |row| row.get(0))?;
    walk.arrivals.set(if until >= last { 0 } else { until });
    let before = session.now().div_euclid(60_000) - MINUTES_APART;
    session.execute(include_str!("fold_minutes.sql"), (before,))?;
    folded += session.execute(include_str!("fold_minutes_delete.sql"), (before,))?;
    Ok(folded)
}
