//! Reading what scripts answer.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};

use crate::event::{Event, EventId, JSON, Priority};
use crate::store::{ArrivalRecord, StoreError};
use crate::task::{Attempt, Claim, State, StepRecord, StepState, Task, Token};

/// A row of texts, of which some are not there.
pub(super) type Row = Vec<Option<String>>;

/// What never changes of an event, as it is kept.
#[derive(Serialize, Deserialize)]
pub(super) struct About<'a> {
    pub(super) key: Cow<'a, str>,
    pub(super) kind: Cow<'a, str>,
    /// JSON where none is named.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub(super) content_type: Option<Cow<'a, str>>,
    pub(super) element: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) weak: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sent: Option<i64>,
    pub(super) received: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) unreadable: Option<Cow<'a, str>>,
}

/// What the scripts need of an event, as they keep it.
#[derive(Deserialize)]
pub(super) struct StoredState {
    seq: String,
    source: String,
    priority: i64,
    lane: Option<String>,
    #[serde(deserialize_with = "list")]
    pub(super) routes: Vec<String>,
}

/// A task as it is kept.
#[derive(Deserialize)]
pub(super) struct StoredTask {
    state: String,
    #[serde(default)]
    attempt: u32,
    max: u32,
    #[serde(default = "first_run")]
    run: u32,
    #[serde(default)]
    epoch: u32,
    due: Option<i64>,
    lease: Option<i64>,
    claimed: Option<i64>,
    finished: Option<i64>,
    replayed: Option<i64>,
    worker: Option<String>,
    error: Option<String>,
    first: Option<String>,
}

fn first_run() -> u32 {
    1
}

#[derive(Deserialize)]
struct StoredAttempt {
    epoch: u32,
    run: u32,
    attempt: u32,
    worker: String,
    started: i64,
    ended: i64,
    outcome: String,
    error: Option<String>,
}

