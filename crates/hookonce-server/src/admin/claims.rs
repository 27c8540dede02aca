//! Work for workers outside: claiming the tasks of external routes, and everything after a claim.
//!
//! A claim is proven by its token alone, as within the server; a worker that lost it writes nothing.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use hookonce::event::EventId;
use hookonce::retry::{self, Trial};
use hookonce::route::Route;
use hookonce::step::Failure;
use hookonce::store::{ClaimOrder, ClaimRoute, EventSummary, Release, StoreError};
use hookonce::task::{Claim, Outcome, StepState, TaskId, Token};
use hookonce::telemetry;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::call::{Asked, Body, Done, Shown};
use super::events;
use super::problem::Problem;
use crate::config::Period;

/// How many steps a task remembers, and how long the result of one may be: all of them come with each
/// claim.
const STEPS_LIMIT: usize = 64;
const RESULT_LIMIT: usize = 16 << 10;
/// How many tasks are claimed at once, unless it is said, and at most.
const CLAIMS: usize = 10;
const CLAIMS_LIMIT: usize = 100;
/// The shortest and the longest lease.
const LEASES: (Period, Period) = (Period::seconds(1), Period::days(1));
/// The longest time that a task may be asked to wait.
const AFTER_LIMIT: Period = Period::days(30);
/// The longest name of a worker or a step, in characters.
const NAME_LIMIT: usize = 128;

/// What a worker asks for.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct ClaimInput {
    /// Routes of the token, whose tasks are wanted.
    routes: Vec<String>,
    /// How many tasks at most: 10 unless it is said, and no more than 100.
    #[schemars(range(min = 1, max = 100))]
    limit: Option<usize>,
    /// How long the claims last unless they are extended, such as `60s`: from `1s` to `24h`. The
    /// route's own lease where it is not given.
    #[schemars(with = "Option<String>")]
    lease: Option<Period>,
    /// Who asks, as attempts show it: up to 128 printable characters. The name of the token where it
    /// is not given.
    worker: Option<String>,
}

/// What was claimed.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Claims")]
pub(super) struct ClaimsAnswer {
    /// Claims to be finished, extended or released, each by itself. Empty where nothing is due.
    claims: Vec<ClaimAnswer>,
}

/// A worker's right to one task until its lease ends.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Claim")]
struct ClaimAnswer {
    /// The event's id.
    id: EventId,
    /// The route that the task is of.
    route: Arc<str>,
    /// Proves the claim; every call about it names this.
    token: String,
    /// Number of claims that the task ever had, this one included.
    epoch: u32,
    /// Number of this attempt, from 1.
    attempt: u32,
    /// When the claim ends unless it is extended.
    #[schemars(with = "String", extend("format" = "date-time"))]
    lease_until: Timestamp,
    /// The event to be handled.
    event: EventToHandle,
    /// The steps that are done, by name, each with its result: don't do them again.
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    steps: BTreeMap<String, Box<RawValue>>,
}

/// An event with its payload.
#[derive(Debug, Serialize, JsonSchema)]
struct EventToHandle {
    #[serde(flatten)]
    summary: EventSummary,
    /// The text as received.
    payload: Option<String>,
}

/// How an attempt ends.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(tag = "outcome", rename_all = "lowercase", deny_unknown_fields)]
pub(super) enum FinishInput {
    /// It is done.
    Completed {
        /// The claim's token.
        token: String,
    },
    /// It failed and is due again; dead if it was the last attempt.
    Retry {
        /// The claim's token.
        token: String,
        /// Why it failed.
        error: String,
        /// How long to wait, such as `30s`, at most `30d`. The route's policy decides where it is
        /// not given.
        #[schemars(with = "Option<String>")]
        after: Option<Period>,
    },
    /// It can never succeed.
    Dead {
        /// The claim's token.
        token: String,
        /// Why it failed.
        error: String,
    },
}

/// How long a claim is to last from now on.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct ExtendInput {
    /// The claim's token.
    token: String,
    /// For how long from now, such as `60s`: from `1s` to `24h`. The route's own lease where it is
    /// not given.
    #[schemars(with = "Option<String>")]
    lease: Option<Period>,
}

/// When a claim that is given back is due again.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct ReleaseInput {
    /// The claim's token.
    token: String,
    /// How long to wait, such as `30s`, at most `30d`. At once where it is not given.
    #[schemars(with = "Option<String>")]
    after: Option<Period>,
}

/// A step that is done.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct StepInput {
    /// The claim's token.
    token: String,
    /// What it gave, if anything, in up to 16 KiB: it comes with the next claim of the task, as do the
    /// results of up to 64 steps.
    #[schemars(with = "Option<serde_json::Value>")]
    result: Option<Box<RawValue>>,
}

