//! When to try again and when to give up: one pure function of the policy and the failure.

use std::time::Duration;

use crate::step::Failure;
use crate::task::{DeadLane, Outcome};

/// How a route retries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryPolicy {
    /// The delay after the first attempt; it doubles with each one.
    pub min: Duration,
    /// The longest delay.
    pub max: Duration,
    /// How long after its event was received a task is no longer worth waiting for, if there is a
    /// limit.
    pub max_age: Option<Duration>,
    /// What a dead task does to its lane.
    pub on_dead: DeadLane,
}

/// What an attempt was, whose step failed.
#[derive(Debug, Clone, Copy)]
pub struct Trial {
    /// Its number, from 1.
    pub attempt: u32,
    /// The last one there is.
    pub max_attempts: u32,
    /// How long ago the event was received.
    pub age: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            min: Duration::from_secs(5),
            max: Duration::from_secs(2 * 60 * 60),
            max_age: None,
            on_dead: DeadLane::Pass,
        }
    }
}

impl RetryPolicy {
    /// The delay after attempt number `attempt`; `jitter` in `0.0..1.0` places it in the upper half
    /// of the doubled time, so that tasks that failed together don't come back together.
    pub fn delay(&self, attempt: u32, jitter: f64) -> Duration {
        let doublings = attempt.saturating_sub(1).min(31);
        let whole = self.min.saturating_mul(1 << doublings).min(self.max);
        whole.mul_f64(0.5 + 0.5 * jitter)
    }
}

/// Decides how an attempt ends that failed with an error that counts. A delay that was asked for is
/// kept where it is longer than the policy's own; a task that would then be too old is dead at once.
/// `jitter` is in `0.0..1.0`.
pub fn outcome(policy: &RetryPolicy, trial: Trial, failure: Failure, jitter: f64) -> Outcome {
    let (error, asked) = match failure {
        Failure::Permanent(error) => return Outcome::Dead { error, lane: policy.on_dead },
        Failure::Transient { error, retry_after }
        | Failure::Unavailable { error, retry_after, .. } => (error, retry_after),
        Failure::NotYet { error, after } => (error, Some(after)),
        Failure::Unknown(error) | Failure::SinkDown(error) => (error, None),
    };
    if trial.attempt >= trial.max_attempts {
        return Outcome::Dead { error, lane: policy.on_dead };
    }
    let after = policy.delay(trial.attempt, jitter).max(asked.unwrap_or_default());
    too_old(policy, trial, after, &error).unwrap_or(Outcome::Retry { after, error })
}

/// How a task ends that would be too old after waiting so long; `None` where it may wait, as it may
/// without a limit. Attempts that don't count would otherwise go on for ever.
pub fn too_old(
    policy: &RetryPolicy,
    trial: Trial,
    after: Duration,
    error: &str,
) -> Option<Outcome> {
    let max_age = policy.max_age.filter(|max_age| trial.age.saturating_add(after) > *max_age)?;
    let error = format!("older than `max_age`, {max_age:?}, before it could succeed: {error}");
    Some(Outcome::Dead { error, lane: policy.on_dead })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(attempt: u32, jitter: f64) -> f64 {
        RetryPolicy::default().delay(attempt, jitter).as_secs_f64()
    }

    #[test]
    fn the_delay_doubles_from_5_s_to_2_h_with_jitter_over_the_upper_half() {
        assert_eq!((after(1, 0.0), after(1, 1.0)), (2.5, 5.0));
        assert_eq!((after(2, 0.0), after(4, 1.0)), (5.0, 40.0));
        assert_eq!((after(12, 1.0), after(u32::MAX, 1.0)), (7200.0, 7200.0));
    }

    #[test]
    fn twenty_four_attempts_last_about_a_day() {
        let hours: f64 = (1..24).map(|attempt| after(attempt, 0.5)).sum::<f64>() / 3600.0;
        assert!((18.0..30.0).contains(&hours), "{hours} h");
    }

    fn trial(attempt: u32, max_attempts: u32) -> Trial {
        Trial { attempt, max_attempts, age: Duration::from_secs(60) }
    }

    #[test]
    fn a_task_that_would_be_too_old_is_dead_at_once() {
        let policy =
            RetryPolicy { max_age: Some(Duration::from_secs(64)), ..RetryPolicy::default() };
        let at = |jitter| outcome(&policy, trial(1, 9), Failure::transient("x"), jitter);
        assert!(matches!(at(0.0), Outcome::Retry { .. }));
        assert!(matches!(at(1.0), Outcome::Dead { .. }));
    }

    #[test]
    fn the_last_attempt_and_a_permanent_failure_end_dead() {
        let policy = RetryPolicy::default();
        let at = |attempt, failure| outcome(&policy, trial(attempt, 3), failure, 0.5);
        assert!(matches!(at(2, Failure::transient("x")), Outcome::Retry { .. }));
        assert!(matches!(at(3, Failure::transient("x")), Outcome::Dead { .. }));
        assert!(matches!(at(2, Failure::Unknown("x".into())), Outcome::Retry { .. }));
        assert!(matches!(at(3, Failure::Unknown("x".into())), Outcome::Dead { .. }));
        assert!(matches!(at(1, Failure::permanent("x")), Outcome::Dead { .. }));
    }

    #[test]
    fn a_longer_delay_that_was_asked_for_is_kept() {
        let failure = |secs| Failure::Transient {
            error: String::new(),
            retry_after: Some(Duration::from_secs(secs)),
        };
        let policy = RetryPolicy::default();
        let after = |secs| match outcome(&policy, trial(1, 9), failure(secs), 1.0) {
            Outcome::Retry { after, .. } => after.as_secs(),
            other => panic!("{other:?}"),
        };
        assert_eq!((after(1), after(90)), (5, 90));
    }

    #[test]
    fn of_1000_tasks_that_fail_together_no_second_sees_more_than_5_percent_again() {
        let policy = RetryPolicy { min: Duration::from_secs(120), ..RetryPolicy::default() };
        let mut random = fastrand::Rng::with_seed(7);
        let mut seconds = std::collections::HashMap::<u64, u32>::new();
        for _ in 0..1000 {
            *seconds.entry(policy.delay(1, random.f64()).as_secs()).or_default() += 1;
        }
        assert!(seconds.values().all(|n| *n <= 50), "{seconds:?}");
    }
}
