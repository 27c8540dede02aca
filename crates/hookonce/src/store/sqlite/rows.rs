//! Reading rows.

use jiff::Timestamp;
use rusqlite::Row;
use rusqlite::types::Type;

use crate::event::{Event, EventId, Priority};
use crate::task::{State, Task};

/// Reads an event whose columns begin at `at`.
pub(super) fn event(row: &Row<'_>, at: usize) -> rusqlite::Result<Event> {
    Ok(Event {
        seq: row.get(at)?,
        id: EventId::from_bytes(row.get(at + 1)?),
        source: row.get(at + 2)?,
        key: row.get(at + 3)?,
        kind: row.get(at + 4)?,
        lane: row.get(at + 5)?,
        priority: Priority::from_number(row.get(at + 6)?),
        content_type: row.get(at + 7)?,
        element: row.get(at + 8)?,
        weak_key: row.get(at + 9)?,
        sent_at: optional_time(row, at + 10)?,
        received_at: time(row, at + 11)?,
        payload: row.get(at + 12)?,
    })
}

/// Reads a task as `get_tasks.sql` gives it.
pub(super) fn task(row: &Row<'_>) -> rusqlite::Result<Task> {
    let state = State::from_word(row.get_ref(1)?.as_str()?)
        .ok_or_else(|| rusqlite::Error::InvalidColumnType(1, "state".to_owned(), Type::Text))?;
    Ok(Task {
        route: row.get(0)?,
        state,
        attempt: row.get(2)?,
        max_attempts: row.get(3)?,
        run: row.get(4)?,
        epoch: row.get(5)?,
        due_at: optional_time(row, 6)?,
        lease_until: optional_time(row, 7)?,
        worker: row.get(8)?,
        error: row.get(9)?,
        finished_at: optional_time(row, 10)?,
    })
}

/// Reads a time.
pub(super) fn time(row: &Row<'_>, at: usize) -> rusqlite::Result<Timestamp> {
    let millisecond: i64 = row.get(at)?;
    Timestamp::from_millisecond(millisecond)
        .map_err(|_| rusqlite::Error::IntegralValueOutOfRange(at, millisecond))
}

/// Reads a time that may be absent.
pub(super) fn optional_time(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<Timestamp>> {
    row.get::<_, Option<i64>>(at)?.map(|_| time(row, at)).transpose()
}
