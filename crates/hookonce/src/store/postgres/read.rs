//! What people and metrics ask for.

use std::collections::HashMap;

use jiff::Timestamp;
use tokio_postgres::Row;
use tokio_postgres::types::Type;
use uuid::Uuid;

use super::error::{Failed, again};
use super::pool::{Pool, Typed};
use super::rows;
use crate::event::{Event, EventId};
use crate::store::way::Way;
use crate::store::{
    ArrivalRecord, Counts, EventDetails, EventSummary, Filter, Page, Progress, RouteCounts,
    StateFilter, StoreError,
};
use crate::task::{Attempt, State, StepRecord, StepState, Task};

/// How many rows a page looks at.
const LOOKED: i64 = 10_000;

/// Tells the time.
pub(super) async fn now(pool: &Pool) -> Result<Timestamp, StoreError> {
    let found = again!(pool.query(include_str!("now.sql"), &[]).await)?;
    let row = found.first().ok_or_else(|| StoreError::unavailable("the server is silent"))?;
    rows::time(row, 0).map_err(|error| Failed::from(error).into())
}

/// Gives one event with all that is known of it.
pub(super) async fn get(pool: &Pool, id: EventId) -> Result<Option<EventDetails>, StoreError> {
    again!({
        let id = rows::uuid(id);
        let found = pool.query(include_str!("get.sql"), &[(&id, Type::UUID)]).await?;
        let Some(row) = found.first() else { return Ok(None) };
        let mut event = rows::event(row, 0)?;
        let seq = [(&event.seq as _, Type::INT8)];
        let attempts = all(pool, include_str!("get_attempts.sql"), &seq, attempt).await?;
        let steps = all(pool, include_str!("get_steps.sql"), &seq, step).await?;
        let arrivals = all(pool, include_str!("get_arrivals.sql"), &seq, |row| {
            Ok(ArrivalRecord {
                at: rows::time(row, 0)?,
                n: rows::count(row, 1)?,
                element: row.try_get(2)?,
            })
        })
        .await?;
        let payload = event.payload.take();
        let has_payload = payload.is_some();
        let mut summaries = summaries(pool, vec![(event, has_payload)]).await?;
        let details = |summary| EventDetails { summary, payload, attempts, steps, arrivals };
        Ok(summaries.pop().map(details))
    })
}

fn attempt(row: &Row) -> Result<Attempt, tokio_postgres::Error> {
    Ok(Attempt {
        route: row.try_get(0)?,
        epoch: rows::number(row, 1)?,
        run: rows::number(row, 2)?,
        attempt: rows::number(row, 3)?,
        worker: row.try_get(4)?,
        started_at: rows::time(row, 5)?,
        ended_at: rows::time(row, 6)?,
        outcome: row.try_get(7)?,
        error: row.try_get(8)?,
    })
}

fn step(row: &Row) -> Result<StepRecord, tokio_postgres::Error> {
    let done = row.try_get::<_, &str>(3)? == StepState::Done.as_str();
    Ok(StepRecord {
        route: row.try_get(0)?,
        run: rows::number(row, 1)?,
        name: row.try_get(2)?,
        state: if done { StepState::Done } else { StepState::Begun },
        result: row.try_get(4)?,
    })
}

/// Gives a page of events.
pub(super) async fn list(
    pool: &Pool,
    filter: &Filter,
    way: Way,
    limit: usize,
) -> Result<Page, StoreError> {
    again!({
        if let Some(key) = &filter.key {
            return by_key(pool, filter, way, key).await;
        }
        let after = filter.after.unwrap_or(way.start());
        if filter.state == Some(StateFilter::Task(State::Dead)) {
            return dead(pool, filter, (way, after), limit).await;
        }
        let edge = match way {
            Way::NewestFirst => include_str!("list_floor.sql"),
            Way::OldestFirst => include_str!("walk_ceiling.sql"),
        };
        let parameters = [(&after as _, Type::INT8), (&LOOKED as _, Type::INT8)];
        let edge = all(pool, edge, &parameters, |row| row.try_get::<_, i64>(0)).await?.pop();
        let range = (after, edge.unwrap_or(way.end()));
        let events = between(pool, filter, way, range, limit).await?;
        let next =
            if events.len() == limit { events.last().map(|(event, _)| event.seq) } else { edge };
        Ok(Page { events: summaries(pool, events).await?, next })
    })
}

