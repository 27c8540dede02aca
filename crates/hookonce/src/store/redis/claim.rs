//! Claiming: what is due, by priority and age, round robin over sources, of every scope.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::future::join_all;
use futures_util::stream::FuturesUnordered;
use serde::Serialize;
use tokio::time::{Instant, timeout_at};

use super::insert::millis;
use super::rows::{self, Row, strange};
use super::scope::{Apart, Ask, Scopes};
use super::script::{CLAIM, CLAIMED, DUE, REAP};
use crate::store::pick::{Due, Turn, pick};
use crate::store::{ClaimOrder, StoreError};
use crate::task::{Claim, TaskId, Token};

/// Of each scope: how many tasks this token has claimed before, and the due ones by queue, each with its
/// time behind it.
type DueOfScope = (usize, Vec<(String, Vec<String>)>);

#[derive(Serialize)]
struct AskedDue<'a> {
    token: &'a str,
    routes: Vec<AskedRoute<'a>>,
}

#[derive(Serialize)]
struct AskedRoute<'a> {
    name: &'a str,
    limit: usize,
}

#[derive(Serialize)]
struct AskedClaim<'a> {
    token: &'a str,
    worker: &'a str,
    takes: &'a [Take],
}

/// The oldest task of a queue is to be claimed.
#[derive(Clone, Serialize)]
struct Take {
    queue: Arc<str>,
    lease: i64,
}

#[derive(Serialize)]
struct AskedReap<'a> {
    token: &'a str,
    lease: i64,
    limit: usize,
    error: &'static str,
}

/// How often a claim looks anew for what is due after others have taken all that it had found.
const LOOKS: usize = 8;
/// For how long a scope that gives no answer is waited for once others have.
const GRACE: Duration = Duration::from_millis(100);

/// Claims tasks.
pub(super) async fn claim(
    scopes: &Scopes,
    turn: &Mutex<Turn>,
    order: &ClaimOrder,
) -> Result<Vec<Claim>, StoreError> {
    for _ in 0..LOOKS {
        if let Some(claims) = try_claim(scopes, turn, order).await? {
            return Ok(claims);
        }
    }
    Ok(Vec::new())
}

/// Claims tasks; `None` where others took all that were found.
async fn try_claim(
    scopes: &Scopes,
    turn: &Mutex<Turn>,
    order: &ClaimOrder,
) -> Result<Option<Vec<Claim>>, StoreError> {
    let token = hex::encode(order.token.as_bytes());
    let limit = |limit: usize| limit.min(order.limit);
    let routes = order.routes.iter();
    let routes = routes.map(|route| AskedRoute { name: &route.name, limit: limit(route.limit) });
    let asked = AskedDue { token: &token, routes: routes.collect() };
    let mut takes = BTreeMap::<Arc<str>, Vec<Take>>::new();
    let (mut queues, mut due) = (Vec::new(), Vec::new());
    for (scope, (claimed, found)) in look(scopes, &asked).await? {
        if claimed > 0 {
            // An earlier call with this token was answered in vain.
            takes.entry(scope.clone()).or_default();
        }
        for (queue, tasks) in found {
            let (priority, route, source): (i64, String, Arc<str>) =
                serde_json::from_str(&queue).map_err(|_| strange())?;
            let Some(route) = order.routes.iter().position(|known| *known.name == *route) else {
                continue;
            };
            for [name, at] in tasks.as_chunks().0 {
                let (source, at, seq) = (source.clone(), milliseconds(at), sequence(name)?);
                let at = (at, seq, route, queues.len());
                due.push(Due { at, seq, route, priority, source });
            }
            let lease = millis(order.routes[route].lease);
            queues.push((scope.clone(), Take { queue: queue.into(), lease }));
        }
    }
    if takes.is_empty() {
        let picked = {
            let mut turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
            pick(due, &mut turn, order)
        };
        // In the order in which they are to be started.
        for Due { at: (_, _, _, queue), .. } in picked {
            let (scope, take) = queues[queue].clone();
            takes.entry(scope).or_default().push(take);
        }
    }
    let mut claims = Vec::new();
    let take = async |(scope, takes): (&Arc<str>, &Vec<Take>)| {
        let asked = AskedClaim { token: &token, worker: &order.worker, takes };
        // It proves its call by the token itself.
        scopes.run::<Vec<Row>, _>(scope, &Ask::reading(&CLAIM, &asked)).await
    };
    let mut apart = Apart::default();
    for rows in join_all(takes.iter().map(take)).await {
        let rows = apart.note(rows).unwrap_or_default();
        claims.extend(read(&rows, order.token, false)?);
    }
    apart.unless(!claims.is_empty())?;
    Ok((takes.is_empty() || !claims.is_empty()).then_some(claims))
}

