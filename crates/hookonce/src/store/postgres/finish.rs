//! Every write after a claim, each of them only while the claim's token holds.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_postgres::types::Type;
use tokio_postgres::{GenericClient, Row};
use uuid::Uuid;

use super::address::{SILENCE, WAIT};
use super::error::{Failed, Tries, again};
use super::pool::{Pool, Typed};
use super::rows;
use crate::store::batch::{Ask, Batcher, Pace};
use crate::store::{ERROR_LIMIT, Release, StoreError};
use crate::task::{Claim, DeadLane, Outcome, StepState};

/// How many batches of outcomes are in flight.
const WIDTH: usize = 2;

/// How a claim ends.
pub(super) struct Ending {
    pub(super) seq: i64,
    pub(super) route: String,
    epoch: u32,
    token: Uuid,
    outcome: &'static str,
    error: Option<String>,
    after: f64,
    holds: bool,
    reaped: bool,
    passes_lane: bool,
}

impl Ending {
    pub(super) fn new(claim: &Claim, outcome: &Outcome) -> Self {
        let after = match outcome {
            Outcome::Retry { after, .. } => rows::seconds(*after),
            Outcome::Completed | Outcome::Dead { .. } => 0.0,
        };
        let holds = matches!(outcome, Outcome::Dead { lane: DeadLane::Hold, .. });
        let is_retry = matches!(outcome, Outcome::Retry { .. });
        Self {
            seq: claim.event.seq,
            route: claim.route.to_string(),
            epoch: claim.epoch,
            token: rows::token(claim.token),
            outcome: outcome.as_str(),
            error: outcome.error().map(shortened),
            after,
            holds,
            reaped: claim.reaped,
            passes_lane: claim.event.lane.is_some() && !is_retry && !holds,
        }
    }
}

/// How a claim was to end, in order to find out whether it did.
struct End<'a> {
    seq: i64,
    route: &'a str,
    epoch: u32,
    /// The word for it in the history; nothing where it is not written down.
    outcome: Option<&'static str>,
    reaped: bool,
}

impl Ending {
    fn end(&self) -> End<'_> {
        let Self { seq, epoch, outcome, reaped, .. } = *self;
        End { seq, route: &self.route, epoch, outcome: Some(outcome), reaped }
    }
}

