//! What a person does to tasks: replay, rerun, bury, give them to a route; and what is kept beside
//! the events.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;
use tokio_postgres::Row;
use tokio_postgres::types::Type;
use uuid::Uuid;

use super::error::{Failed, Tries, again};
use super::fate;
use super::new_task::{self, NewTaskRow};
use super::pool::{Pool, Typed};
use super::rows;
use crate::event::{EventId, Priority};
use crate::store::unproven::too_old;
use crate::store::{AuditEntry, MirrorRoute, MirrorSource, Moved, StoreError};
use crate::task::{NewTask, TaskId, lane_id};

/// Why a task is dead that an unreadable event is given: the reason itself was told on arrival.
const UNREADABLE: &str = "the event can't be read as what its source's scheme expects";

/// Makes dead tasks due again, and retries due now.
pub(super) async fn replay(pool: &Pool, tasks: &[TaskId]) -> Result<Moved, StoreError> {
    each(pool, tasks, include_str!("replay.sql")).await
}

/// Runs completed tasks once more.
pub(super) async fn rerun(pool: &Pool, tasks: &[TaskId]) -> Result<Moved, StoreError> {
    each(pool, tasks, include_str!("rerun.sql")).await
}

/// Makes pending tasks dead, and lets held lanes pass.
pub(super) async fn bury(pool: &Pool, tasks: &[TaskId]) -> Result<Moved, StoreError> {
    each(pool, tasks, include_str!("bury.sql")).await
}

/// Moves tasks by a statement that gives a row for each that could be moved.
async fn each(pool: &Pool, tasks: &[TaskId], sql: &str) -> Result<Moved, StoreError> {
    let (mut moved, mut left, mut tries) = (0, tasks.to_vec(), Tries::default());
    loop {
        let ids: Vec<Uuid> = left.iter().map(|task| rows::uuid(task.event_id)).collect();
        let routes: Vec<&str> = left.iter().map(|task| &*task.route).collect();
        let parameters = [(&ids as _, Type::UUID_ARRAY), (&routes as _, Type::TEXT_ARRAY)];
        let found = again!(fate::write(pool, sql, &parameters).await)?;
        let locked = locked(&found, &left)?;
        moved += found.len() - locked.len();
        if locked.is_empty() || !tries.next().await {
            return Ok(of(moved, tasks.len()));
        }
        left = locked;
    }
}

/// The tasks that could have been moved and were not, of these: somebody has locked them. A claim on
/// another node does so for a moment, a person's open transaction for as long as it likes; nobody
/// waits for that, and after some tries they are left.
fn locked(found: &[Row], tasks: &[TaskId]) -> Result<Vec<TaskId>, Failed> {
    let mut locked = HashSet::new();
    for row in found {
        if !row.try_get::<_, bool>(2)? {
            locked.insert((row.try_get::<_, Uuid>(0)?, row.try_get::<_, String>(1)?));
        }
    }
    let mut left = Vec::new();
    for task in tasks {
        if locked.remove(&(rows::uuid(task.event_id), task.route.to_string())) {
            left.push(task.clone());
        }
    }
    Ok(left)
}

