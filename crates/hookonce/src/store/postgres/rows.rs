//! Reading rows, and writing times and ids as the server knows them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio_postgres::Row;
use uuid::Uuid;

use super::time::Time;

use crate::event::{Event, EventId, Priority};
use crate::task::{Claim, NewTask, State, Task, Token};

/// Reads an event whose columns begin at `at`, its payload last.
pub(super) fn event(row: &Row, at: usize) -> Result<Event, tokio_postgres::Error> {
    Ok(Event {
        seq: row.try_get(at)?,
        id: id(row.try_get(at + 1)?),
        source: row.try_get(at + 2)?,
        key: row.try_get(at + 3)?,
        kind: row.try_get(at + 4)?,
        lane: row.try_get(at + 5)?,
        priority: Priority::from_number(row.try_get::<_, i16>(at + 6)?.into()),
        content_type: row.try_get(at + 7)?,
        element: row.try_get(at + 8)?,
        weak_key: row.try_get(at + 9)?,
        sent_at: optional_time(row, at + 10)?,
        received_at: time(row, at + 11)?,
        payload: row.try_get(at + 12)?,
    })
}

/// Reads a claim as `claim.sql` gives it.
pub(super) fn claim(row: &Row, token: Token, reaped: bool) -> Result<Claim, tokio_postgres::Error> {
    Ok(Claim {
        route: row.try_get::<_, &str>(0)?.into(),
        attempt: number(row, 1)?,
        max_attempts: number(row, 2)?,
        run: number(row, 3)?,
        epoch: number(row, 4)?,
        claimed_at: time(row, 5)?,
        lease_until: time(row, 6)?,
        first_route: row.try_get::<_, Option<&str>>(7)?.map(Arc::from),
        replayed_at: optional_time(row, 8)?,
        event: Arc::new(event(row, 9)?),
        token,
        steps: BTreeMap::new(),
        reaped,
    })
}

/// Reads a task as `get_tasks.sql` gives it, behind the number of its event.
pub(super) fn task(row: &Row) -> Result<(i64, Task), tokio_postgres::Error> {
    let state = row.try_get::<_, &str>(2)?;
    let task = Task {
        route: row.try_get(1)?,
        // The table's own check knows no other word.
        state: State::from_word(state).unwrap_or(State::Pending),
        attempt: number(row, 3)?,
        max_attempts: number(row, 4)?,
        run: number(row, 5)?,
        epoch: number(row, 6)?,
        due_at: optional_time(row, 7)?,
        lease_until: optional_time(row, 8)?,
        worker: row.try_get(9)?,
        error: row.try_get(10)?,
        finished_at: optional_time(row, 11)?,
    };
    Ok((row.try_get(0)?, task))
}

/// Reads a time.
pub(super) fn time(row: &Row, at: usize) -> Result<Timestamp, tokio_postgres::Error> {
    row.try_get(at).map(|Time(time)| time)
}

/// Reads a time that may be absent.
pub(super) fn optional_time(
    row: &Row,
    at: usize,
) -> Result<Option<Timestamp>, tokio_postgres::Error> {
    row.try_get::<_, Option<Time>>(at).map(|time| time.map(|Time(time)| time))
}

/// Reads a number that is never negative.
pub(super) fn number(row: &Row, at: usize) -> Result<u32, tokio_postgres::Error> {
    Ok(u32::try_from(row.try_get::<_, i32>(at)?).unwrap_or_default())
}

/// Reads a count.
pub(super) fn count(row: &Row, at: usize) -> Result<u64, tokio_postgres::Error> {
    Ok(u64::try_from(row.try_get::<_, i64>(at)?).unwrap_or_default())
}

pub(super) fn id(uuid: Uuid) -> EventId {
    EventId::from_bytes(*uuid.as_bytes())
}

pub(super) fn uuid(id: EventId) -> Uuid {
    Uuid::from_bytes(*id.as_bytes())
}

pub(super) fn token(token: Token) -> Uuid {
    Uuid::from_bytes(*token.as_bytes())
}

pub(super) fn max_attempts(task: &NewTask) -> i32 {
    i32::try_from(task.max_attempts).unwrap_or(i32::MAX)
}

/// A duration in seconds, to the millisecond as every store counts.
pub(super) fn seconds(duration: Duration) -> f64 {
    let whole = Duration::new(duration.as_secs(), duration.subsec_millis() * 1_000_000);
    // A hundred years, which a calendar can still be asked to add.
    whole.as_secs_f64().min(100.0 * 366.0 * 86_400.0)
}
