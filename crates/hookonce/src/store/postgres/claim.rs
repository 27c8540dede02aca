//! Claiming: what is due, by priority and age, round robin over sources; and what has lapsed.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use tokio_postgres::types::Type;
use tokio_postgres::{GenericClient, Row};

use super::error::{Failed, again};
use super::pool::Pool;
use super::rows;
use crate::store::pick::{Due, Turn, pick};
use crate::store::{ClaimOrder, StoreError};
use crate::task::{Claim, StepState, TaskId, Token};

/// Claims tasks.
pub(super) async fn claim(
    pool: &Pool,
    turn: &Mutex<Turn>,
    order: &ClaimOrder,
) -> Result<Vec<Claim>, StoreError> {
    again!({
        let connection = pool.get().await?;
        // All at once: they are done one after the other, and each sees what the one before did.
        let (before, (), (), due) = tokio::try_join!(
            claimed_before(&**connection, order.token),
            drain(&**connection, order.limit),
            connection.begin(include_str!("begin_claim.sql")),
            due(&**connection, order),
        )?;
        let claims = if before.is_empty() {
            let picked = {
                let mut turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
                pick(due, &mut turn, order)
            };
            take(&**connection, order, &picked).await?
        } else {
            claimed(&**connection, &before, order.token).await?
        };
        connection.end("commit").await?;
        Ok(claims)
    })
}

/// Gives lanes without a head their next one, in a transaction of its own: as many as this claim may
/// need. Each task wakes its lane twice, when it is stored and when it ends.
async fn drain(connection: &impl GenericClient, limit: usize) -> Result<(), Failed> {
    let most = i64::try_from(limit.saturating_mul(3).saturating_add(16)).unwrap_or(i64::MAX);
    let parameters = [(&most as _, Type::INT8)];
    tokio::try_join!(
        connection.batch_execute(include_str!("begin_drain.sql")),
        connection.query_typed(include_str!("drain.sql"), &parameters),
        connection.batch_execute("commit"),
    )?;
    Ok(())
}

/// The claims of an earlier call with the same token, whose answer was lost.
async fn claimed_before(
    connection: &impl GenericClient,
    token: Token,
) -> Result<Vec<(i64, String)>, Failed> {
    let uuid = rows::token(token);
    let parameters = [(&uuid as _, Type::UUID)];
    let mut tasks = Vec::new();
    for row in &connection.query_typed(include_str!("claim_repeat.sql"), &parameters).await? {
        tasks.push((row.try_get(0)?, row.try_get(1)?));
    }
    Ok(tasks)
}

/// The oldest due tasks, by priority and source; of each route no more than could be claimed.
async fn due(
    connection: &impl GenericClient,
    order: &ClaimOrder,
) -> Result<Vec<Due<Timestamp>>, Failed> {
    let names: Vec<&str> = order.routes.iter().map(|route| &*route.name).collect();
    let most = |limit: usize| i64::try_from(limit.min(order.limit)).unwrap_or(i64::MAX);
    let limits: Vec<i64> = order.routes.iter().map(|route| most(route.limit)).collect();
    let parameters = [(&names as _, Type::TEXT_ARRAY), (&limits as _, Type::INT8_ARRAY)];
    let mut due = Vec::new();
    for row in &connection.query_typed(include_str!("claim_due.sql"), &parameters).await? {
        let route = usize::try_from(row.try_get::<_, i64>(0)?).unwrap_or(1) - 1;
        let priority = row.try_get::<_, i16>(1)?.into();
        let source = row.try_get::<_, &str>(2)?.into();
        let (at, seq) = (rows::time(row, 3)?, row.try_get(4)?);
        due.push(Due { at, seq, route, priority, source });
    }
    Ok(due)
}

/// Claims those that were picked, in their order.
async fn take(
    connection: &impl GenericClient,
    order: &ClaimOrder,
    picked: &[Due<Timestamp>],
) -> Result<Vec<Claim>, Failed> {
    let seqs: Vec<i64> = picked.iter().map(|task| task.seq).collect();
    let routes: Vec<&str> = picked.iter().map(|task| &*order.routes[task.route].name).collect();
    let leases: Vec<f64> =
        picked.iter().map(|task| rows::seconds(order.routes[task.route].lease)).collect();
    let (token, worker) = (rows::token(order.token), &*order.worker);
    if picked.is_empty() {
        return Ok(Vec::new());
    }
    let rows = connection
        .query_typed(
            include_str!("claim.sql"),
            &[
                (&seqs, Type::INT8_ARRAY),
                (&routes, Type::TEXT_ARRAY),
                (&leases, Type::FLOAT8_ARRAY),
                (&token, Type::UUID),
                (&worker, Type::TEXT),
            ],
        )
        .await?;
    let mut claims = read(&rows, order.token, false)?;
    // A first attempt has no steps behind it.
    let later = claims.iter_mut().filter(|claim| claim.epoch > 1).collect();
    remember_steps(connection, later).await?;
    let place = |claim: &Claim| {
        picked.iter().position(|task| {
            task.seq == claim.event.seq && order.routes[task.route].name == claim.route
        })
    };
    claims.sort_by_key(place);
    Ok(claims)
}

