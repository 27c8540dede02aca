//! What a person does to tasks: replay, rerun, bury, give them to a route.

use serde::Serialize;

use super::rows::strange;
use super::scope::{Apart, Ask, Scopes};
use super::script::{ASSIGN, BURY, REPLAY, REROUTE, RERUN, Script};
use crate::event::EventId;
use crate::store::unproven::TOO_OLD;
use crate::store::{Moved, StoreError};
use crate::task::{NewTask, TaskId};

/// Why a task is dead that an unreadable event is given: the reason itself was told on arrival.
const UNREADABLE: &str = "the event can't be read as what its source's scheme expects";
/// Why a task is dead that a person buried.
const BURIED: &str = "buried by a person";

/// A task by the id of its event and its route.
#[derive(Serialize)]
pub(super) struct Named<'a> {
    id: String,
    route: &'a str,
}

impl<'a> Named<'a> {
    pub(super) fn of(task: &'a TaskId) -> Self {
        Self { id: hex::encode(task.event_id.as_bytes()), route: &task.route }
    }
}

/// Tasks, and what is said of them all.
#[derive(Serialize)]
struct Asked<T, W> {
    tasks: Vec<T>,
    #[serde(flatten)]
    what: W,
}

#[derive(Serialize)]
struct Nothing {}

#[derive(Serialize)]
struct Burial {
    error: &'static str,
}

#[derive(Serialize)]
struct Reasons {
    unreadable: &'static str,
    too_old: &'static str,
}

#[derive(Serialize)]
struct Target<'a> {
    to: &'a str,
    max: u32,
    ordered: bool,
}

#[derive(Serialize)]
struct Given<'a> {
    id: String,
    route: &'a str,
    max: u32,
    ordered: bool,
}

impl<'a> Given<'a> {
    fn of((id, task): &'a (EventId, NewTask)) -> Self {
        let NewTask { route, max_attempts, ordered } = task;
        let id = hex::encode(id.as_bytes());
        Self { id, route, max: *max_attempts, ordered: *ordered }
    }
}

/// Makes dead tasks due again, and retries due now.
pub(super) async fn replay(scopes: &Scopes, tasks: &[TaskId]) -> Result<Moved, StoreError> {
    each(scopes, &REPLAY, tasks.iter().map(Named::of).collect(), Nothing {}).await
}

/// Runs completed tasks once more.
pub(super) async fn rerun(scopes: &Scopes, tasks: &[TaskId]) -> Result<Moved, StoreError> {
    each(scopes, &RERUN, tasks.iter().map(Named::of).collect(), Nothing {}).await
}

/// Makes pending tasks dead, and lets held lanes pass.
pub(super) async fn bury(scopes: &Scopes, tasks: &[TaskId]) -> Result<Moved, StoreError> {
    each(scopes, &BURY, tasks.iter().map(Named::of).collect(), Burial { error: BURIED }).await
}

/// Gives stored events tasks of routes that they have none of.
pub(super) async fn assign(
    scopes: &Scopes,
    tasks: &[(EventId, NewTask)],
) -> Result<Moved, StoreError> {
    let reasons = Reasons { unreadable: UNREADABLE, too_old: TOO_OLD };
    each(scopes, &ASSIGN, tasks.iter().map(Given::of).collect(), reasons).await
}

/// Makes dead and pending tasks those of another route.
pub(super) async fn reroute(
    scopes: &Scopes,
    tasks: &[TaskId],
    to: &NewTask,
) -> Result<Moved, StoreError> {
    let to = Target { to: &to.route, max: to.max_attempts, ordered: to.ordered };
    each(scopes, &REROUTE, tasks.iter().map(Named::of).collect(), to).await
}

/// Has every scope move those of the tasks that it has; an event is in one scope alone.
async fn each<T: Serialize>(
    scopes: &Scopes,
    script: &Script,
    tasks: Vec<T>,
    what: impl Serialize,
) -> Result<Moved, StoreError> {
    let asked = Asked { tasks, what };
    let (mut moved, mut apart) = (0, Apart::default());
    for scope in scopes.all().await? {
        let of_scope = scopes.run::<String, _>(&scope, &Ask::writing(script, &asked)).await;
        let of_scope = apart.note(of_scope).map(|n| n.parse::<usize>().map_err(|_| strange()));
        moved += of_scope.transpose()?.unwrap_or_default();
    }
    // Told as a failure, what was moved would not be told.
    apart.unless(moved > 0)?;
    Ok(Moved { moved, left: asked.tasks.len() - moved })
}