/// Dead tasks are few among many events, so these are found by their own index.
async fn dead(
    pool: &Pool,
    filter: &Filter,
    (way, after): (Way, i64),
    limit: usize,
) -> Result<Page, Failed> {
    let numbers = match way {
        Way::NewestFirst => include_str!("list_dead.sql"),
        Way::OldestFirst => include_str!("walk_dead.sql"),
    };
    let parameters = [(&after as _, Type::INT8), (&LOOKED as _, Type::INT8)];
    let numbers = all(pool, numbers, &parameters, |row| row.try_get::<_, i64>(0)).await?;
    let mut events = Vec::new();
    for seq in &numbers {
        let range = (way.just_before(*seq), *seq);
        events.extend(between(pool, filter, way, range, 1).await?);
        if events.len() == limit {
            break;
        }
    }
    let last = events.last().filter(|_| events.len() == limit).map(|(event, _)| event.seq);
    let is_full = i64::try_from(numbers.len()).is_ok_and(|n| n == LOOKED);
    let next = last.or_else(|| numbers.last().copied().filter(|_| is_full));
    Ok(Page { events: summaries(pool, events).await?, next })
}

/// A key names one event in each scope.
async fn by_key(pool: &Pool, filter: &Filter, way: Way, key: &str) -> Result<Page, Failed> {
    let mut events = Vec::new();
    // Of a page after the one that showed them there is nothing left.
    if filter.after.is_none() {
        let scopes =
            all(pool, include_str!("list_key.sql"), &[], |row| row.try_get::<_, String>(0)).await?;
        let ids: Vec<Uuid> =
            scopes.iter().map(|scope| rows::uuid(EventId::of(scope, key))).collect();
        let parameters = [(&ids as _, Type::UUID_ARRAY)];
        let seqs = all(pool, include_str!("seq_of.sql"), &parameters, |row| row.try_get(0)).await?;
        for seq in seqs {
            events.extend(between(pool, filter, way, (way.just_before(seq), seq), 1).await?);
        }
    }
    events.sort_by_key(|(event, _)| event.seq);
    if way == Way::NewestFirst {
        events.reverse();
    }
    Ok(Page { events: summaries(pool, events).await?, next: None })
}

/// The events that the filter shows among those beyond the number `after`, up to and including the
/// one numbered `edge`; and whether each has its payload still.
async fn between(
    pool: &Pool,
    filter: &Filter,
    way: Way,
    (after, edge): (i64, i64),
    limit: usize,
) -> Result<Vec<(Event, bool)>, Failed> {
    let (state, recorded) = match filter.state {
        Some(StateFilter::Task(state)) => (Some(state.as_str()), false),
        Some(StateFilter::Recorded) => (None, true),
        Some(StateFilter::Movable) | None => (None, false),
    };
    let movable = filter.state == Some(StateFilter::Movable);
    // A glob of ours knows `*` alone; `_` is part of many kinds.
    let kind = filter.kind.as_ref().map(|glob| {
        glob.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_").replace('*', "%")
    });
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let sql = match way {
        Way::NewestFirst => include_str!("list.sql"),
        Way::OldestFirst => include_str!("walk.sql"),
    };
    let parameters: [Typed<'_>; 10] = [
        (&after, Type::INT8),
        (&edge, Type::INT8),
        (&filter.source, Type::TEXT),
        (&kind, Type::TEXT),
        (&filter.lane, Type::TEXT),
        (&recorded, Type::BOOL),
        (&filter.route, Type::TEXT),
        (&state, Type::TEXT),
        (&limit, Type::INT8),
        (&movable, Type::BOOL),
    ];
    all(pool, sql, &parameters, |row| {
        let mut event = rows::event(row, 0)?;
        let has_payload = event.payload.take().is_some();
        Ok((event, has_payload))
    })
    .await
}