/// Claims due tasks.
pub(super) async fn claim(
    asked: Asked,
    Body(input): Body<ClaimInput>,
) -> Result<Shown<ClaimsAnswer>, Problem> {
    let limit = input.limit.unwrap_or(CLAIMS);
    if !(1..=CLAIMS_LIMIT).contains(&limit) {
        return Err(Problem::bad_member(
            "limit",
            format!("write a number from 1 to {CLAIMS_LIMIT}"),
        ));
    }
    if input.routes.is_empty() {
        return Err(Problem::bad_member("routes", "name at least one"));
    }
    let worker = input.worker.unwrap_or_else(|| asked.caller.name.clone());
    check_name("worker", &worker)?;
    let mut routes = Vec::new();
    for name in &input.routes {
        let route = route(&asked, name)?;
        let lease = leased(input.lease, route)?;
        routes.push(ClaimRoute { name: route.name.clone(), lease, limit, reserve: 0 });
    }
    // An eighth of all claims, over many calls where one call asks for fewer than that.
    let reserve = limit / 8 + usize::from(fastrand::usize(..8) < limit % 8);
    let token = Token::draw();
    let order = ClaimOrder { token, worker: worker.into(), routes, limit, reserve };
    let mut claims = Vec::new();
    for claim in asked.store.claim(order).await? {
        match too_old(&asked, &claim) {
            // Nobody is given what is no longer worth trying.
            Some(dead) => asked.store.finish(&claim, &dead).await.or_else(|error| match error {
                StoreError::Lost => Ok(()),
                error => Err(error),
            })?,
            None => claims.push(claim),
        }
    }
    match show(&asked, &claims).await {
        Ok(claims) => Ok(Shown(ClaimsAnswer { claims })),
        Err(problem) => {
            // Nobody would know of them until they lapse.
            for claim in &claims {
                let _ = asked.store.release(claim, Release::at_once()).await;
            }
            Err(problem)
        }
    }
}

/// How a task ends that is older than its route wants to try.
fn too_old(asked: &Asked, claim: &Claim) -> Option<Outcome> {
    let policy = &asked.settings.external(&claim.route)?.retry;
    let (attempt, max_attempts) = (claim.attempt, claim.max_attempts);
    let trial = Trial { attempt, max_attempts, age: claim.age() };
    retry::too_old(policy, trial, Duration::ZERO, "it waited too long")
}

/// Ends an attempt.
pub(super) async fn finish(asked: Asked, Body(input): Body<FinishInput>) -> Result<Done, Problem> {
    let (FinishInput::Completed { token }
    | FinishInput::Retry { token, .. }
    | FinishInput::Dead { token, .. }) = &input;
    let claim = claimed(&asked, token).await?;
    let route = route(&asked, &claim.route)?;
    let trial = trial(&asked, &claim).await?;
    let decide = |failure| retry::outcome(&route.retry, trial, failure, fastrand::f64());
    let outcome = match input {
        FinishInput::Completed { .. } => Outcome::Completed,
        FinishInput::Dead { error, .. } => decide(Failure::Permanent(error)),
        FinishInput::Retry { error, after, .. } => match waiting(after)? {
            Some(after) if trial.attempt < trial.max_attempts => {
                let dead = retry::too_old(&route.retry, trial, after, &error);
                dead.unwrap_or(Outcome::Retry { after, error })
            }
            _ => decide(Failure::transient(error)),
        },
    };
    asked.store.finish(&claim, &outcome).await.map_err(|error| unwritten(&claim, error))?;
    telemetry::attempt_ended(&claim, &outcome, trial.age.saturating_sub(claim.age()));
    Ok(Done)
}

/// What the attempt is, by the store's clock.
async fn trial(asked: &Asked, claim: &Claim) -> Result<Trial, Problem> {
    let running = asked.store.now().await?.duration_since(claim.claimed_at);
    let age = claim.age() + Duration::try_from(running).unwrap_or_default();
    Ok(Trial { attempt: claim.attempt, max_attempts: claim.max_attempts, age })
}

/// Lets a claim end later.
pub(super) async fn extend(asked: Asked, Body(input): Body<ExtendInput>) -> Result<Done, Problem> {
    let claim = claimed(&asked, &input.token).await?;
    let lease = leased(input.lease, route(&asked, &claim.route)?)?;
    asked.store.extend(&claim, lease).await.map_err(|error| unwritten(&claim, error))?;
    Ok(Done)
}

/// Gives a claim back.
pub(super) async fn release(
    asked: Asked,
    Body(input): Body<ReleaseInput>,
) -> Result<Done, Problem> {
    let after = waiting(input.after)?.unwrap_or_default();
    let claim = claimed(&asked, &input.token).await?;
    let trial = trial(&asked, &claim).await?;
    // A worker may be gone that gave it back, and its route with it.
    let policy = route(&asked, &claim.route).map_or_else(|_| None, |route| Some(&route.retry));
    let dead = policy.and_then(|policy| retry::too_old(policy, trial, after, "given back"));
    let written = match &dead {
        Some(dead) => asked.store.finish(&claim, dead).await,
        None => asked.store.release(&claim, Release::Unstarted { after, error: None }).await,
    };
    written.map_err(|error| unwritten(&claim, error))?;
    telemetry::released(&claim, "given back by its worker");
    Ok(Done)
}

