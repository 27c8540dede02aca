//! What people and metrics ask for; on connections that only read.

use rusqlite::{Connection, OptionalExtension as _, Params, Row, named_params};

use super::rows;
use crate::event::{Event, EventId};
use crate::store::way::Way;
use crate::store::{
    ArrivalRecord, Counts, EventDetails, EventSummary, Filter, Page, Progress, RouteCounts,
    StateFilter,
};
use crate::task::{Attempt, State, StepRecord, StepState};

/// How many rows a page looks at.
const LOOKED: usize = 10_000;

/// Gives one event with all that is known of it.
pub(super) fn get(connection: &Connection, id: EventId) -> rusqlite::Result<Option<EventDetails>> {
    let event = connection
        .prepare_cached(include_str!("get.sql"))?
        .query_row((id.as_bytes(),), |row| rows::event(row, 0))
        .optional()?;
    let Some(mut event) = event else { return Ok(None) };
    let seq = event.seq;
    let payload = event.payload.take();
    let attempts = all(connection, include_str!("get_attempts.sql"), (seq,), |row| {
        Ok(Attempt {
            route: row.get(0)?,
            epoch: row.get(1)?,
            run: row.get(2)?,
            attempt: row.get(3)?,
            worker: row.get(4)?,
            started_at: rows::time(row, 5)?,
            ended_at: rows::time(row, 6)?,
            outcome: row.get(7)?,
            error: row.get(8)?,
        })
    })?;
    let steps = all(connection, include_str!("get_steps.sql"), (seq,), |row| {
        let done = row.get_ref(3)?.as_str()? == StepState::Done.as_str();
        Ok(StepRecord {
            route: row.get(0)?,
            run: row.get(1)?,
            name: row.get(2)?,
            state: if done { StepState::Done } else { StepState::Begun },
            result: row.get(4)?,
        })
    })?;
    let arrivals = all(connection, include_str!("get_arrivals.sql"), (seq,), |row| {
        Ok(ArrivalRecord { at: rows::time(row, 0)?, n: row.get(1)?, element: row.get(2)? })
    })?;
    let summary = summary(connection, event, payload.is_some())?;
    Ok(Some(EventDetails { summary, payload, attempts, steps, arrivals }))
}

/// Gives a page of events.
pub(super) fn list(
    connection: &Connection,
    filter: &Filter,
    way: Way,
    limit: usize,
) -> rusqlite::Result<Page> {
    if let Some(key) = &filter.key {
        return by_key(connection, filter, way, key);
    }
    let after = filter.after.unwrap_or(way.start());
    if filter.state == Some(StateFilter::Task(State::Dead)) {
        return dead(connection, filter, (way, after), limit);
    }
    let edge = match way {
        Way::NewestFirst => include_str!("list_floor.sql"),
        Way::OldestFirst => include_str!("walk_ceiling.sql"),
    };
    let edge: Option<i64> = connection
        .prepare_cached(edge)?
        .query_row(named_params! { ":after": after, ":looked": LOOKED }, |row| row.get(0))
        .optional()?;
    let events = between(connection, filter, way, (after, edge.unwrap_or(way.end())), limit)?;
    let next = if events.len() == limit { events.last().map(|event| event.seq) } else { edge };
    page(connection, events, next)
}

/// Dead tasks are few among many events, so these are found by their own index.
fn dead(
    connection: &Connection,
    filter: &Filter,
    (way, after): (Way, i64),
    limit: usize,
) -> rusqlite::Result<Page> {
    let numbers = match way {
        Way::NewestFirst => include_str!("list_dead.sql"),
        Way::OldestFirst => include_str!("walk_dead.sql"),
    };
    let parameters = named_params! { ":after": after, ":looked": LOOKED };
    let numbers: Vec<i64> = all(connection, numbers, parameters, |row| row.get(0))?;
    let mut events = Vec::new();
    for seq in &numbers {
        events.extend(between(connection, filter, way, (way.just_before(*seq), *seq), 1)?);
        if events.len() == limit {
            break;
        }
    }
    let last = if events.len() == limit { events.last().map(|event| event.seq) } else { None };
    let next = last.or_else(|| numbers.last().copied().filter(|_| numbers.len() == LOOKED));
    page(connection, events, next)
}

/// A key names one event in each scope.
fn by_key(connection: &Connection, filter: &Filter, way: Way, key: &str) -> rusqlite::Result<Page> {
    let scopes: Vec<String> = all(connection, include_str!("list_key.sql"), (), |row| row.get(0))?;
    let mut events = Vec::new();
    for scope in scopes {
        let seq = seq_of(connection, EventId::of(&scope, key))?;
        if let Some(seq) = seq {
            // Of a page after the one that showed them there is nothing left.
            if filter.after.is_none() {
                events.extend(between(connection, filter, way, (way.just_before(seq), seq), 1)?);
            }
        }
    }
    events.sort_by_key(|event| event.seq);
    if way == Way::NewestFirst {
        events.reverse();
    }
    page(connection, events, None)
}