/// Adds copies and tasks to events, in their order.
async fn summaries(pool: &Pool, events: Vec<(Event, bool)>) -> Result<Vec<EventSummary>, Failed> {
    let seqs: Vec<i64> = events.iter().map(|(event, _)| event.seq).collect();
    if seqs.is_empty() {
        return Ok(Vec::new());
    }
    let parameters = [(&seqs as _, Type::INT8_ARRAY)];
    let copies = all(pool, include_str!("get_copies.sql"), &parameters, |row| {
        Ok((row.try_get::<_, i64>(0)?, (rows::count(row, 1)?, rows::count(row, 2)?)))
    })
    .await?;
    let copies: HashMap<i64, (u64, u64)> = copies.into_iter().collect();
    let mut tasks = HashMap::<i64, Vec<Task>>::new();
    for (seq, task) in all(pool, include_str!("get_tasks.sql"), &parameters, rows::task).await? {
        tasks.entry(seq).or_default().push(task);
    }
    let summary = |(event, has_payload): (Event, bool)| {
        let (more, mismatches) = copies.get(&event.seq).copied().unwrap_or_default();
        let tasks = tasks.remove(&event.seq).unwrap_or_default();
        let state = EventSummary::state_of(&tasks);
        EventSummary { event, copies: 1 + more, mismatches, state, tasks, has_payload }
    };
    Ok(events.into_iter().map(summary).collect())
}

/// Counts events and tasks.
pub(super) async fn counts(pool: &Pool) -> Result<Counts, StoreError> {
    again!({
        let counts = all(pool, include_str!("counts.sql"), &[], |row| {
            Ok(Counts {
                events: rows::count(row, 0)?,
                pending: rows::count(row, 1)?,
                claimed: rows::count(row, 2)?,
                completed: rows::count(row, 3)?,
                dead: rows::count(row, 4)?,
                duplicates: rows::count(row, 5)?,
                unrouted: rows::count(row, 6)?,
                oldest_due_at: None,
            })
        });
        let mut counts = counts.await?.pop().unwrap_or_default();
        let oldest =
            all(pool, include_str!("oldest_due.sql"), &[], |row| rows::optional_time(row, 0))
                .await?;
        counts.oldest_due_at = oldest.into_iter().next().flatten();
        Ok(counts)
    })
}

/// Counts the live tasks of each route.
pub(super) async fn routes(pool: &Pool) -> Result<Vec<RouteCounts>, StoreError> {
    again!({
        all(pool, include_str!("routes.sql"), &[], |row| {
            let [pending, claimed, dead] =
                [rows::count(row, 1)?, rows::count(row, 2)?, rows::count(row, 3)?];
            Ok(RouteCounts { route: row.try_get(0)?, pending, claimed, dead })
        })
        .await
    })
}

/// How far the handling of each event has come.
pub(super) async fn progress(pool: &Pool, events: &[EventId]) -> Result<Vec<Progress>, StoreError> {
    let ids: Vec<Uuid> = events.iter().map(|id| rows::uuid(*id)).collect();
    let found = again!({
        let parameters = [(&ids as _, Type::UUID_ARRAY)];
        all(pool, include_str!("progress.sql"), &parameters, |row| {
            let progress = Progress { open: rows::count(row, 1)?, failures: rows::count(row, 2)? };
            Ok((rows::id(row.try_get(0)?), progress))
        })
        .await
    })?;
    let found: HashMap<EventId, Progress> = found.into_iter().collect();
    Ok(events.iter().map(|id| found.get(id).copied().unwrap_or_default()).collect())
}

async fn all<T>(
    pool: &Pool,
    sql: &str,
    parameters: &[Typed<'_>],
    read: impl Fn(&Row) -> Result<T, tokio_postgres::Error>,
) -> Result<Vec<T>, Failed> {
    let found = pool.query(sql, parameters).await?;
    Ok(found.iter().map(read).collect::<Result<_, _>>()?)
}
