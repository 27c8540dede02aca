//! What is deleted after its retention, and what is folded.

use std::cell::Cell;

use rusqlite::{ErrorCode, Row, named_params, params};

use super::claim::millis;
use super::session::Session;
use crate::event::Priority;
use crate::store::{Pruned, Retention};

/// Arrivals and minutes of the last hour and month are kept apart.
const ARRIVALS_APART: i64 = 60 * 60 * 1000;
const MINUTES_APART: i64 = 31 * 24 * 60;

/// Where the walks over events and arrivals stand.
pub(super) struct Walk {
    /// `None` at the end; once both are there, they begin anew.
    payloads: Cell<Option<i64>>,
    keys: Cell<Option<i64>>,
    arrivals: Cell<i64>,
}

impl Default for Walk {
    fn default() -> Self {
        let (payloads, keys) = (Cell::new(Some(0)), Cell::new(Some(0)));
        Self { payloads, keys, arrivals: Cell::new(0) }
    }
}

/// An event, as the two walks see it.
struct Seen {
    seq: i64,
    received_at: i64,
    /// The latest of its arrivals and of its tasks' finishes.
    last: i64,
}

/// The time up to which a walk goes, in the order in which events came: what came after an event
/// that is too young is younger. So a walk looks at what is old and not at the whole table, which
/// would hold up the intake. Where the clock was turned, or events were copied in, some stay longer.
#[derive(Debug, Clone, Copy)]
struct Edge {
    before: i64,
    now: i64,
}

impl Edge {
    /// Whether a walk ends here. A time that is yet to come says nothing of the events after it.
    fn is_at(self, event: &Seen) -> bool {
        (self.before..=self.now).contains(&event.received_at)
    }
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
    let events = prune_keys(session, &walk.keys, retention, now, limit)?;
    // The file itself shrinks too, where it is of our making: else pruning could never end a
    // shortage of room. A little at a time, since each page is moved.
    session.connection.execute_batch("pragma incremental_vacuum(256)")?;
    let more = walk.payloads.get().or(walk.keys.get()).is_some();
    if !more {
        walk.payloads.set(Some(0));
        walk.keys.set(Some(0));
    }
    Ok(Pruned { payloads, events, more })
}

fn prune_payloads(
    session: &Session,
    walk: &Cell<Option<i64>>,
    retention: &Retention,
    now: i64,
    limit: usize,
) -> rusqlite::Result<usize> {
    let Some(after) = walk.get() else { return Ok(0) };
    let before = now - millis(retention.payload);
    let before_dead = now - millis(retention.dead);
    let edge = Edge { before: before.max(before_dead), now };
    let seen = |row: &Row<'_>| Ok((seen(row)?, row.get::<_, bool>(4)?, row.get::<_, bool>(5)?));
    let events: Vec<(Seen, bool, bool)> = session
        .connection
        .prepare_cached(include_str!("prune_payload_candidates.sql"))?
        .query_map(named_params! { ":after": after, ":limit": limit }, seen)?
        .collect::<rusqlite::Result<_>>()?;
    walk.set(events.last().map(|(event, ..)| event.seq).filter(|_| events.len() == limit));
    let mut pruned = 0;
    for (event, live, dead) in events {
        if edge.is_at(&event) {
            walk.set(None);
            break;
        }
        if !live && event.last < if dead { before_dead } else { before } {
            pruned += session.execute(include_str!("prune_payload.sql"), (event.seq,))?;
        }
    }
    Ok(pruned)
}