/// Looks in each scope for what is due. One that can't be asked keeps the others waiting only until they
/// have found something.
async fn look(
    scopes: &Scopes,
    asked: &AskedDue<'_>,
) -> Result<Vec<(Arc<str>, DueOfScope)>, StoreError> {
    let ask = async |scope: Arc<str>| {
        let found: Result<DueOfScope, _> = scopes.run(&scope, &Ask::reading(&DUE, asked)).await;
        (scope, found)
    };
    let mut looks: FuturesUnordered<_> = scopes.all().await?.into_iter().map(ask).collect();
    let (mut looked, mut apart, mut end) = (Vec::new(), Apart::default(), None);
    loop {
        let next = match end {
            None => looks.next().await,
            Some(end) => timeout_at(end, looks.next()).await.unwrap_or_default(),
        };
        let Some((scope, found)) = next else { break };
        if let Some(found) = apart.note(found) {
            if found.0 > 0 || !found.1.is_empty() {
                end.get_or_insert_with(|| Instant::now() + GRACE);
            }
            looked.push((scope, found));
        }
    }
    apart.unless(!looked.is_empty())?;
    Ok(looked)
}

/// Takes lapsed claims over.
pub(super) async fn reap(
    scopes: &Scopes,
    token: Token,
    lease: Duration,
    limit: usize,
) -> Result<Vec<Claim>, StoreError> {
    let (own, lease) = (hex::encode(token.as_bytes()), millis(lease));
    let error = "worker lost: its lease ended before it finished";
    let (mut claims, mut apart) = (Vec::new(), Apart::default());
    for scope in scopes.all().await? {
        let left = limit - claims.len();
        if left == 0 {
            break;
        }
        let asked = AskedReap { token: &own, lease, limit: left, error };
        let rows = scopes.run::<Vec<Row>, _>(&scope, &Ask::reading(&REAP, &asked)).await;
        claims.extend(read(&apart.note(rows).unwrap_or_default(), token, true)?);
    }
    apart.unless(!claims.is_empty())?;
    Ok(claims)
}

/// Gives the claim that a token proves, if it does.
pub(super) async fn by_token(
    scopes: &Scopes,
    task: &TaskId,
    token: Token,
) -> Result<Option<Claim>, StoreError> {
    #[derive(Serialize)]
    struct Asked<'a> {
        token: String,
        tasks: [super::steer::Named<'a>; 1],
    }
    let tasks = [super::steer::Named::of(task)];
    let asked = Asked { token: hex::encode(token.as_bytes()), tasks };
    let mut apart = Apart::default();
    for scope in scopes.all().await? {
        let rows = scopes.run::<Vec<Row>, _>(&scope, &Ask::reading(&CLAIMED, &asked)).await;
        let rows = apart.note(rows).unwrap_or_default();
        if let Some(claim) = read(&rows, token, false)?.pop() {
            return Ok(Some(claim));
        }
    }
    apart.unless(false)?;
    Ok(None)
}

fn read(rows: &[Row], token: Token, reaped: bool) -> Result<Vec<Claim>, StoreError> {
    rows.iter().map(|row| rows::claim(row, token, reaped)).collect()
}

/// A score, which is a whole number of milliseconds.
fn milliseconds(score: &str) -> i64 {
    score.parse().unwrap_or_default()
}

/// The number of the event in a task's name.
fn sequence(name: &str) -> Result<i64, StoreError> {
    name.get(..16).and_then(|seq| seq.parse().ok()).ok_or_else(strange)
}