/// Remembers that a step is done.
pub(super) async fn record_step(
    asked: Asked,
    Body(input): Body<StepInput>,
) -> Result<Done, Problem> {
    let name = asked.part("name");
    check_name("name", name)?;
    let claim = claimed(&asked, &input.token).await?;
    let result = input.result.as_deref().map(RawValue::get);
    if result.is_some_and(|result| result.len() > RESULT_LIMIT) {
        let what = format!("it is longer than {} KiB; keep it elsewhere", RESULT_LIMIT >> 10);
        return Err(Problem::bad_member("result", what));
    }
    if claim.steps.len() >= STEPS_LIMIT && !claim.steps.contains_key(name) {
        let what = format!("a task remembers {STEPS_LIMIT} steps, and has them");
        return Err(Problem::bad_member("name", what));
    }
    let recorded = asked.store.record_step(&claim, name, StepState::Done, result).await;
    recorded.map_err(|error| unwritten(&claim, error))?;
    Ok(Done)
}

/// The route of this name, if the caller may claim its tasks.
fn route<'a>(asked: &'a Asked, name: &str) -> Result<&'a Route, Problem> {
    if !asked.caller.sees(name) {
        return Err(Problem::forbidden(format!(
            "the route `{name}` is not among those of the token"
        )));
    }
    asked.settings.external(name).ok_or_else(|| {
        Problem::forbidden(format!("the route `{name}` is not left to workers outside"))
    })
}

/// The claim that the path and a token name.
async fn claimed(asked: &Asked, token: &str) -> Result<Claim, Problem> {
    let event_id = asked.event_id()?;
    let name = &*route(asked, asked.part("route"))?.name;
    let bytes: Option<[u8; 16]> = hex::decode(token).ok().and_then(|bytes| bytes.try_into().ok());
    let token = bytes.map(Token::from_bytes).ok_or_else(|| {
        Problem::bad_member("token", "give that of the claim: 32 digits from 0 to f")
    })?;
    let task = TaskId { event_id, route: name.into() };
    match asked.store.claimed(&task, token).await {
        Err(StoreError::Lost) => {
            let details = asked.store.get(event_id).await?;
            let mut tasks = details.iter().flat_map(|details| &details.summary.tasks);
            if tasks.any(|task| task.route == name) {
                telemetry::claim_lost(&task);
                return Err(Problem::lost());
            }
            let detail = format!("the event `{event_id}` has no task of the route `{name}`");
            Err(Problem::not_found(detail))
        }
        claimed => Ok(claimed?),
    }
}

fn unwritten(claim: &Claim, error: StoreError) -> Problem {
    if matches!(error, StoreError::Lost) {
        telemetry::claim_lost(&claim.task());
    }
    error.into()
}

/// Claims as their worker is shown them.
async fn show(asked: &Asked, claims: &[Claim]) -> Result<Vec<ClaimAnswer>, Problem> {
    let mut shown = Vec::with_capacity(claims.len());
    for claim in claims {
        let id = claim.event.id;
        // A claimed task keeps its event.
        let details = asked.store.get(id).await?.ok_or_else(Problem::lost)?;
        let mut summary = details.summary;
        events::restrict(&asked.caller, &mut summary);
        let done = claim.steps.iter().filter(|(_, (state, _))| *state == StepState::Done);
        let steps = done.map(|(name, (_, result))| (name.clone(), value(result.as_deref())));
        shown.push(ClaimAnswer {
            id,
            route: claim.route.clone(),
            token: hex::encode(claim.token.as_bytes()),
            epoch: claim.epoch,
            attempt: claim.attempt,
            lease_until: claim.lease_until,
            event: EventToHandle { summary, payload: claim.event.payload.clone() },
            steps: steps.collect(),
        });
    }
    Ok(shown)
}

/// A step's result as JSON: what a worker outside recorded is, what a step of ours gave is text.
fn value(result: Option<&str>) -> Box<RawValue> {
    let Some(result) = result else { return RawValue::NULL.to_owned() };
    let value = serde_json::from_str(result).or_else(|_| serde_json::value::to_raw_value(result));
    value.unwrap_or_else(|_| RawValue::NULL.to_owned())
}

fn leased(asked: Option<Period>, route: &Route) -> Result<Duration, Problem> {
    let (shortest, longest) = LEASES;
    match asked {
        None => Ok(route.lease),
        Some(lease) if (shortest..=longest).contains(&lease) => Ok(lease.get()),
        Some(_) => Err(Problem::bad_member("lease", "write a time from `1s` to `24h`")),
    }
}

fn waiting(after: Option<Period>) -> Result<Option<Duration>, Problem> {
    match after {
        Some(after) if after > AFTER_LIMIT => {
            Err(Problem::bad_member("after", format!("write at most `{AFTER_LIMIT}`")))
        }
        after => Ok(after.map(Period::get)),
    }
}

fn check_name(member: &str, name: &str) -> Result<(), Problem> {
    let count = name.chars().count();
    if (1..=NAME_LIMIT).contains(&count) && !name.chars().any(char::is_control) {
        return Ok(());
    }
    Err(Problem::bad_member(member, format!("write 1 to {NAME_LIMIT} printable characters")))
}