/// Gives those that have ended so.
async fn ended(
    ends: &[End<'_>],
    connection: &impl GenericClient,
) -> Result<HashSet<(i64, String)>, Failed> {
    let seqs: Vec<i64> = ends.iter().map(|end| end.seq).collect();
    let routes: Vec<&str> = ends.iter().map(|end| end.route).collect();
    let epochs: Vec<i32> =
        ends.iter().map(|end| i32::try_from(end.epoch).unwrap_or(i32::MAX)).collect();
    let outcomes: Vec<Option<&str>> = ends.iter().map(|end| end.outcome).collect();
    let reaped: Vec<bool> = ends.iter().map(|end| end.reaped).collect();
    let parameters: [Typed<'_>; 5] = [
        (&seqs, Type::INT8_ARRAY),
        (&routes, Type::TEXT_ARRAY),
        (&epochs, Type::INT4_ARRAY),
        (&outcomes, Type::TEXT_ARRAY),
        (&reaped, Type::BOOL_ARRAY),
    ];
    tasks(&connection.query_typed(include_str!("ended.sql"), &parameters).await?)
}

/// Starts what writes outcomes.
pub(super) fn start_finishes(
    running: &mut JoinSet<()>,
    pool: &Arc<Pool>,
    due: &Arc<Notify>,
) -> Batcher<Ending, ()> {
    let apart = {
        let (pool, due) = (pool.clone(), due.clone());
        Batcher::start(running, Pace::of(WIDTH), move |batch: Vec<Ask<Ending, ()>>| {
            let (pool, due) = (pool.clone(), due.clone());
            async move {
                let mut tries = Tries::default();
                let mut locked = batch;
                while !locked.is_empty() && tries.next().await {
                    locked = finish_all(&pool, &due, locked).await;
                }
                tell_locked(locked);
            }
        })
    };
    let (pool, due, apart) = (pool.clone(), due.clone(), Arc::new(apart));
    Batcher::start(running, Pace::of(WIDTH), move |batch: Vec<Ask<Ending, ()>>| {
        let (pool, due, apart) = (pool.clone(), due.clone(), apart.clone());
        async move {
            for ask in finish_all(&pool, &due, batch).await {
                apart.pass(ask);
            }
        }
    })
}

/// Writes how claims end, and gives back those whose tasks are locked.
async fn finish_all(
    pool: &Pool,
    due: &Notify,
    batch: Vec<Ask<Ending, ()>>,
) -> Vec<Ask<Ending, ()>> {
    let passes_lane = batch.iter().any(|ask| ask.what.passes_lane);
    let endings: Vec<&Ending> = batch.iter().map(|ask| &ask.what).collect();
    let mut is_repeated = false;
    let finished = again!({
        let connection = pool.get().await?;
        let is_repeated = std::mem::replace(&mut is_repeated, true);
        let write = async {
            let mut held = finish(&endings, &**connection).await?;
            if is_repeated && held.len() < endings.len() {
                // An answer may have been lost, and not the claim. What had to be waited for is seen now.
                let ends: Vec<End<'_>> = endings.iter().map(|ending| ending.end()).collect();
                let ended = ended(&ends, &**connection).await?;
                held.extend(ended.into_iter().map(|task| (task, true)));
            }
            Ok(held)
        };
        connection.within(SILENCE, write).await
    });
    let locked = tell(batch, finished, |ending| (ending.seq, ending.route.clone()));
    if passes_lane {
        due.notify_one();
    }
    locked
}

/// The tasks whose tokens hold, and whether what was asked for was done. Where it was not, somebody's open
/// transaction has locked the task.
type Held = HashMap<(i64, String), bool>;

/// Writes how claims end, and gives those whose tokens held.
pub(super) async fn finish(
    endings: &[&Ending],
    connection: &impl GenericClient,
) -> Result<Held, Failed> {
    let seqs: Vec<i64> = endings.iter().map(|ending| ending.seq).collect();
    let routes: Vec<&str> = endings.iter().map(|ending| &*ending.route).collect();
    let tokens: Vec<Uuid> = endings.iter().map(|ending| ending.token).collect();
    let outcomes: Vec<&str> = endings.iter().map(|ending| ending.outcome).collect();
    let errors: Vec<Option<&str>> = endings.iter().map(|ending| ending.error.as_deref()).collect();
    let after: Vec<f64> = endings.iter().map(|ending| ending.after).collect();
    let holds: Vec<bool> = endings.iter().map(|ending| ending.holds).collect();
    let reaped: Vec<bool> = endings.iter().map(|ending| ending.reaped).collect();
    let parameters: [Typed<'_>; 8] = [
        (&seqs, Type::INT8_ARRAY),
        (&routes, Type::TEXT_ARRAY),
        (&tokens, Type::UUID_ARRAY),
        (&outcomes, Type::TEXT_ARRAY),
        (&errors, Type::TEXT_ARRAY),
        (&after, Type::FLOAT8_ARRAY),
        (&holds, Type::BOOL_ARRAY),
        (&reaped, Type::BOOL_ARRAY),
    ];
    held_tasks(&connection.query_typed(include_str!("finish.sql"), &parameters).await?)
}

/// Starts what extends leases, on a connection of its own.
pub(super) fn start_extends(running: &mut JoinSet<()>, pool: &Arc<Pool>) -> Batcher<Extension, ()> {
    let apart = {
        let pool = pool.clone();
        Batcher::start(running, Pace::of(1), move |batch: Vec<Ask<Extension, ()>>| {
            let pool = pool.clone();
            async move {
                let mut tries = Tries::default();
                let mut locked = batch;
                while !locked.is_empty() && tries.next().await {
                    locked = extend_all(&pool, locked).await;
                }
                tell_locked(locked);
            }
        })
    };
    let (pool, apart) = (pool.clone(), Arc::new(apart));
    Batcher::start(running, Pace::of(1), move |batch: Vec<Ask<Extension, ()>>| {
        let (pool, apart) = (pool.clone(), apart.clone());
        async move {
            for ask in extend_all(&pool, batch).await {
                apart.pass(ask);
            }
        }
    })
}

/// A claim, and for how long it is to hold from now.
type Extension = (Claim, Duration);

/// Extends leases, and gives back those whose tasks are locked.
async fn extend_all(pool: &Pool, batch: Vec<Ask<Extension, ()>>) -> Vec<Ask<Extension, ()>> {
    let extended = again!(extend(pool, &batch).await);
    tell(batch, extended, |(claim, _)| (claim.event.seq, claim.route.to_string()))
}

async fn extend(pool: &Pool, batch: &[Ask<Extension, ()>]) -> Result<Held, Failed> {
    let claims = || batch.iter().map(|ask| &ask.what);
    let seqs: Vec<i64> = claims().map(|(claim, _)| claim.event.seq).collect();
    let routes: Vec<&str> = claims().map(|(claim, _)| &*claim.route).collect();
    let tokens: Vec<Uuid> = claims().map(|(claim, _)| rows::token(claim.token)).collect();
    let leases: Vec<f64> = claims().map(|(_, lease)| rows::seconds(*lease)).collect();
    let parameters: [Typed<'_>; 4] = [
        (&seqs, Type::INT8_ARRAY),
        (&routes, Type::TEXT_ARRAY),
        (&tokens, Type::UUID_ARRAY),
        (&leases, Type::FLOAT8_ARRAY),
    ];
    let connection = pool.for_leases().await?;
    // All leases wait for this: it must not take long to find out that no answer comes.
    let asked = connection.query_typed(include_str!("extend.sql"), &parameters);
    held_tasks(&connection.within(WAIT, asked).await?)
}

/// Tells everybody who asked whether their token held, and gives back those whose tasks are locked: most
/// only for the moment in which somebody else claims and looks at a task as it was before.
fn tell<T>(
    batch: Vec<Ask<T, ()>>,
    held: Result<Held, StoreError>,
    task: impl Fn(&T) -> (i64, String),
) -> Vec<Ask<T, ()>> {
    let held = match held {
        Ok(held) => held,
        Err(error) => {
            let message = error.to_string();
            for ask in batch {
                ask.answer(Err(StoreError::unavailable(message.clone())));
            }
            return Vec::new();
        }
    };
    let mut locked = Vec::new();
    for ask in batch {
        match held.get(&task(&ask.what)) {
            Some(true) => ask.answer(Ok(())),
            Some(false) => locked.push(ask),
            None => ask.answer(Err(StoreError::Lost)),
        }
    }
    locked
}

/// Tells those who asked that their tasks stay locked.
fn tell_locked<T>(locked: Vec<Ask<T, ()>>) {
    for ask in locked {
        ask.answer(Err(StoreError::unavailable(
            "somebody's open transaction holds the task: it is written once that has ended",
        )));
    }
}

fn tasks(found: &[Row]) -> Result<HashSet<(i64, String)>, Failed> {
    let task = |row: &Row| Ok((row.try_get(0)?, row.try_get(1)?));
    found.iter().map(task).collect::<Result<_, tokio_postgres::Error>>().map_err(Failed::from)
}

fn held_tasks(found: &[Row]) -> Result<Held, Failed> {
    let task = |row: &Row| Ok(((row.try_get(0)?, row.try_get(1)?), row.try_get(2)?));
    found.iter().map(task).collect::<Result<_, tokio_postgres::Error>>().map_err(Failed::from)
}

/// Remembers how far a step has come.
pub(super) async fn record_step(
    pool: &Pool,
    claim: &Claim,
    name: &str,
    state: StepState,
    result: Option<&str>,
) -> Result<(), StoreError> {
    let (seq, route, token) = (claim.event.seq, &*claim.route, rows::token(claim.token));
    let state = state.as_str();
    let parameters: [Typed<'_>; 6] = [
        (&seq, Type::INT8),
        (&route, Type::TEXT),
        (&token, Type::UUID),
        (&name, Type::TEXT),
        (&state, Type::TEXT),
        (&result, Type::TEXT),
    ];
    held(&again!(pool.query(include_str!("record_step.sql"), &parameters).await)?)
}

/// Gives a claim back.
pub(super) async fn release(
    pool: &Pool,
    claim: &Claim,
    release: &Release,
) -> Result<(), StoreError> {
    let (after, error, has_run) = match release {
        Release::Unstarted { after, error } => (after, error.as_deref().map(shortened), false),
        Release::NotYet { after, error } => (after, Some(shortened(error)), true),
    };
    let (seq, route, token) = (claim.event.seq, &*claim.route, rows::token(claim.token));
    let after = rows::seconds(*after);
    let parameters: [Typed<'_>; 6] = [
        (&seq, Type::INT8),
        (&route, Type::TEXT),
        (&token, Type::UUID),
        (&after, Type::FLOAT8),
        (&error, Type::TEXT),
        (&has_run, Type::BOOL),
    ];
    let outcome = has_run.then_some("released");
    let end = End { seq, route, epoch: claim.epoch, outcome, reaped: claim.reaped };
    let mut is_repeated = false;
    let is_released = again!({
        let connection = pool.get().await?;
        let is_repeated = std::mem::replace(&mut is_repeated, true);
        let held = connection.query_typed(include_str!("release.sql"), &parameters).await?;
        let ends = std::slice::from_ref(&end);
        Ok(!held.is_empty() || is_repeated && !ended(ends, &**connection).await?.is_empty())
    });
    if is_released? { Ok(()) } else { Err(StoreError::Lost) }
}

fn held(changed: &[Row]) -> Result<(), StoreError> {
    if changed.is_empty() { Err(StoreError::Lost) } else { Ok(()) }
}

/// An error's text as it is kept: cut between characters, without what no text of the server's holds.
fn shortened(text: &str) -> String {
    let end = (0..=ERROR_LIMIT.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    text[..end.unwrap_or_default()].replace('\0', "\u{fffd}")
}