fn prune_keys(
    session: &Session,
    walk: &Cell<Option<i64>>,
    retention: &Retention,
    now: i64,
    limit: usize,
) -> rusqlite::Result<usize> {
    let Some(after) = walk.get() else { return Ok(0) };
    let before = now - millis(retention.key);
    // What is younger than payloads are kept has one still.
    let before_payload = now - millis(retention.payload.min(retention.dead));
    let edge = Edge { before: before.min(before_payload), now };
    let events: Vec<(Seen, bool, Option<i64>, i64)> = session
        .connection
        .prepare_cached(include_str!("prune_key_candidates.sql"))?
        .query_map(named_params! { ":after": after, ":limit": limit }, |row| {
            Ok((seen(row)?, row.get(4)?, row.get(5)?, row.get(6)?))
        })?
        .collect::<rusqlite::Result<_>>()?;
    walk.set(events.last().map(|(event, ..)| event.seq).filter(|_| events.len() == limit));
    let mut pruned = 0;
    for (event, is_bare, sent_at, priority) in events {
        if edge.is_at(&event) {
            walk.set(None);
            break;
        }
        // An event that the sender dates later than it came can't be proven old when it comes
        // again: its key stays until that date is as old.
        if !is_bare || event.last >= before || sent_at.is_some_and(|at| at >= before) {
            continue;
        }
        if !delete(session, event.seq)? {
            continue;
        }
        if let Some(at) = sent_at.filter(|_| Priority::from_number(priority) != Priority::History) {
            session.execute(include_str!("prune_until.sql"), (at,))?;
        }
        pruned += 1;
    }
    Ok(pruned)
}

/// Deletes an event with all that is kept of it; says whether it did. The application may have
/// tables of its own in the file, and an event that one of them refers to stays.
fn delete(session: &Session, seq: i64) -> rusqlite::Result<bool> {
    session.execute("savepoint event", ())?;
    let deleted = [
        include_str!("prune_tasks.sql"),
        include_str!("prune_attempts.sql"),
        include_str!("prune_steps.sql"),
        include_str!("prune_arrivals.sql"),
        include_str!("prune_events.sql"),
    ]
    .into_iter()
    .try_for_each(|table| session.execute(table, (seq,)).map(drop));
    let is_referred_to = match deleted {
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => {
            session.execute("rollback to event", ())?;
            true
        }
        deleted => deleted.map(|()| false)?,
    };
    session.execute("release event", ())?;
    Ok(!is_referred_to)
}

fn seen(row: &Row<'_>) -> rusqlite::Result<Seen> {
    let (received_at, arrived, finished): (i64, i64, i64) = (row.get(1)?, row.get(2)?, row.get(3)?);
    let last = received_at.max(arrived).max(finished);
    Ok(Seen { seq: row.get(0)?, received_at, last })
}

/// Folds old arrivals into one row an event, and old minutes into their day; says whether it came to
/// the end. What was folded is not looked at again until more arrives.
pub(super) fn fold(session: &Session, walk: &Walk, limit: usize) -> rusqlite::Result<bool> {
    let before = session.now() - ARRIVALS_APART;
    let after = walk.arrivals.get();
    let until: Option<i64> = session
        .connection
        .prepare_cached(include_str!("fold_window.sql"))?
        .query_row(params![after, before, limit], |row| row.get(0))?;
    if let Some(until) = until {
        let seqs: Vec<i64> = session
            .connection
            .prepare_cached(include_str!("fold_events.sql"))?
            .query_map((after, until), |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        for seq in seqs {
            fold_event(session, seq, before)?;
        }
        walk.arrivals.set(until);
        return Ok(false);
    }
    let before = session.now().div_euclid(60_000) - MINUTES_APART;
    session.execute(include_str!("fold_minutes.sql"), (before,))?;
    session.execute(include_str!("fold_minutes_delete.sql"), (before,))?;
    Ok(true)
}

fn fold_event(session: &Session, seq: i64, before: i64) -> rusqlite::Result<()> {
    let several: Vec<(bool, i64, i64, i64)> = session
        .connection
        .prepare_cached(include_str!("fold_arrivals.sql"))?
        .query_map((seq, before), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?
        .collect::<rusqlite::Result<_>>()?;
    for (mismatch, arrival, at, n) in several {
        let parameters = params![seq, before, mismatch, arrival];
        session.execute(include_str!("fold_arrivals_delete.sql"), parameters)?;
        session.execute(include_str!("fold_arrivals_update.sql"), params![n, at, arrival])?;
    }
    Ok(())
}
