//! One handling of one task: its steps in order while its lease is kept, then its outcome.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::time::Instant;

use crate::retry;
use crate::route::Route;
use crate::step::{Failure, Step, StepContext};
use crate::store::{Release, StepDone, Store, StoreError};
use crate::task::{Claim, Outcome, StepState};
use crate::telemetry;

/// How long to wait before a write is tried again that the store could not take.
const WRITE_AGAIN: Duration = Duration::from_millis(200);

/// How the steps of an attempt ended.
enum Ended {
    /// The last step and the completion were one transaction.
    Finished,
    /// The outcome is still to be written.
    With(Outcome),
    /// To be given back: this attempt doesn't count.
    NotYet(Release),
    /// Somebody else has the task.
    Lost,
}

/// Handles a claimed task to its end. `until` is when its lease ends, by this node's own monotonic
/// clock; once it is lost the steps are dropped and nothing more is written.
pub(super) async fn attempt(store: &dyn Store, route: &Route, claim: &Claim, until: Instant) {
    let started = Instant::now();
    let work = async {
        let ended = steps(store, route, claim).await;
        write(store, claim, ended).await
    };
    let ended = tokio::select! {
        biased;
        ended = work => ended,
        () = keep_lease(store, claim, route.lease, until) => Ended::Lost,
    };
    match ended {
        Ended::With(outcome) => telemetry::attempt_ended(claim, &outcome, started.elapsed()),
        Ended::Finished => {
            telemetry::attempt_ended(claim, &Outcome::Completed, started.elapsed());
        }
        Ended::NotYet(_) => telemetry::released(claim, "not yet"),
        Ended::Lost => telemetry::claim_lost(&claim.task()),
    }
}

/// Runs the steps that are not done yet, in order.
async fn steps(store: &dyn Store, route: &Route, claim: &Claim) -> Ended {
    for (n, (name, step)) in route.steps.iter().enumerate() {
        if matches!(claim.steps.get(&**name), Some((StepState::Done, _))) {
            continue;
        }
        let context = StepContext { claim, step: name };
        let last = n + 1 == route.steps.len();
        let failure = match one(store, &**step, &context, last).await {
            Ok(Some(ended)) => return ended,
            Ok(None) => continue,
            Err(failure) => failure,
        };
        if let Failure::NotYet { after, error } = failure {
            return Ended::NotYet(Release::NotYet { after, error });
        }
        let (attempt, max) = (claim.attempt, claim.max_attempts);
        return Ended::With(retry::outcome(&route.retry, attempt, max, failure, fastrand::f64()));
    }
    Ended::With(Outcome::Completed)
}

/// Runs one step and remembers it. The last step needs no record of its own: the task's completion
/// says it.
async fn one(
    store: &dyn Store,
    step: &dyn Step,
    context: &StepContext<'_>,
    last: bool,
) -> Result<Option<Ended>, Failure> {
    let (claim, name) = (context.claim, context.step);
    let statement = std::panic::catch_unwind(AssertUnwindSafe(|| step.statement(context)));
    if let Some(statement) = statement.map_err(|panic| panicked(name, &*panic))? {
        let done = if last { StepDone::Task } else { StepDone::Step(name) };
        return match store.finish_with(claim, done, statement).await {
            Ok(()) => Ok(last.then_some(Ended::Finished)),
            Err(StoreError::Lost) => Ok(Some(Ended::Lost)),
            Err(StoreError::Statement { permanent: true, message }) => {
                Err(Failure::Permanent(format!("step `{name}`: {message}")))
            }
            Err(error) => Err(Failure::transient(format!("step `{name}`: {error}"))),
        };
    }
    let result = match AssertUnwindSafe(step.run(context)).catch_unwind().await {
        Ok(result) => result?,
        Err(panic) => return Err(panicked(name, &*panic)),
    };
    if last {
        return Ok(None);
    }
    loop {
        match store.record_step(claim, name, StepState::Done, result.as_deref()).await {
            Ok(()) => return Ok(None),
            Err(StoreError::Lost) => return Ok(Some(Ended::Lost)),
            Err(error) => write_again(claim, &error).await,
        }
    }
}

/// Writes how the attempt ended, unless that is written or the claim is lost.
async fn write(store: &dyn Store, claim: &Claim, ended: Ended) -> Ended {
    loop {
        let written = match &ended {
            Ended::Finished | Ended::Lost => return ended,
            Ended::With(outcome) => store.finish(claim, outcome).await,
            Ended::NotYet(release) => store.release(claim, release.clone()).await,
        };
        match written {
            Ok(()) => return ended,
            Err(StoreError::Lost) => return Ended::Lost,
            // The lease is kept meanwhile; whoever keeps it decides when there is no use any more.
            Err(error) => write_again(claim, &error).await,
        }
    }
}

async fn write_again(claim: &Claim, error: &StoreError) {
    telemetry::write_failed(claim, error);
    tokio::time::sleep(WRITE_AGAIN).await;
}

/// Extends the lease every third of it; returns once the claim is lost or can't be known to hold.
async fn keep_lease(store: &dyn Store, claim: &Claim, lease: Duration, mut until: Instant) {
    let mut next = until - lease + lease / 3;
    loop {
        tokio::time::sleep_until(next).await;
        let asked_at = Instant::now();
        match tokio::time::timeout_at(until, store.extend(claim, lease)).await {
            Ok(Ok(())) => {
                until = asked_at + lease;
                next = asked_at + lease / 3;
            }
            Ok(Err(StoreError::Lost)) | Err(_) => return,
            Ok(Err(error)) => {
                telemetry::write_failed(claim, &error);
                next = Instant::now() + (lease / 10).min(WRITE_AGAIN);
                if next >= until {
                    return;
                }
            }
        }
    }
}

fn panicked(step: &str, panic: &(dyn std::any::Any + Send)) -> Failure {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let said = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("(no message)");
    Failure::transient(format!("step `{step}` panicked: {said}"))
}
