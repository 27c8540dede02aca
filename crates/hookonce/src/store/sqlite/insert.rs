//! Inserting events: the unique index decides what is new.

use jiff::Timestamp;
use rusqlite::{named_params, params};

use super::session::{Count, Session};
use crate::element;
use crate::event::{Lane, NewEvent};
use crate::store::Arrival;
use crate::store::unproven::{REFUSED, too_old};
use crate::task::lane_id;

/// Stores the events of one request within the open transaction, in their order.
pub(super) fn insert(session: &Session, events: &[NewEvent]) -> rusqlite::Result<Vec<Arrival>> {
    let pruned_until = session.pruned_until()?;
    events
        .iter()
        .map(|event| {
            let refused;
            let (event, inserted) = match insert_new(session, event) {
                Err(error) if is_of_the_data(&error) => {
                    // The statement alone is undone. Without its text it can be stored: nothing of a
                    // request is refused for one event that the database does not like.
                    refused = event.clone().refused(REFUSED);
                    (&refused, insert_new(session, &refused)?)
                }
                inserted => (event, inserted?),
            };
            let arrival = match inserted {
                Some(seq) => {
                    insert_tasks(session, event, seq, dead_reason(event, pruned_until))?;
                    Arrival::New
                }
                None => note_arrival(session, event)?,
            };
            let count = match arrival {
                Arrival::New => Count::New,
                Arrival::Duplicate => Count::Duplicate,
                Arrival::Mismatch => Count::Mismatch,
            };
            session.count(&event.source, count, 1);
            Ok(arrival)
        })
        .collect()
}

/// Whether an error tells of what is to be stored, and not of the database.
fn is_of_the_data(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{ConstraintViolation, TooBig, TypeMismatch};
    matches!(error.sqlite_error_code(), Some(ConstraintViolation | TooBig | TypeMismatch))
}

/// Gives the number of the event if it is new.
fn insert_new(session: &Session, event: &NewEvent) -> rusqlite::Result<Option<i64>> {
    let inserted = session.execute(
        include_str!("insert_event.sql"),
        params![
            event.id.as_bytes(),
            &*event.source,
            event.key.as_str(),
            event.kind.as_str(),
            event.lane.as_ref().map(Lane::as_str),
            event.priority as i64,
            event.content_type,
            event.element,
            event.digest,
            event.weak_key,
            event.sent_at.map(Timestamp::as_millisecond),
            event.received_at.as_millisecond(),
            event.payload,
        ],
    )?;
    Ok((inserted == 1).then(|| session.connection.last_insert_rowid()))
}

fn insert_tasks(
    session: &Session,
    event: &NewEvent,
    seq: i64,
    dead: Option<&str>,
) -> rusqlite::Result<()> {
    if event.tasks.is_empty() {
        session.count(&event.source, Count::Unrouted, 1);
    }
    for task in &event.tasks {
        let lane = event.lane.as_ref().filter(|_| task.ordered);
        let lane_id = lane.map(|lane| lane_id(&event.source, &task.route, lane.as_str()));
        session.execute(
            include_str!("insert_task.sql"),
            params![
                seq,
                &*task.route,
                event.id.as_bytes(),
                &*event.source,
                lane_id,
                event.priority as i64,
                task.max_attempts,
                dead,
                session.now(),
            ],
        )?;
        match dead {
            Some(_) => session.count(&event.source, Count::Dead, 1),
            None => session.note_due(),
        }
    }
    Ok(())
}

/// Notes another arrival of a stored event.
fn note_arrival(session: &Session, event: &NewEvent) -> rusqlite::Result<Arrival> {
    let (seq, digest): (i64, Vec<u8>) = session
        .connection
        .prepare_cached(include_str!("insert_known.sql"))?
        .query_row((event.id.as_bytes(),), |row| Ok((row.get(0)?, row.get(1)?)))?;
    let differs = digest != event.digest;
    let element =
        differs.then(|| element::pointer(&event.payload, &event.element).unwrap_or(&event.payload));
    session.execute(
        include_str!("insert_arrival.sql"),
        named_params! { ":seq": seq, ":now": session.now(), ":element": element },
    )?;
    Ok(if differs { Arrival::Mismatch } else { Arrival::Duplicate })
}

/// Why the tasks of a new event are dead on arrival, if they are.
fn dead_reason(event: &NewEvent, pruned_until: Option<i64>) -> Option<&'static str> {
    let sent_at = event.sent_at.map(Timestamp::as_millisecond);
    event.unreadable.or_else(|| too_old(event.priority, sent_at, pruned_until))
}
