//! What a person does to tasks: replay, rerun, bury.

use rusqlite::{OptionalExtension as _, named_params};

use super::finish::pass_lane;
use super::session::{Count, Session};
use crate::event::EventId;
use crate::store::Moved;
use crate::task::TaskId;

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

/// Moves each task and counts those that were left alone.
fn each(
    session: &Session,
    tasks: &[TaskId],
    mut one: impl FnMut(i64, &str) -> rusqlite::Result<bool>,
) -> rusqlite::Result<Moved> {
    let mut moved = Moved::default();
    for task in tasks {
        let did = match seq_of(session, task.event_id)? {
            Some(seq) => one(seq, &task.route)?,
            None => false,
        };
        *(if did { &mut moved.moved } else { &mut moved.left }) += 1;
    }
    Ok(moved)
}

fn seq_of(session: &Session, id: EventId) -> rusqlite::Result<Option<i64>> {
    session
        .connection
        .prepare_cached(include_str!("seq_of.sql"))?
        .query_row((id.as_bytes(),), |row| row.get(0))
        .optional()
}
