//! How many tasks stand where: looked up when somebody asks, rather than counted along.

use std::time::Duration;

use super::seldom::Seldom;
use crate::store::{RouteCounts, StoreError};

/// So many tasks of a configured route are live.
pub fn tasks(route: &str, counts: &RouteCounts) {
    let states = [("pending", counts.pending), ("claimed", counts.claimed), ("dead", counts.dead)];
    for (state, n) in states {
        metrics::gauge!("hookonce_tasks", "route" => route.to_owned(), "state" => state)
            .set(float(n));
    }
}

/// So many tasks are live of a route that the configuration no longer has.
pub fn orphaned_tasks(route: &str, n: u64) {
    metrics::gauge!("hookonce_orphaned_tasks", "route" => route.to_owned()).set(float(n));
}

/// The oldest task that may be claimed has been due for so long.
pub fn oldest_due(age: Duration) {
    metrics::gauge!("hookonce_oldest_due_seconds").set(age.as_secs_f64());
}

/// The oldest event whose key is kept arrived so long ago.
pub fn oldest_key(age: Duration) {
    metrics::gauge!("hookonce_oldest_key_seconds").set(age.as_secs_f64());
}

/// The store could not do what the admin listener was asked for, which said so.
pub fn admin_failed(error: &StoreError) {
    static LOG: Seldom = Seldom::new();
    metrics::counter!("hookonce_store_errors_total", "operation" => "admin").increment(1);
    if let Some(n) = LOG.ask() {
        tracing::error!(%error, failed.since_last = n, "could not do what the admin API was asked");
    }
}

#[expect(clippy::cast_precision_loss, reason = "2^53 tasks are out of reach")]
fn float(n: u64) -> f64 {
    n as f64
}
