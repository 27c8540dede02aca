//! Claiming: what is due, by priority and age, round robin over sources.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension as _, Row, named_params, params};

use super::rows;
use super::session::Session;
use crate::store::{ClaimOrder, ClaimRoute};
use crate::task::{Claim, StepState, TaskId, Token};

/// A task that is due.
struct Due {
    at: i64,
    seq: i64,
    /// Its place among the order's routes.
    route: usize,
}

/// By priority and source.
type DueTasks = BTreeMap<i64, BTreeMap<String, Vec<Due>>>;

/// The sources that were served last, by priority: the next claim begins after them.
pub(super) type Turn = RefCell<BTreeMap<i64, String>>;

/// Claims tasks within the open transaction.
pub(super) fn claim(
    session: &Session,
    turn: &Turn,
    order: &ClaimOrder,
) -> rusqlite::Result<Vec<Claim>> {
    let repeated = claimed_before(session, order)?;
    if !repeated.is_empty() {
        return Ok(repeated);
    }
    let now = session.now();
    let due = due(session, order, now)?;
    let picked = pick(due, &mut turn.borrow_mut(), order);
    let mut claims = Vec::with_capacity(picked.len());
    for Due { seq, route, .. } in picked {
        let token = order.token.as_bytes();
        let ClaimRoute { name: route, lease, .. } = &order.routes[route];
        let lease_until = now + millis(*lease);
        let parameters = params![token, &*order.worker, lease_until, now, seq, &**route];
        if session.execute(include_str!("claim.sql"), parameters)? == 1 {
            claims.push(claimed(&session.connection, (seq, route), order.token, Taken::Due)?);
        }
    }
    Ok(claims)
}

/// The claims of an earlier call with the same token, whose answer was lost.
fn claimed_before(session: &Session, order: &ClaimOrder) -> rusqlite::Result<Vec<Claim>> {
    let tasks: Vec<(i64, String)> = session
        .connection
        .prepare_cached(include_str!("claim_repeat.sql"))?
        .query_map((order.token.as_bytes(),), |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    tasks
        .into_iter()
        .map(|(seq, route)| {
            claimed(&session.connection, (seq, &route.into()), order.token, Taken::Due)
        })
        .collect()
}

/// The oldest due tasks, by priority and source; of each route no more than could be claimed.
fn due(session: &Session, order: &ClaimOrder, now: i64) -> rusqlite::Result<DueTasks> {
    let mut due = DueTasks::new();
    let mut groups = session.connection.prepare_cached(include_str!("claim_group.sql"))?;
    let mut oldest = session.connection.prepare_cached(include_str!("claim_due.sql"))?;
    for (n, route) in order.routes.iter().enumerate() {
        let limit = route.limit.min(order.limit);
        let mut group = (-1, String::new());
        loop {
            let (priority, source) = &group;
            let mut rows = groups.query(named_params! {
                ":route": &*route.name, ":priority": priority, ":source": source,
            })?;
            let Some(row) = rows.next()? else { break };
            group = (row.get(0)?, row.get(1)?);
            let (priority, source) = &group;
            let parameters = named_params! {
                ":route": &*route.name, ":priority": priority, ":source": source,
                ":now": now, ":limit": limit,
            };
            let read = |row: &Row<'_>| Ok(Due { at: row.get(0)?, seq: row.get(1)?, route: n });
            let tasks =
                oldest.query_map(parameters, read)?.collect::<rusqlite::Result<Vec<_>>>()?;
            due.entry(*priority).or_default().entry(source.clone()).or_default().extend(tasks);
        }
    }
    Ok(due)
}

/// The places that an order has, in all and by route.
struct Places<'a> {
    order: &'a ClaimOrder,
    picked: Vec<Due>,
    /// By route: how many were picked.
    taken: Vec<usize>,
}

impl Places<'_> {
    fn is_full(&self) -> bool {
        self.picked.len() >= self.order.limit
    }

    fn pick(&mut self, task: Due) {
        if !self.is_full() && self.taken[task.route] < self.order.routes[task.route].limit {
            self.taken[task.route] += 1;
            self.picked.push(task);
        }
    }

    /// Whether a place is kept for this task, which is not among the most urgent ones.
    fn is_kept_for(&self, task: &Due) -> bool {
        let for_all = self.picked.len() < self.order.reserve;
        for_all || self.taken[task.route] < self.order.routes[task.route].reserve
    }
}

/// Picks tasks for the order's places: first those below the first priority that places are kept
/// for, of each priority in turn; then the most urgent.
fn pick(due: DueTasks, turn: &mut BTreeMap<i64, String>, order: &ClaimOrder) -> Vec<Due> {
    let mut places = Places { order, picked: Vec::new(), taken: vec![0; order.routes.len()] };
    let mut first_is_urgent = false;
    let mut lines: Vec<VecDeque<Due>> = Vec::new();
    for (priority, sources) in due {
        first_is_urgent |= priority == 0;
        lines.push(in_turn(sources, turn.entry(priority).or_default()));
    }
    let lower = &mut lines[usize::from(first_is_urgent)..];
    let mut rest: Vec<VecDeque<Due>> = lower.iter().map(|_| VecDeque::new()).collect();
    while !places.is_full() && lower.iter().any(|line| !line.is_empty()) {
        for (line, rest) in lower.iter_mut().zip(&mut rest) {
            match line.pop_front() {
                Some(task) if places.is_kept_for(&task) => places.pick(task),
                passed => rest.extend(passed),
            }
        }
    }
    let kept = places.picked.len();
    // What was passed over comes in its own order, before what was not looked at.
    for (line, mut rest) in lower.iter_mut().zip(rest) {
        rest.append(line);
        *line = rest;
    }
    lines.into_iter().flatten().for_each(|task| places.pick(task));
    // What is most urgent is also started first.
    places.picked.rotate_left(kept);
    places.picked
}

