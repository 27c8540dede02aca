//! Claiming: what is due, by priority and age, round robin over sources; and what has lapsed.

use std::collections::HashMap;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;
use tokio_postgres::types::Type;
use tokio_postgres::{GenericClient, Row};

use super::error::{Failed, again};
use super::front::{Front, Look, Since};
use super::pool::Pool;
use super::rows;
use super::time::Time;
use crate::store::pick::{Due, pick};
use crate::store::{ClaimOrder, StoreError};
use crate::task::{Claim, StepState, TaskId, Token};

/// Claims tasks.
pub(super) async fn claim(
    pool: &Pool,
    front: &Front,
    order: &ClaimOrder,
) -> Result<Vec<Claim>, StoreError> {
    again!({
        let connection = pool.get().await?;
        let look = front.look(order.routes.iter().map(|route| &route.name));
        let (whole, since) = (look.whole(), look.since());
        // All at once: they are done one after the other, and each sees what the one before did.
        let looked = tokio::try_join!(
            claimed_before(&**connection, order.token),
            drain(&**connection, order.limit, &look),
            connection.begin(include_str!("begin_claim.sql")),
            due(&**connection, order, &whole),
            due_since(&**connection, order, &since),
        );
        let (before, (), (), mut due, lately) = match looked {
            Ok(looked) => looked,
            // An answer that doesn't come may be on a long way.
            Err(failed @ (Failed::Silent(_) | Failed::NoConnection(_))) => return Err(failed),
            Err(failed) => {
                look.failed();
                return Err(failed);
            }
        };
        due.extend(lately);
        look.found_due(&due);
        let claims = if before.is_empty() {
            let picked = pick(due, &mut front.turn(), order);
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
async fn drain(
    connection: &impl GenericClient,
    limit: usize,
    look: &Look<'_>,
) -> Result<(), Failed> {
    let most = i64::try_from(limit.saturating_mul(3).saturating_add(16)).unwrap_or(i64::MAX);
    let page = look.page();
    let parameters = [(&most as _, Type::INT8), (&page as _, Type::INT8)];
    let ((), drained, ()) = tokio::try_join!(
        connection.batch_execute(include_str!("begin_drain.sql")),
        connection.query_typed(include_str!("drain.sql"), &parameters),
        connection.batch_execute("commit"),
    )?;
    for row in &drained {
        look.found_woken(row.try_get(1)?);
    }
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

/// The oldest due tasks of these of the order's routes, by priority and source; of each route no more
/// than could be claimed.
async fn due(
    connection: &impl GenericClient,
    order: &ClaimOrder,
    routes: &[usize],
) -> Result<Vec<Due<Timestamp>>, Failed> {
    if routes.is_empty() {
        return Ok(Vec::new());
    }
    let (names, limits) = names_and_limits(order, routes);
    let parameters = [(&names as _, Type::TEXT_ARRAY), (&limits as _, Type::INT8_ARRAY)];
    let found = connection.query_typed(include_str!("claim_due.sql"), &parameters).await?;
    read_due(&found, routes)
}

/// The same of those that became due lately.
async fn due_since(
    connection: &impl GenericClient,
    order: &ClaimOrder,
    since: &[(usize, &Since)],
) -> Result<Vec<Due<Timestamp>>, Failed> {
    if since.is_empty() {
        return Ok(Vec::new());
    }
    let routes: Vec<usize> = since.iter().map(|(n, _)| *n).collect();
    let (names, limits) = names_and_limits(order, &routes);
    let ages: Vec<f64> = since.iter().map(|(_, since)| since.age()).collect();
    let groups = || since.iter().flat_map(|(n, since)| since.groups.iter().map(move |g| (*n, g)));
    let of_routes: Vec<&str> = groups().map(|(n, _)| &*order.routes[n].name).collect();
    let priorities: Vec<i16> =
        groups().map(|(_, ((priority, _), _))| i16::try_from(*priority).unwrap_or(0)).collect();
    let sources: Vec<&str> = groups().map(|(_, ((_, source), _))| &**source).collect();
    let sinces: Vec<Time> = groups().map(|(_, (_, since))| Time(*since)).collect();
    let parameters = [
        (&names as _, Type::TEXT_ARRAY),
        (&limits as _, Type::INT8_ARRAY),
        (&ages as _, Type::FLOAT8_ARRAY),
        (&of_routes as _, Type::TEXT_ARRAY),
        (&priorities as _, Type::INT2_ARRAY),
        (&sources as _, Type::TEXT_ARRAY),
        (&sinces as _, Type::TIMESTAMPTZ_ARRAY),
    ];
    let found = connection.query_typed(include_str!("claim_due_since.sql"), &parameters).await?;
    read_due(&found, &routes)
}

fn names_and_limits<'a>(order: &'a ClaimOrder, routes: &[usize]) -> (Vec<&'a str>, Vec<i64>) {
    let most = |limit: usize| i64::try_from(limit.min(order.limit)).unwrap_or(i64::MAX);
    let routes = routes.iter().map(|n| &order.routes[*n]);
    routes.map(|route| (&*route.name, most(route.limit))).unzip()
}

fn read_due(found: &[Row], routes: &[usize]) -> Result<Vec<Due<Timestamp>>, Failed> {
    let mut due = Vec::new();
    for row in found {
        let route = routes[usize::try_from(row.try_get::<_, i64>(0)?).unwrap_or(1) - 1];
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
    front: &Front,
    token: Token,
    lease: Duration,
    limit: usize,
) -> Result<Vec<Claim>, StoreError> {
    let began = Instant::now();
    let (since, until) = front.leases().unzip();
    let reaped = reap_since(pool, since, token, lease, limit).await;
    match &reaped {
        Ok(reaped) if reaped.len() == limit => front.left_leases(),
        Err(_) => {}
        Ok(_) => front.looked_at_leases(until, began),
    }
    reaped
}

/// Takes over claims that lapsed in these last seconds, or ever.
async fn reap_since(
    pool: &Pool,
    since: Option<f64>,
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
        let parameters = [
            (&uuid as _, Type::UUID),
            (&lease as _, Type::FLOAT8),
            (&limit as _, Type::INT8),
            (&since as _, Type::FLOAT8),
        ];
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