#[derive(Deserialize)]
struct StoredStep {
    run: u32,
    name: String,
    state: String,
    result: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct StoredArrival {
    pub(super) at: i64,
    pub(super) n: u64,
    #[serde(default)]
    pub(super) mismatch: bool,
    pub(super) element: Option<String>,
}

/// Makes an event of what is kept of it.
pub(super) fn event(
    id: &str,
    about: About<'_>,
    state: StoredState,
    payload: Option<String>,
) -> Result<Event, StoreError> {
    Ok(Event {
        id: id_of(id)?,
        seq: number(Some(&state.seq))?,
        source: state.source,
        key: about.key.into_owned(),
        kind: about.kind.into_owned(),
        lane: state.lane,
        priority: Priority::from_number(state.priority),
        content_type: about.content_type.map_or_else(|| JSON.to_owned(), Cow::into_owned),
        element: about.element.into_owned(),
        weak_key: about.weak,
        sent_at: about.sent.map(time).transpose()?,
        received_at: time(about.received)?,
        payload,
    })
}

/// Reads a claim as `claimed` in `task.lua` gives it.
pub(super) fn claim(row: &Row, token: Token, reaped: bool) -> Result<Claim, StoreError> {
    let [id, route, payload, fields @ ..] = &row[..] else { return Err(strange()) };
    let [about, state, task, steps] = fields else { return Err(strange()) };
    let (about, state) = (json(about.as_deref())?, json(state.as_deref())?);
    let event = event(&text(id.as_deref())?, about, state, payload.clone())?;
    let route: Arc<str> = text(route.as_deref())?.into();
    let task: StoredTask = json(task.as_deref())?;
    let steps = match steps {
        Some(steps) => json::<Vec<StoredStep>>(Some(steps))?,
        None => Vec::new(),
    };
    let of_run = steps.into_iter().filter(|step| step.run == task.run);
    Ok(Claim {
        event: Arc::new(event),
        route,
        token,
        attempt: task.attempt,
        max_attempts: task.max,
        run: task.run,
        epoch: task.epoch,
        claimed_at: time(task.claimed.ok_or_else(strange)?)?,
        lease_until: time(task.lease.ok_or_else(strange)?)?,
        replayed_at: task.replayed.map(time).transpose()?,
        first_route: task.first.map(Arc::from),
        steps: of_run.map(|step| (step.name, (state_of(&step.state), step.result))).collect(),
        reaped,
    })
}

/// Reads a task of this route.
pub(super) fn task(route: &str, stored: StoredTask) -> Result<Task, StoreError> {
    Ok(Task {
        route: route.to_owned(),
        state: State::from_word(&stored.state).ok_or_else(strange)?,
        attempt: stored.attempt,
        max_attempts: stored.max,
        run: stored.run,
        epoch: stored.epoch,
        due_at: stored.due.map(time).transpose()?,
        lease_until: stored.lease.map(time).transpose()?,
        worker: stored.worker,
        error: stored.error,
        finished_at: stored.finished.map(time).transpose()?,
    })
}

/// Reads the attempts of a task.
pub(super) fn attempts(route: &str, list: Option<&str>) -> Result<Vec<Attempt>, StoreError> {
    let stored = if list.is_some() { json::<Vec<StoredAttempt>>(list)? } else { Vec::new() };
    stored
        .into_iter()
        .map(|attempt| {
            Ok(Attempt {
                route: route.to_owned(),
                epoch: attempt.epoch,
                run: attempt.run,
                attempt: attempt.attempt,
                worker: attempt.worker,
                started_at: time(attempt.started)?,
                ended_at: time(attempt.ended)?,
                outcome: attempt.outcome,
                error: attempt.error,
            })
        })
        .collect()
}

/// Reads the steps of a task, in the order of their runs and names.
pub(super) fn steps(route: &str, list: Option<&str>) -> Result<Vec<StepRecord>, StoreError> {
    let stored = if list.is_some() { json::<Vec<StoredStep>>(list)? } else { Vec::new() };
    let mut sorted = BTreeMap::new();
    for step in stored {
        sorted.insert((step.run, step.name), (state_of(&step.state), step.result));
    }
    Ok(sorted
        .into_iter()
        .map(|((run, name), (state, result))| StepRecord {
            route: route.to_owned(),
            run,
            name,
            state,
            result,
        })
        .collect())
}

/// Reads how often an event arrived after its first time.
pub(super) fn arrivals(list: Option<&str>) -> Result<Vec<StoredArrival>, StoreError> {
    if list.is_some() { json(list) } else { Ok(Vec::new()) }
}

/// Shows arrivals, those before `apart` as one of each sort.
pub(super) fn shown(
    stored: Vec<StoredArrival>,
    apart: i64,
) -> Result<Vec<ArrivalRecord>, StoreError> {
    let mut rows: Vec<StoredArrival> = Vec::new();
    for arrival in stored {
        let is_old = arrival.at < apart && arrival.element.is_none();
        let alike = |row: &&mut StoredArrival| {
            row.at < apart && row.element.is_none() && row.mismatch == arrival.mismatch
        };
        match rows.iter_mut().find(alike).filter(|_| is_old) {
            Some(row) => {
                row.n += arrival.n;
                row.at = row.at.max(arrival.at);
            }
            None => rows.push(arrival),
        }
    }
    let record = |row: StoredArrival| {
        Ok(ArrivalRecord { at: time(row.at)?, n: row.n, element: row.element })
    };
    rows.into_iter().map(record).collect()
}

/// Reads JSON that must be there.
pub(super) fn json<T: for<'a> Deserialize<'a>>(text: Option<&str>) -> Result<T, StoreError> {
    let text = text.ok_or_else(strange)?;
    serde_json::from_str(text).map_err(|_| strange())
}

/// Reads a text that must be there.
pub(super) fn text(text: Option<&str>) -> Result<String, StoreError> {
    text.map(str::to_owned).ok_or_else(strange)
}

/// Reads a number that must be there.
pub(super) fn number(text: Option<&str>) -> Result<i64, StoreError> {
    text.and_then(|text| text.parse().ok()).ok_or_else(strange)
}

/// Reads a time.
pub(super) fn time(millisecond: i64) -> Result<Timestamp, StoreError> {
    Timestamp::from_millisecond(millisecond).map_err(|_| strange())
}

/// Reads a list, which a script writes as an empty object where nothing is in it.
fn list<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        List(Vec<String>),
        Nothing {},
    }
    Ok(match Written::deserialize(from)? {
        Written::List(list) => list,
        Written::Nothing {} => Vec::new(),
    })
}

fn id_of(text: &str) -> Result<EventId, StoreError> {
    let mut id = [0; 16];
    hex::decode_to_slice(text, &mut id).map_err(|_| strange())?;
    Ok(EventId::from_bytes(id))
}

fn state_of(word: &str) -> StepState {
    if word == StepState::Done.as_str() { StepState::Done } else { StepState::Begun }
}

/// What is no answer of ours: somebody else wrote to our keys.
pub(super) fn strange() -> StoreError {
    StoreError::unavailable(
        "Redis holds something that hookonce did not write, under keys that are its own",
    )
}