/// One line of the sources' tasks, a task of each source in turn; the source after the one that
/// was served last comes first, whichever has the older ones.
fn in_turn(sources: BTreeMap<String, Vec<Due>>, last: &mut String) -> VecDeque<Due> {
    let mut ring: Vec<(String, VecDeque<Due>)> = sources
        .into_iter()
        .map(|(source, mut tasks)| {
            tasks.sort_by_key(|task| (task.at, task.seq));
            (source, tasks.into())
        })
        .filter(|(_, tasks): &(String, VecDeque<Due>)| !tasks.is_empty())
        .collect();
    let start = ring.iter().position(|(source, _)| source > last).unwrap_or(0);
    ring.rotate_left(start);
    if let Some((source, _)) = ring.first() {
        last.clone_from(source);
    }
    let mut line = VecDeque::new();
    while ring.iter().any(|(_, tasks)| !tasks.is_empty()) {
        line.extend(ring.iter_mut().filter_map(|(_, tasks)| tasks.pop_front()));
    }
    line
}

/// Takes lapsed claims over within the open transaction.
pub(super) fn reap(
    session: &Session,
    token: Token,
    lease: Duration,
    limit: usize,
) -> rusqlite::Result<Vec<Claim>> {
    let now = session.now();
    let lapsed: Vec<(i64, String, [u8; 16])> = session
        .connection
        .prepare_cached(include_str!("reap_lapsed.sql"))?
        .query_map(named_params! { ":now": now, ":limit": limit }, |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })?
        .collect::<rusqlite::Result<_>>()?;
    let mut claims = Vec::with_capacity(lapsed.len());
    for (seq, route, lapsed_token) in lapsed {
        let error = "worker lost: its lease ended before it finished";
        session.execute(
            include_str!("finish_attempt.sql"),
            params![now, "lapsed", error, seq, route, lapsed_token],
        )?;
        let parameters = named_params! {
            ":seq": seq, ":route": route, ":token": token.as_bytes(), ":now": now,
            ":lease_until": now + millis(lease),
        };
        if session.execute(include_str!("reap.sql"), parameters)? == 1 {
            let task = (seq, &route.into());
            claims.push(claimed(&session.connection, task, token, Taken::Lapsed)?);
        }
    }
    Ok(claims)
}

/// How a task came to be claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Taken {
    /// To be handled: its payload is needed.
    Due,
    /// Before, by whoever asks again.
    Held,
    /// To be finished only.
    Lapsed,
}

/// Gives the claim that a token proves, if it does.
pub(super) fn by_token(
    connection: &Connection,
    task: &TaskId,
    token: Token,
) -> rusqlite::Result<Option<Claim>> {
    let seq: Option<i64> = connection
        .prepare_cached(include_str!("seq_of.sql"))?
        .query_row((task.event_id.as_bytes(),), |row| row.get(0))
        .optional()?;
    let Some(seq) = seq else { return Ok(None) };
    let mut holds = connection.prepare_cached(include_str!("holds.sql"))?;
    if !holds.exists((seq, &*task.route, token.as_bytes()))? {
        return Ok(None);
    }
    claimed(connection, (seq, &task.route), token, Taken::Held).map(Some)
}

/// Reads a task that is claimed, with its event and steps.
fn claimed(
    connection: &Connection,
    (seq, route): (i64, &Arc<str>),
    token: Token,
    how: Taken,
) -> rusqlite::Result<Claim> {
    let reaped = how == Taken::Lapsed;
    let mut claimed = connection.prepare_cached(include_str!("claimed.sql"))?;
    let mut claim = claimed.query_row(params![!reaped, seq, &**route], |row| {
        Ok(Claim {
            event: Arc::new(rows::event(row, 7)?),
            route: route.clone(),
            token,
            attempt: row.get(0)?,
            max_attempts: row.get(1)?,
            run: row.get(2)?,
            epoch: row.get(3)?,
            claimed_at: rows::time(row, 4)?,
            lease_until: rows::time(row, 5)?,
            first_route: row.get::<_, Option<String>>(6)?.map(Arc::from),
            steps: BTreeMap::new(),
            reaped,
        })
    })?;
    // A first attempt has no steps behind it.
    if claim.epoch > 1 || how == Taken::Held {
        let mut steps = connection.prepare_cached(include_str!("claimed_steps.sql"))?;
        claim.steps = steps
            .query_map((seq, &**route, claim.run), |row| {
                let done = row.get_ref(1)?.as_str()? == StepState::Done.as_str();
                let state = if done { StepState::Done } else { StepState::Begun };
                Ok((row.get(0)?, (state, row.get(2)?)))
            })?
            .collect::<rusqlite::Result<_>>()?;
    }
    Ok(claim)
}

/// A duration in the store's milliseconds.
pub(super) fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX / 4)
}
