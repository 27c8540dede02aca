//! One handling of one task: its steps in order while its lease is kept, then its outcome.

use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::time::Instant;

use crate::gate::{Gate, OnUnknown, Place};
use crate::retry::{self, Trial};
use crate::route::Route;
use crate::step::{Done, Failure, StepContext};
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
    Released(Release),
    /// Somebody else has the task.
    Lost,
}

/// The attempt that a claim stands for.
struct Attempt<'a> {
    store: &'a dyn Store,
    route: &'a Route,
    claim: &'a Claim,
    started: Instant,
}

/// Handles a claimed task to its end. `until` is when its lease ends, by this node's own monotonic
/// clock; once it is lost the steps are dropped and nothing more is written. `places` are those
/// behind the gates that it has yet to pass.
pub(super) async fn attempt(
    store: &dyn Store,
    route: &Route,
    claim: &Claim,
    until: Instant,
    places: VecDeque<Place>,
) {
    let started = Instant::now();
    let attempt = Attempt { store, route, claim, started };
    let is_ending = AtomicBool::new(false);
    let mut work = pin!(async {
        let ended = attempt.steps(places).await;
        is_ending.store(true, Ordering::Relaxed);
        write(store, claim, ended).await
    });
    let ended = tokio::select! {
        biased;
        ended = &mut work => ended,
        () = keep_lease(store, claim, route.lease, until) => {
            // Where only the outcome is left to be written, the store says itself whether the token
            // holds; what seems lost may be the finish, just before the extension.
            if is_ending.load(Ordering::Relaxed) { work.await } else { Ended::Lost }
        }
    };
    match ended {
        Ended::With(outcome) => telemetry::attempt_ended(claim, &outcome, started.elapsed()),
        Ended::Finished => {
            telemetry::attempt_ended(claim, &Outcome::Completed, started.elapsed());
        }
        Ended::Released(Release::NotYet { .. }) => telemetry::released(claim, "not yet"),
        Ended::Released(Release::Unstarted { .. }) => telemetry::released(claim, "sink down"),
        Ended::Lost => telemetry::claim_lost(&claim.task()),
    }
}

