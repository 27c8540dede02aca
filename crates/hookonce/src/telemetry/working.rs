//! What happens to work, beside the attempts themselves.

use std::time::Duration;

use super::seldom::Seldom;
use crate::store::{Pruned, StoreError};
use crate::task::Claim;

/// Due tasks could not be claimed; the worker asks again.
pub fn claim_failed(error: &StoreError) {
    static LOG: Seldom = Seldom::new();
    metrics::counter!("hookonce_store_errors_total", "operation" => "claim").increment(1);
    if let Some(n) = LOG.ask() {
        tracing::error!(%error, failed.since_last = n, "could not claim tasks");
    }
}

/// A write after a claim could not be done; it is tried again while the lease lasts.
pub fn write_failed(claim: &Claim, error: &StoreError) {
    static LOG: Seldom = Seldom::new();
    metrics::counter!("hookonce_store_errors_total", "operation" => "write").increment(1);
    if let Some(n) = LOG.ask() {
        tracing::error!(
            event.id = %claim.event.id, route.name = %claim.route, %error, failed.since_last = n,
            "could not write how an attempt went"
        );
    }
}

/// The janitor could not do its round; it begins again.
pub fn janitor_failed(error: &StoreError) {
    static LOG: Seldom = Seldom::new();
    metrics::counter!("hookonce_store_errors_total", "operation" => "janitor").increment(1);
    if let Some(n) = LOG.ask() {
        tracing::error!(%error, failed.since_last = n, "could not keep the store in order");
    }
}

/// A step ended; `outcome` is `done` or the word for its failure.
pub fn step_ended(sink: &str, outcome: &'static str, took: Duration) {
    let sink = sink.to_owned();
    metrics::histogram!("hookonce_step_seconds", "sink" => sink, "outcome" => outcome).record(took);
}

/// A sink is taken to be down from now on, or no longer.
pub fn breaker_turned(sink: &str, is_open: bool) {
    metrics::gauge!("hookonce_breaker_open", "sink" => sink.to_owned()).set(if is_open {
        1.0
    } else {
        0.0
    });
    if is_open {
        tracing::warn!(
            sink.name = sink,
            "a sink is down: its tasks wait, and cost no attempts, until it is back"
        );
    } else {
        tracing::info!(sink.name = sink, "a sink is up again");
    }
}

/// Old payloads and events were deleted.
pub fn pruned(pruned: Pruned) {
    tracing::debug!(payloads = pruned.payloads, events = pruned.events, "pruned");
}

/// The grace time ended before these attempts did; their claims lapse.
pub fn attempts_cut_off(n: usize) {
    tracing::warn!(
        attempts = n,
        "the grace time is over: attempts were cut off and will be retried"
    );
}
