//! What a person does to tasks: replay, rerun, bury, give them to a route.

use rusqlite::{OptionalExtension as _, Row, named_params, params};

use super::finish::pass_lane;
use super::read::seq_of;
use super::session::{Count, Session};
use crate::event::{EventId, Priority};
use crate::store::Moved;
use crate::store::unproven::too_old;
use crate::task::{NewTask, TaskId, lane_id};

/// Why a task is dead that an unreadable event is given: the reason itself was told on arrival.
const UNREADABLE: &str = "the event can't be read as what its source's scheme expects";

/// Makes dead tasks due again, and retries due now.
pub(super) fn replay(session: &Session, tasks: &[TaskId]) -> rusqlite::Result<Moved> {
    each(session, tasks, |seq, route| {
        let parameters = named_params! { ":seq": seq, ":route": route, ":now": session.now() };
        let moved = session.execute(include_str!("replay.sql"), parameters)? == 1;
        if moved {
            let parameters = named_params! { ":seq": seq, ":route": route };
            session.execute(include_str!("replay_steps.sql"), parameters)?;
            session.note_due();
        }
        Ok(moved)
    })
}

/// Runs completed tasks once more.
pub(super) fn rerun(session: &Session, tasks: &[TaskId]) -> rusqlite::Result<Moved> {
    each(session, tasks, |seq, route| {
        let mut update = session.connection.prepare_cached(include_str!("rerun.sql"))?;
        let parameters = named_params! { ":seq": seq, ":route": route, ":now": session.now() };
        let source: Option<String> = update.query_row(parameters, |row| row.get(0)).optional()?;
        if let Some(source) = &source {
            // A total counts the tasks that are completed: this one no longer is.
            session.count(source, Count::Completed, -1);
            session.note_due();
        }
        Ok(source.is_some())
    })
}

/// Makes pending tasks dead, and lets held lanes pass.
pub(super) fn bury(session: &Session, tasks: &[TaskId]) -> rusqlite::Result<Moved> {
    each(session, tasks, |seq, route| {
        let mut update = session.connection.prepare_cached(include_str!("bury.sql"))?;
        let parameters = named_params! { ":seq": seq, ":route": route, ":now": session.now() };
        let buried: Option<Option<[u8; 16]>> =
            update.query_row(parameters, |row| row.get(0)).optional()?;
        if let Some(Some(lane_id)) = buried {
            pass_lane(session, lane_id)?;
        }
        Ok(buried.is_some())
    })
}

/// Gives stored events tasks of routes that they have none of.
pub(super) fn assign(session: &Session, tasks: &[(EventId, NewTask)]) -> rusqlite::Result<Moved> {
    let mut moved = Moved::default();
    let pruned_until = session.pruned_until()?;
    for (id, task) in tasks {
        let event = facts(session, *id)?;
        let did = match &event {
            Some(event) => {
                // As on arrival: what can't be read, or may have been handled before its key was
                // pruned, is for a person.
                let dead = if event.is_unreadable {
                    Some(UNREADABLE)
                } else {
                    too_old(Priority::from_number(event.priority), event.sent_at, pruned_until)
                };
                let parameters = params![
                    event.seq,
                    &*task.route,
                    id.as_bytes(),
                    event.source,
                    event.lane_id(task),
                    event.priority,
                    task.max_attempts,
                    dead,
                    session.now()
                ];
                let did = session.execute(include_str!("insert_task.sql"), parameters)? == 1;
                if did && dead.is_some() {
                    session.count(&event.source, Count::Dead, 1);
                }
                did
            }
            None => false,
        };
        if let Some(event) = event.filter(|event| did && !event.has_tasks) {
            session.count(&event.source, Count::Unrouted, -1);
        }
        if did {
            session.note_due();
        }
        moved.note(did);
    }
    Ok(moved)
}

/// Makes dead and pending tasks those of another route.
pub(super) fn reroute(
    session: &Session,
    tasks: &[TaskId],
    to: &NewTask,
) -> rusqlite::Result<Moved> {
    let mut moved = Moved::default();
    for task in tasks {
        let Some(event) = facts(session, task.event_id)? else {
            moved.note(false);
            continue;
        };
        let (seq, from) = (event.seq, &*task.route);
        let parameters = named_params! {
            ":to": &*to.route, ":lane_id": event.lane_id(to), ":max_attempts": to.max_attempts,
            ":now": session.now(), ":seq": seq, ":route": from,
        };
        let did = session.execute(include_str!("reroute.sql"), parameters)? == 1;
        if did {
            let parameters = params![&*to.route, seq, from];
            session.execute(include_str!("reroute_steps.sql"), parameters)?;
            session.execute(include_str!("reroute_attempts.sql"), parameters)?;
            session.execute(include_str!("replay_steps.sql"), params![seq, from])?;
            if let Some(lane) = &event.lane {
                pass_lane(session, lane_id(&event.source, from, lane))?;
            }
            session.note_due();
        }
        moved.note(did);
    }
    Ok(moved)
}

/// What a task is made from.
struct Facts {
    seq: i64,
    source: String,
    lane: Option<String>,
    priority: i64,
    has_tasks: bool,
    is_unreadable: bool,
    sent_at: Option<i64>,
}

impl Facts {
    fn lane_id(&self, task: &NewTask) -> Option<[u8; 16]> {
        let lane = self.lane.as_deref().filter(|_| task.ordered);
        lane.map(|lane| lane_id(&self.source, &task.route, lane))
    }
}

/// What a task of this event is made from; `None` where it is unknown or its payload is pruned.
fn facts(session: &Session, id: EventId) -> rusqlite::Result<Option<Facts>> {
    let mut event = session.connection.prepare_cached(include_str!("assign_event.sql"))?;
    let read = |row: &Row<'_>| {
        Ok(Facts {
            seq: row.get(0)?,
            source: row.get(1)?,
            lane: row.get(2)?,
            priority: row.get(3)?,
            has_tasks: row.get(4)?,
            is_unreadable: row.get(5)?,
            sent_at: row.get(6)?,
        })
    };
    event.query_row((id.as_bytes(),), read).optional()
}

/// Moves each task and counts those that were left alone.
fn each(
    session: &Session,
    tasks: &[TaskId],
    mut one: impl FnMut(i64, &str) -> rusqlite::Result<bool>,
) -> rusqlite::Result<Moved> {
    let mut moved = Moved::default();
    for task in tasks {
        let did = match seq_of(&session.connection, task.event_id)? {
            Some(seq) => one(seq, &task.route)?,
            None => false,
        };
        moved.note(did);
    }
    Ok(moved)
}
