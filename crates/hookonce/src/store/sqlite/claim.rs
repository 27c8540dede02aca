//! Claiming: what is due, by priority and age, round robin over sources.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, named_params, params};

use super::read::seq_of;
use super::rows;
use super::session::Session;
use crate::store::pick::{Due, Turn, pick};
use crate::store::{ClaimOrder, ClaimRoute};
use crate::task::{Claim, StepState, TaskId, Token};

/// Claims tasks within the open transaction.
pub(super) fn claim(
    session: &Session,
    turn: &mut Turn,
    order: &ClaimOrder,
) -> rusqlite::Result<Vec<Claim>> {
    let repeated = claimed_before(session, order)?;
    if !repeated.is_empty() {
        return Ok(repeated);
    }
    let now = session.now();
    let due = due(session, order, now)?;
    let picked = pick(due, turn, order);
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
fn due(session: &Session, order: &ClaimOrder, now: i64) -> rusqlite::Result<Vec<Due<i64>>> {
    let mut due = Vec::new();
    let mut groups = session.connection.prepare_cached(include_str!("claim_group.sql"))?;
    let mut oldest = session.connection.prepare_cached(include_str!("claim_due.sql"))?;
    for (n, route) in order.routes.iter().enumerate() {
        let limit = route.limit.min(order.limit);
        let (mut priority, mut source) = (-1, Arc::<str>::from(""));
        loop {
            let mut rows = groups.query(named_params! {
                ":route": &*route.name, ":priority": priority, ":source": &*source,
            })?;
            let Some(row) = rows.next()? else { break };
            (priority, source) = (row.get(0)?, row.get(1)?);
            let parameters = named_params! {
                ":route": &*route.name, ":priority": priority, ":source": &*source,
                ":now": now, ":limit": limit,
            };
            let mut tasks = oldest.query(parameters)?;
            while let Some(row) = tasks.next()? {
                let (at, seq, source) = (row.get(0)?, row.get(1)?, source.clone());
                due.push(Due { at, seq, route: n, priority, source });
            }
        }
    }
    Ok(due)
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
    let Some(seq) = seq_of(connection, task.event_id)? else { return Ok(None) };
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
            event: Arc::new(rows::event(row, 8)?),
            route: route.clone(),
            token,
            attempt: row.get(0)?,
            max_attempts: row.get(1)?,
            run: row.get(2)?,
            epoch: row.get(3)?,
            claimed_at: rows::time(row, 4)?,
            lease_until: rows::time(row, 5)?,
            first_route: row.get::<_, Option<String>>(6)?.map(Arc::from),
            replayed_at: rows::optional_time(row, 7)?,
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