/// Takes lapsed claims over.
pub(super) async fn reap(
    pool: &Pool,
    token: Token,
    lease: Duration,
    limit: usize,
) -> Result<Vec<Claim>, StoreError> {
    let uuid = rows::token(token);
    let lease = rows::seconds(lease);
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut is_repeated = false;
    again!({
        if std::mem::replace(&mut is_repeated, true) {
            let connection = pool.get().await?;
            let before = claimed_before(&**connection, token).await?;
            if !before.is_empty() {
                let mut repeated = claimed(&**connection, &before, token).await?;
                for claim in &mut repeated {
                    claim.reaped = true;
                }
                return Ok(repeated);
            }
        }
        let parameters =
            [(&uuid as _, Type::UUID), (&lease as _, Type::FLOAT8), (&limit as _, Type::INT8)];
        let rows = pool.query(include_str!("reap.sql"), &parameters).await?;
        read(&rows, token, true)
    })
}

/// Gives the claim that a token proves.
pub(super) async fn by_token(
    pool: &Pool,
    task: &TaskId,
    token: Token,
) -> Result<Claim, StoreError> {
    let found: Result<_, StoreError> = again!({
        let ids = [rows::uuid(task.event_id)];
        let ids = &ids[..];
        let parameters = [(&ids as _, Type::UUID_ARRAY)];
        let Some(row) = pool.query(include_str!("seq_of.sql"), &parameters).await?.pop() else {
            return Ok(None);
        };
        let tasks = [(row.try_get(0)?, task.route.to_string())];
        Ok(claimed(&**pool.get().await?, &tasks, token).await?.pop())
    });
    found?.ok_or(StoreError::Lost)
}

/// Gives claimed tasks with their events and steps.
async fn claimed(
    connection: &impl GenericClient,
    tasks: &[(i64, String)],
    token: Token,
) -> Result<Vec<Claim>, Failed> {
    let seqs: Vec<i64> = tasks.iter().map(|(seq, _)| *seq).collect();
    let routes: Vec<&str> = tasks.iter().map(|(_, route)| &**route).collect();
    let uuid = rows::token(token);
    let parameters = [
        (&seqs as _, Type::INT8_ARRAY),
        (&routes as _, Type::TEXT_ARRAY),
        (&uuid as _, Type::UUID),
    ];
    let found = connection.query_typed(include_str!("claimed.sql"), &parameters).await?;
    let mut claims = read(&found, token, false)?;
    remember_steps(connection, claims.iter_mut().collect()).await?;
    Ok(claims)
}

fn read(found: &[Row], token: Token, reaped: bool) -> Result<Vec<Claim>, Failed> {
    Ok(found.iter().map(|row| rows::claim(row, token, reaped)).collect::<Result<_, _>>()?)
}

/// Adds the steps that are behind claims.
async fn remember_steps(
    connection: &impl GenericClient,
    claims: Vec<&mut Claim>,
) -> Result<(), Failed> {
    if claims.is_empty() {
        return Ok(());
    }
    let seqs: Vec<i64> = claims.iter().map(|claim| claim.event.seq).collect();
    let routes: Vec<&str> = claims.iter().map(|claim| &*claim.route).collect();
    let parameters = [(&seqs as _, Type::INT8_ARRAY), (&routes as _, Type::TEXT_ARRAY)];
    let found = connection.query_typed(include_str!("claimed_steps.sql"), &parameters).await?;
    let mut steps = HashMap::<(i64, String), Vec<(String, (StepState, Option<String>))>>::new();
    for row in &found {
        let task = (row.try_get(0)?, row.try_get(1)?);
        let done = row.try_get::<_, &str>(3)? == StepState::Done.as_str();
        let state = if done { StepState::Done } else { StepState::Begun };
        steps.entry(task).or_default().push((row.try_get(2)?, (state, row.try_get(4)?)));
    }
    for claim in claims {
        let task = (claim.event.seq, claim.route.to_string());
        claim.steps.extend(steps.remove(&task).unwrap_or_default());
    }
    Ok(())
}
