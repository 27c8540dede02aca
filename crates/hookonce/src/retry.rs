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
    /// What a dead task does to its lane.
    pub on_dead: DeadLane,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            min: Duration::from_secs(5),
            max: Duration::from_secs(2 * 60 * 60),
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

/// Decides how attempt number `attempt` of `max_attempts` ends, once it failed with an error that
/// counts. A delay that was asked for is kept where it is longer than the policy's own.
pub fn outcome(
    policy: &RetryPolicy,
    attempt: u32,
    max_attempts: u32,
    failure: Failure,
    jitter: f64,
) -> Outcome {
    let (error, asked) = match failure {
        Failure::Permanent(error) => return Outcome::Dead { error, lane: policy.on_dead },
        Failure::Transient { error, retry_after } => (error, retry_after),
        Failure::NotYet { error, after } => (error, Some(after)),
        Failure::SinkDown(error) | Failure::Unknown(error) => (error, None),
    };
    if attempt >= max_attempts {
        return Outcome::Dead { error, lane: policy.on_dead };
    }
    let after = policy.delay(attempt, jitter).max(asked.unwrap_or_default());
    Outcome::Retry { after, error }
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

    #[test]
    fn the_last_attempt_and_a_permanent_failure_end_dead() {
        let policy = RetryPolicy::default();
        let at = |attempt, failure| outcome(&policy, attempt, 3, failure, 0.5);
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
        let after = |secs| match outcome(&policy, 1, 9, failure(secs), 1.0) {
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