/// The events that the filter shows among those beyond the number `after`, up to and including the
/// one numbered `edge`.
fn between(
    connection: &Connection,
    filter: &Filter,
    way: Way,
    (after, edge): (i64, i64),
    limit: usize,
) -> rusqlite::Result<Vec<Event>> {
    let state = match filter.state {
        Some(StateFilter::Task(state)) => Some(state.as_str()),
        _ => None,
    };
    let recorded = filter.state == Some(StateFilter::Recorded);
    let movable = filter.state == Some(StateFilter::Movable);
    let sql = match way {
        Way::NewestFirst => include_str!("list.sql"),
        Way::OldestFirst => include_str!("walk.sql"),
    };
    all(
        connection,
        sql,
        named_params! {
            ":after": after, ":edge": edge, ":source": filter.source,
            // A glob of ours knows `*` alone; a kind has none of the characters SQLite's also knows.
            ":kind": filter.kind, ":lane": filter.lane, ":recorded": recorded,
            ":route": filter.route, ":state": state, ":movable": movable, ":limit": limit,
        },
        |row| rows::event(row, 0),
    )
}

/// The number of an event.
pub(super) fn seq_of(connection: &Connection, id: EventId) -> rusqlite::Result<Option<i64>> {
    connection
        .prepare_cached(include_str!("seq_of.sql"))?
        .query_row((id.as_bytes(),), |row| row.get(0))
        .optional()
}

/// How far the handling of each event has come.
pub(super) fn progress(
    connection: &Connection,
    events: &[EventId],
) -> rusqlite::Result<Vec<Progress>> {
    let mut progress = connection.prepare_cached(include_str!("progress.sql"))?;
    let mut one = |id: &EventId| {
        let read = |row: &Row<'_>| Ok(Progress { open: row.get(0)?, failures: row.get(1)? });
        Ok(progress.query_row((id.as_bytes(),), read).optional()?.unwrap_or_default())
    };
    events.iter().map(&mut one).collect()
}

/// Counts the live tasks of each route.
pub(super) fn routes(connection: &Connection) -> rusqlite::Result<Vec<RouteCounts>> {
    all(connection, include_str!("routes.sql"), (), |row| {
        let [pending, claimed, dead] = [row.get(1)?, row.get(2)?, row.get(3)?];
        Ok(RouteCounts { route: row.get(0)?, pending, claimed, dead })
    })
}

fn page(connection: &Connection, events: Vec<Event>, next: Option<i64>) -> rusqlite::Result<Page> {
    let events = events.into_iter().map(|mut event| {
        let has_payload = event.payload.take().is_some();
        summary(connection, event, has_payload)
    });
    Ok(Page { events: events.collect::<rusqlite::Result<_>>()?, next })
}

fn summary(
    connection: &Connection,
    event: Event,
    has_payload: bool,
) -> rusqlite::Result<EventSummary> {
    let (more, mismatches): (u64, u64) = connection
        .prepare_cached(include_str!("get_copies.sql"))?
        .query_row((event.seq,), |row| Ok((row.get(0)?, row.get(1)?)))?;
    let tasks = all(connection, include_str!("get_tasks.sql"), (event.seq,), rows::task)?;
    let state = EventSummary::state_of(&tasks);
    Ok(EventSummary { event, copies: 1 + more, mismatches, state, tasks, has_payload })
}

/// Counts events and tasks.
pub(super) fn counts(connection: &Connection) -> rusqlite::Result<Counts> {
    let mut counts =
        connection.prepare_cached(include_str!("counts.sql"))?.query_row((), |row| {
            Ok(Counts {
                events: row.get(0)?,
                pending: row.get(1)?,
                claimed: row.get(2)?,
                completed: row.get(3)?,
                dead: row.get(4)?,
                duplicates: row.get(5)?,
                unrouted: row.get(6)?,
                oldest_due_at: None,
            })
        })?;
    let mut groups = connection.prepare_cached(include_str!("oldest_due_group.sql"))?;
    let mut oldest = connection.prepare_cached(include_str!("oldest_due.sql"))?;
    let mut group = (String::new(), -1, String::new());
    loop {
        let next: Option<(String, i64, String)> = groups
            .query_row((&group.0, group.1, &group.2), |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?))
            })
            .optional()?;
        let Some(next) = next else { return Ok(counts) };
        group = next;
        let due =
            oldest.query_row((&group.0, group.1, &group.2), |row| rows::optional_time(row, 0))?;
        counts.oldest_due_at = [counts.oldest_due_at, due].into_iter().flatten().min();
    }
}

fn all<T>(
    connection: &Connection,
    sql: &str,
    parameters: impl Params,
    read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Vec<T>> {
    connection.prepare_cached(sql)?.query_map(parameters, read)?.collect()
}