impl Attempt<'_> {
    /// Runs the steps that are not done yet, in order.
    async fn steps(&self, mut places: VecDeque<Place>) -> Ended {
        let mut has_run = false;
        let waited = "it waited too long";
        if let Some(dead) = retry::too_old(&self.route.retry, self.trial(), Duration::ZERO, waited)
        {
            return Ended::With(dead);
        }
        for (n, gate) in self.route.steps.iter().enumerate() {
            let name = gate.name();
            match self.claim.steps.get(name) {
                Some((StepState::Done, _)) => continue,
                Some((StepState::Begun, _)) if gate.options().on_unknown == OnUnknown::Hold => {
                    return self.unknown(&format!(
                        "step `{name}` was begun, and the worker that ran it never said how it ended"
                    ));
                }
                _ => {}
            }
            // Given back when the step is done.
            let place = places.pop_front();
            let visit = match gate.enter(self.claim.event.id) {
                Ok(visit) => visit,
                Err(after) => {
                    let error = format!("step `{name}` waits: its sink is down");
                    return self.put_off(after, error, has_run);
                }
            };
            if let Some(place) = &place {
                place.wait_for_turn().await;
            }
            let begun = Instant::now();
            let last = n + 1 == self.route.steps.len();
            let result = self.one(gate, last).await;
            let outcome = result.as_ref().map_or_else(Failure::as_str, |_| "done");
            telemetry::step_ended(name, outcome, begun.elapsed());
            match result {
                // Nobody knows: whoever has the task now will find out.
                Ok(Some(Ended::Lost)) => return Ended::Lost,
                Ok(Some(ended)) => {
                    visit.end(None);
                    return ended;
                }
                Ok(None) => {
                    visit.end(None);
                    has_run = true;
                }
                Err(failure) => {
                    let excused = visit.end(Some(&failure));
                    return self.failed(gate, failure, excused);
                }
            }
        }
        Ended::With(Outcome::Completed)
    }

    /// Runs one step and remembers it. The last step needs no record of its own: the task's completion
    /// says it.
    async fn one(&self, gate: &Arc<Gate>, last: bool) -> Result<Option<Ended>, Failure> {
        let (name, step) = (gate.name(), gate.step());
        let context = StepContext { claim: self.claim, step: name };
        let statement = std::panic::catch_unwind(AssertUnwindSafe(|| step.statement(&context)));
        if let Some(statement) = statement.map_err(|panic| panicked(name, &*panic))? {
            let done = if last { StepDone::Task } else { StepDone::Step(name) };
            return match self.store.finish_with(self.claim, done, statement).await {
                Ok(()) => Ok(last.then_some(Ended::Finished)),
                Err(StoreError::Lost) => Ok(Some(Ended::Lost)),
                Err(error) => Err(Failure::of_store(error)),
            };
        }
        let holds = gate.options().on_unknown == OnUnknown::Hold;
        if holds && !self.record(name, StepState::Begun, None).await {
            return Ok(Some(Ended::Lost));
        }
        let result = match AssertUnwindSafe(step.run(&context)).catch_unwind().await {
            Ok(Ok(Done::Task)) => return Ok(Some(Ended::Finished)),
            Ok(Ok(Done::Step(result))) => result,
            Ok(Err(failure)) => return Err(failure),
            Err(panic) => return Err(panicked(name, &*panic)),
        };
        // What was recorded as begun must not be found so again.
        let is_recorded = holds || !last;
        if is_recorded && !self.record(name, StepState::Done, result.as_deref()).await {
            return Ok(Some(Ended::Lost));
        }
        Ok(None)
    }

    /// Remembers how far a step has come; false once the claim is lost.
    async fn record(&self, step: &str, state: StepState, result: Option<&str>) -> bool {
        loop {
            match self.store.record_step(self.claim, step, state, result).await {
                Ok(()) => return true,
                Err(StoreError::Lost) => return false,
                Err(error) => write_again(self.claim, &error).await,
            }
        }
    }

    /// How the attempt ends whose step failed; `excused` says that it is the sink's fault, and when
    /// the task comes again.
    fn failed(&self, gate: &Gate, failure: Failure, excused: Option<Duration>) -> Ended {
        let holds = gate.options().on_unknown == OnUnknown::Hold;
        match (failure, excused) {
            (Failure::Unavailable { error, may_have_happened: true, .. }, _) if holds => {
                self.unknown(&error)
            }
            (Failure::Unknown(error), _) if holds => self.unknown(&error),
            (Failure::NotYet { after, error }, _) => self.put_off(after, error, true),
            (Failure::Unavailable { error, retry_after, .. }, Some(after)) => {
                self.put_off(after.max(retry_after.unwrap_or_default()), error, true)
            }
            (failure, Some(after)) => self.put_off(after, failure.error().to_owned(), true),
            (failure, None) => {
                let policy = &self.route.retry;
                Ended::With(retry::outcome(policy, self.trial(), failure, fastrand::f64()))
            }
        }
    }

    /// Gives the task back, unless it would be too old by then.
    fn put_off(&self, after: Duration, error: String, has_run: bool) -> Ended {
        match retry::too_old(&self.route.retry, self.trial(), after, &error) {
            Some(dead) => Ended::With(dead),
            None if has_run => Ended::Released(Release::NotYet { after, error }),
            None => Ended::Released(Release::Unstarted { after, error: Some(error) }),
        }
    }

    fn unknown(&self, why: &str) -> Ended {
        let error =
            format!("outcome unknown: {why}; see whether it happened, then replay or bury it");
        Ended::With(Outcome::Dead { error, lane: self.route.retry.on_dead })
    }

    fn trial(&self) -> Trial {
        let claim = self.claim;
        let age = claim.age() + self.started.elapsed();
        Trial { attempt: claim.attempt, max_attempts: claim.max_attempts, age }
    }
}

/// Writes how the attempt ended, unless that is written or the claim is lost.
async fn write(store: &dyn Store, claim: &Claim, ended: Ended) -> Ended {
    loop {
        let begun = Instant::now();
        let written = match &ended {
            Ended::Finished | Ended::Lost => return ended,
            Ended::With(outcome) => store.finish(claim, outcome).await,
            Ended::Released(release) => store.release(claim, release.clone()).await,
        };
        match written {
            Ok(()) => {
                telemetry::store_answered("write", begun.elapsed());
                return ended;
            }
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

/// A panic may come after the effect.
fn panicked(step: &str, panic: &(dyn std::any::Any + Send)) -> Failure {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let said = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("(no message)");
    Failure::Unknown(format!("step `{step}` panicked: {said}"))
}