/// Gives stored events tasks of routes that they have none of.
pub(super) async fn assign(pool: &Pool, tasks: &[(EventId, NewTask)]) -> Result<Moved, StoreError> {
    let ids: Vec<Uuid> = tasks.iter().map(|(id, _)| rows::uuid(*id)).collect();
    let moved = again!({
        let mut connection = pool.get().await?;
        let transaction = connection.transaction().await?;
        let number = fate::number(&transaction).await?;
        let parameters = [(&ids as _, Type::UUID_ARRAY)];
        let found = transaction.query_typed(include_str!("steer_facts.sql"), &parameters).await?;
        let mut facts = HashMap::new();
        for row in &found {
            let one = Facts::of(row)?;
            facts.insert(one.id, one);
        }
        let pruned_until = new_task::pruned_until(&*transaction).await?;
        // As on arrival: what can't be read, or may have been handled before its key was pruned, is
        // for a person.
        let row = |event: &'_ Facts, task: &'_ NewTask| {
            let dead = if event.is_unreadable {
                Some(UNREADABLE)
            } else {
                let priority = Priority::from_number(event.priority.into());
                too_old(priority, event.sent_at, pruned_until)
            };
            (event.lane_id(task), dead)
        };
        let mut new = Vec::new();
        for (id, task) in tasks {
            let Some(event) = facts.get(&rows::uuid(*id)) else { continue };
            let (lane_id, error) = row(event, task);
            new.push(NewTaskRow {
                seq: event.seq,
                route: &task.route,
                id: event.id,
                source: &event.source,
                lane_id,
                priority: event.priority,
                max_attempts: rows::max_attempts(task),
                error,
            });
        }
        let assigned = new_task::write_tasks(&*transaction, &new).await?;
        let mut counts = HashMap::<(&str, &str), i64>::new();
        for event in facts.values().filter(|event| assigned.contains(&event.seq)) {
            if !event.has_tasks {
                *counts.entry((&event.source, "unrouted")).or_default() -= 1;
            }
            let died = new.iter().filter(|task| task.seq == event.seq && task.error.is_some());
            let died = i64::try_from(died.count()).unwrap_or(i64::MAX);
            if died > 0 {
                *counts.entry((&event.source, "dead")).or_default() += died;
            }
        }
        let sources: Vec<&str> = counts.keys().map(|(source, _)| *source).collect();
        let words: Vec<&str> = counts.keys().map(|(_, word)| *word).collect();
        let counts: Vec<i64> = counts.values().copied().collect();
        let parameters: [Typed<'_>; 3] =
            [(&sources, Type::TEXT_ARRAY), (&words, Type::TEXT_ARRAY), (&counts, Type::INT8_ARRAY)];
        transaction.query_typed(include_str!("count.sql"), &parameters).await?;
        fate::commit(pool, transaction, &number).await?;
        Ok(assigned.len())
    })?;
    Ok(of(moved, tasks.len()))
}

/// Makes dead and pending tasks those of another route.
pub(super) async fn reroute(
    pool: &Pool,
    tasks: &[TaskId],
    to: &NewTask,
) -> Result<Moved, StoreError> {
    let (mut moved, mut left, mut tries) = (0, tasks.to_vec(), Tries::default());
    loop {
        let found = again!(try_reroute(pool, &left, to).await)?;
        let locked = locked(&found, &left)?;
        moved += found.len() - locked.len();
        if locked.is_empty() || !tries.next().await {
            return Ok(of(moved, tasks.len()));
        }
        left = locked;
    }
}

/// Gives a row for each task that could be moved.
async fn try_reroute(pool: &Pool, tasks: &[TaskId], to: &NewTask) -> Result<Vec<Row>, Failed> {
    let ids: Vec<Uuid> = tasks.iter().map(|task| rows::uuid(task.event_id)).collect();
    let parameters = [(&ids as _, Type::UUID_ARRAY)];
    let found = pool.query(include_str!("steer_facts.sql"), &parameters).await?;
    let mut facts = HashMap::new();
    for row in &found {
        let one = Facts::of(row)?;
        facts.insert(one.id, one);
    }
    let known: Vec<(&Facts, &TaskId)> = tasks
        .iter()
        .filter_map(|task| Some((facts.get(&rows::uuid(task.event_id))?, task)))
        .collect();
    let seqs: Vec<i64> = known.iter().map(|(event, _)| event.seq).collect();
    let routes: Vec<&str> = known.iter().map(|(_, task)| &*task.route).collect();
    let lanes: Vec<Option<Uuid>> = known.iter().map(|(event, _)| event.lane_id(to)).collect();
    let (name, most) = (&*to.route, rows::max_attempts(to));
    let parameters: [Typed<'_>; 5] = [
        (&seqs, Type::INT8_ARRAY),
        (&routes, Type::TEXT_ARRAY),
        (&lanes, Type::UUID_ARRAY),
        (&name, Type::TEXT),
        (&most, Type::INT4),
    ];
    fate::write(pool, include_str!("reroute.sql"), &parameters).await
}

/// What a task is made from.
struct Facts {
    id: Uuid,
    seq: i64,
    source: String,
    lane: Option<String>,
    priority: i16,
    has_tasks: bool,
    is_unreadable: bool,
    sent_at: Option<Timestamp>,
}

impl Facts {
    fn of(row: &Row) -> Result<Self, Failed> {
        Ok(Self {
            id: row.try_get(0)?,
            seq: row.try_get(1)?,
            source: row.try_get(2)?,
            lane: row.try_get(3)?,
            priority: row.try_get(4)?,
            has_tasks: row.try_get(5)?,
            is_unreadable: row.try_get(6)?,
            sent_at: rows::optional_time(row, 7)?,
        })
    }

    fn lane_id(&self, task: &NewTask) -> Option<Uuid> {
        let lane = self.lane.as_deref().filter(|_| task.ordered);
        lane.map(|lane| Uuid::from_bytes(lane_id(&self.source, &task.route, lane)))
    }
}

fn of(moved: usize, all: usize) -> Moved {
    Moved { moved, left: all.saturating_sub(moved) }
}

/// Writes down who does what.
pub(super) async fn audit(pool: &Pool, entry: &AuditEntry) -> Result<(), StoreError> {
    let AuditEntry { who, action, details } = entry;
    let parameters =
        [(who as _, Type::TEXT), (action as _, Type::TEXT), (details as _, Type::TEXT)];
    again!(fate::write(pool, include_str!("audit.sql"), &parameters).await).map(drop)
}

/// Keeps the configuration's sources and routes beside the events.
pub(super) async fn mirror(
    pool: &Pool,
    sources: &[MirrorSource],
    routes: &[MirrorRoute],
) -> Result<(), StoreError> {
    again!({
        let mut connection = pool.get().await?;
        let transaction = connection.transaction().await?;
        let names: Vec<&str> = sources.iter().map(|source| &*source.name).collect();
        let scopes: Vec<&str> = sources.iter().map(|source| &*source.scope).collect();
        let parameters = [(&names as _, Type::TEXT_ARRAY), (&scopes as _, Type::TEXT_ARRAY)];
        transaction.query_typed(include_str!("mirror_source.sql"), &parameters).await?;
        transaction.query_typed(include_str!("mirror_clear.sql"), &[]).await?;
        for route in routes {
            let most = i32::try_from(route.max_attempts).unwrap_or(i32::MAX);
            let (min, max) = (rows::seconds(route.retry_min), rows::seconds(route.retry_max));
            let (name, on_dead) = (&*route.name, if route.holds { "hold" } else { "pass" });
            let order = if route.ordered { "lane" } else { "none" };
            let worker = if route.external { "external" } else { "server" };
            let parameters: [Typed<'_>; 9] = [
                (&name, Type::TEXT),
                (&route.sources, Type::TEXT_ARRAY),
                (&route.kinds, Type::TEXT_ARRAY),
                (&most, Type::INT4),
                (&min, Type::FLOAT8),
                (&max, Type::FLOAT8),
                (&on_dead, Type::TEXT),
                (&order, Type::TEXT),
                (&worker, Type::TEXT),
            ];
            transaction.query_typed(include_str!("mirror_route.sql"), &parameters).await?;
        }
        transaction.commit().await?;
        Ok(())
    })
}
