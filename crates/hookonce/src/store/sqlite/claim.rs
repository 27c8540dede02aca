//! Claiming: what is due, by priority and age, round robin over sources.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Row, named_params, params};

use super::rows;
use super::session::Session;
use crate::store::ClaimOrder;
use crate::task::{Claim, StepState, Token};

/// A task that is due.
struct Due {
    at: i64,
    seq: i64,
    route: Arc<str>,
}

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
    let picked = pick(due, &mut turn.borrow_mut(), order.limit, order.reserve);
    let mut claims = Vec::with_capacity(picked.len());
    for Due { seq, route, .. } in picked {
        let token = order.token.as_bytes();
        let wanted = order.routes.iter().find(|wanted| wanted.name == route);
        let lease_until = now + wanted.map_or(0, |wanted| millis(wanted.lease));
        let parameters = params![token, &*order.worker, lease_until, now, seq, &*route];
        if session.execute(include_str!("claim.sql"), parameters)? == 1 {
            claims.push(claimed(session, seq, &route, order.token, Taken::Due)?);
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
        .map(|(seq, route)| claimed(session, seq, &route.into(), order.token, Taken::Due))
        .collect()
}

/// The oldest due tasks, by priority and source; of each no more than could be claimed.
fn due(
    session: &Session,
    order: &ClaimOrder,
    now: i64,
) -> rusqlite::Result<BTreeMap<i64, BTreeMap<String, Vec<Due>>>> {
    let mut due = BTreeMap::<i64, BTreeMap<String, Vec<Due>>>::new();
    let mut groups = session.connection.prepare_cached(include_str!("claim_group.sql"))?;
    let mut oldest = session.connection.prepare_cached(include_str!("claim_due.sql"))?;
    for route in &order.routes {
        let mut left = route.limit.min(order.limit);
        let mut group = (-1, String::new());
        while left > 0 {
            let (priority, source) = &group;
            let mut rows = groups.query(named_params! {
                ":route": &*route.name, ":priority": priority, ":source": source,
            })?;
            let Some(row) = rows.next()? else { break };
            group = (row.get(0)?, row.get(1)?);
            let (priority, source) = &group;
            let parameters = named_params! {
                ":route": &*route.name, ":priority": priority, ":source": source,
                ":now": now, ":limit": left,
            };
            let read = |row: &Row<'_>| {
                Ok(Due { at: row.get(0)?, seq: row.get(1)?, route: route.name.clone() })
            };
            let tasks =
                oldest.query_map(parameters, read)?.collect::<rusqlite::Result<Vec<_>>>()?;
            // A route with few places gives them to what is most urgent.
            if route.limit < order.limit {
                left -= tasks.len();
            }
            due.entry(*priority).or_default().entry(source.clone()).or_default().extend(tasks);
        }
    }
    Ok(due)
}

/// Picks up to `limit` tasks: the most urgent first, but `reserve` of them from the priorities
/// below the first, in turn, where they have any.
fn pick(
    due: BTreeMap<i64, BTreeMap<String, Vec<Due>>>,
    turn: &mut BTreeMap<i64, String>,
    limit: usize,
    reserve: usize,
) -> Vec<Due> {
    let mut lines: Vec<VecDeque<Due>> = Vec::new();
    let mut first_is_urgent = false;
    for (priority, sources) in due {
        first_is_urgent |= priority == 0;
        lines.push(in_turn(sources, turn.entry(priority).or_default()));
    }
    let lower = usize::from(first_is_urgent).min(lines.len());
    let mut kept = Vec::new();
    let mut n = lower;
    while kept.len() < reserve.min(limit) && lines[lower..].iter().any(|line| !line.is_empty()) {
        kept.extend(lines[n].pop_front());
        n = if n + 1 < lines.len() { n + 1 } else { lower };
    }
    let mut picked: Vec<Due> = lines.into_iter().flatten().take(limit - kept.len()).collect();
    picked.append(&mut kept);
    picked
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
            claims.push(claimed(session, seq, &route.into(), token, Taken::Lapsed)?);
        }
    }
    Ok(claims)
}

/// How a task came to be claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Taken {
    /// To be handled: its payload is needed.
    Due,
    /// To be finished only.
    Lapsed,
}

/// Reads a task that was just claimed, with its event and steps.
fn claimed(
    session: &Session,
    seq: i64,
    route: &Arc<str>,
    token: Token,
    how: Taken,
) -> rusqlite::Result<Claim> {
    let reaped = how == Taken::Lapsed;
    let mut claimed = session.connection.prepare_cached(include_str!("claimed.sql"))?;
    let mut claim = claimed.query_row(params![!reaped, seq, &**route], |row| {
        Ok(Claim {
            event: Arc::new(rows::event(row, 5)?),
            route: route.clone(),
            token,
            attempt: row.get(0)?,
            max_attempts: row.get(1)?,
            run: row.get(2)?,
            epoch: row.get(3)?,
            lease_until: rows::time(row, 4)?,
            steps: BTreeMap::new(),
            reaped,
        })
    })?;
    // A first attempt has no steps behind it.
    if claim.epoch > 1 {
        let mut steps = session.connection.prepare_cached(include_str!("claimed_steps.sql"))?;
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
