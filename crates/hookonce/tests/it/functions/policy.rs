//! The retry policy stands twice, in Rust and in SQL: one table of values holds both.

use std::time::Duration;

use hookonce::retry::{self, RetryPolicy, Trial};
use hookonce::step::Failure;
use hookonce::task::Outcome;

use super::worker::Place;

/// Attempt, attempts at most, the first and the longest delay in seconds, jitter, and the delay in
/// seconds; none where the attempt was the last.
const TABLE: [(u32, u32, f64, f64, f64, Option<f64>); 14] = [
    (1, 24, 5.0, 7200.0, 0.0, Some(2.5)),
    (1, 24, 5.0, 7200.0, 0.5, Some(3.75)),
    (1, 24, 5.0, 7200.0, 0.999, Some(4.9975)),
    (2, 24, 5.0, 7200.0, 0.0, Some(5.0)),
    (4, 24, 5.0, 7200.0, 0.0, Some(20.0)),
    (11, 24, 5.0, 7200.0, 0.0, Some(2560.0)),
    (12, 24, 5.0, 7200.0, 0.0, Some(3600.0)),
    (23, 24, 5.0, 7200.0, 0.25, Some(4500.0)),
    (24, 24, 5.0, 7200.0, 0.0, None),
    (25, 24, 5.0, 7200.0, 0.0, None),
    (1, 1, 5.0, 7200.0, 0.5, None),
    (100, 1000, 0.25, 2_592_000.0, 0.0, Some(1_296_000.0)),
    (3, 9, 60.0, 1.0, 0.5, Some(0.75)),
    (40, 50, 0.001, 31_536_000.0, 0.0, Some(1_073_741.824)),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_retry_policy_is_the_same_in_rust_and_in_sql() {
    let place = Place::make().await;
    for row @ (attempt, max_attempts, min, max, jitter, expected) in TABLE {
        let seconds = Duration::from_secs_f64;
        let policy = RetryPolicy { min: seconds(min), max: seconds(max), ..RetryPolicy::default() };
        let trial = Trial { attempt, max_attempts, age: Duration::ZERO };
        let rust = match retry::outcome(&policy, trial, Failure::transient("x"), jitter) {
            Outcome::Retry { after, .. } => Some(after.as_secs_f64()),
            _ => None,
        };
        let sql = place.text(&format!(
            "select coalesce(extract(epoch from hookonce.retry_after({attempt}, {max_attempts}, \
             '{min} seconds', '{max} seconds', {jitter}))::text, '')"
        ));
        for found in [rust, sql.parse::<f64>().ok()] {
            let is_so = match (found, expected) {
                (Some(found), Some(expected)) => (found - expected).abs() < 1e-5,
                (found, expected) => found == expected,
            };
            assert!(is_so, "{row:?}: {rust:?} in Rust, `{sql}` in SQL");
        }
    }
}
