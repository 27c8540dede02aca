//! Every metric and every significant log line, as facts: what happened, told once.
//!
//! Labels are closed sets: names of the configuration and words of this program. No key, lane,
//! payload or error text becomes a label, and none is logged above `debug`: an id from `WhatsApp`
//! contains a customer's phone number.

mod metric;
mod secrets;
mod seldom;
mod standing;
mod working;

use std::time::Duration;

use crate::event::{NewEvent, Priority};
use crate::store::{Arrival, StoreError};
use crate::task::{Claim, Outcome, TaskId};

pub use metric::{METRICS, Metric, MetricKind, describe};
use secrets::Secrets;
use seldom::Seldom;
pub use standing::{admin_failed, oldest_due, oldest_key, orphaned_tasks, tasks};
pub use working::{
    attempts_cut_off, breaker_turned, claim_failed, janitor_failed, pruned, step_ended,
    write_failed,
};

/// What is counted for one source. Its counters are looked up once, not once a request: make it
/// after the recorder is installed.
#[derive(Debug)]
pub struct SourceMeter {
    source: std::sync::Arc<str>,
    stored: metrics::Counter,
    challenged: metrics::Counter,
    refused: metrics::Counter,
    failed: metrics::Counter,
    arrivals: [metrics::Counter; 3],
    unreadable: metrics::Counter,
    unrouted: metrics::Counter,
    secrets: Secrets,
    ack: metrics::Histogram,
    insert: metrics::Histogram,
    request_events: metrics::Histogram,
    lag: metrics::Histogram,
}

impl SourceMeter {
    /// Looks the counters of a source up.
    pub fn new(source: std::sync::Arc<str>) -> Self {
        let name = || source.to_string();
        let request = |outcome| metrics::counter!("hookonce_requests_total", "source" => name(), "outcome" => outcome);
        let arrival = |arrival| metrics::counter!("hookonce_events_total", "source" => name(), "arrival" => arrival);
        Self {
            stored: request("stored"),
            challenged: request("challenged"),
            refused: request("refused"),
            failed: request("failed"),
            arrivals: [arrival("new"), arrival("duplicate"), arrival("mismatch")],
            unreadable: metrics::counter!("hookonce_unreadable_events_total", "source" => name()),
            unrouted: metrics::counter!("hookonce_unrouted_events_total", "source" => name()),
            secrets: Secrets::default(),
            ack: metrics::histogram!("hookonce_ack_seconds", "source" => name()),
            insert: metrics::histogram!("hookonce_store_seconds", "operation" => "insert"),
            request_events: metrics::histogram!("hookonce_request_events", "source" => name()),
            lag: metrics::histogram!("hookonce_sender_lag_seconds", "source" => name()),
            source,
        }
    }

    /// The sender's question was answered.
    pub fn challenged(&self) {
        self.challenged.increment(1);
        tracing::info!(source.name = %self.source, "answered a challenge");
    }

    /// Events are about to be stored: counts those that nobody can read or nobody wants.
    pub fn parsed(&self, events: &[NewEvent]) {
        self.request_events.record(u32::try_from(events.len()).unwrap_or(u32::MAX));
        for event in events {
            if event.unreadable.is_some() {
                self.unreadable.increment(1);
            }
            if event.tasks.is_empty() {
                self.unrouted.increment(1);
            }
        }
    }

    /// A request's events are in the store; `took` since its body was complete.
    pub fn stored(&self, arrivals: &[Arrival], took: Duration) {
        let mut counts = [0; 3];
        for arrival in arrivals {
            counts[*arrival as usize] += 1;
        }
        for (counter, n) in self.arrivals.iter().zip(counts) {
            if n > 0 {
                counter.increment(n);
            }
        }
        self.ack.record(took);
        let [new, duplicates, mismatches] = counts;
        tracing::debug!(
            source.name = %self.source,
            events.new = new,
            events.duplicates = duplicates,
            events.mismatches = mismatches,
            duration_ms = millis(took),
            "stored a request"
        );
        if mismatches > 0 {
            tracing::info!(
                source.name = %self.source,
                events.mismatches = mismatches,
                "events came again with another content; the first stands, the others are kept beside it"
            );
        }
    }

    /// The store has taken a request's events, which it was given so long ago.
    pub fn inserted(&self, took: Duration) {
        self.insert.record(took);
    }

    /// How late new events are by the sender's own time; copies and history are late by their nature.
    pub fn lagged(&self, lags: &[Option<Duration>], arrivals: &[Arrival]) {
        for (lag, arrival) in lags.iter().zip(arrivals) {
            if let (Some(lag), Arrival::New) = (lag, arrival) {
                self.lag.record(*lag);
            }
        }
    }

    /// A request is answered 200.
    pub fn acked(&self) {
        self.stored.increment(1);
    }

    /// Which of the source's secrets a request was signed with, by position: a rotation is finished
    /// once the old one is no longer counted.
    pub fn proven(&self, secret: Option<usize>) {
        if let Some(secret) = secret {
            self.secrets.counter(&self.source, secret).increment(1);
        }
    }
}

/// By how much each event comes after the sender's own time; none of history, or where there is none.
pub fn lags(events: &[NewEvent]) -> Vec<Option<Duration>> {
    let lag = |event: &NewEvent| {
        let sent = event.sent_at.filter(|_| event.priority != Priority::History)?;
        // A sender's clock may be ahead of ours.
        Some(Duration::try_from(event.received_at.duration_since(sent)).unwrap_or_default())
    };
    events.iter().map(lag).collect()
}

/// The store has answered what it was asked so long ago.
pub fn store_answered(operation: &'static str, took: Duration) {
    metrics::histogram!("hookonce_store_seconds", "operation" => operation).record(took);
}

/// A request was refused (4xx); `source` is `None` where it named none of ours.
pub fn refused(source: Option<&SourceMeter>, reason: &'static str) {
    static LOG: Seldom = Seldom::new();
    if let Some(meter) = source {
        meter.refused.increment(1);
    }
    rejected(source, reason);
    if let Some(n) = LOG.ask() {
        let name = source.map_or("none", |meter| &*meter.source);
        tracing::warn!(source.name = name, reason, refused.since_last = n, "refused requests");
    }
}

/// A request comes from an address that its source doesn't allow; `None` where nobody knows from
/// which. That it is refused is another fact. Whose an address is may be personal.
pub fn address_refused(source: &SourceMeter, address: Option<std::net::IpAddr>) {
    let address = address.map_or_else(|| "unknown".to_owned(), |address| address.to_string());
    tracing::debug!(source.name = &*source.source, client.address = address, "not allowed");
}

/// A request could not be served now (5xx); what hindered it is told by another fact.
pub fn failed(source: &SourceMeter, reason: &'static str) {
    source.failed.increment(1);
    rejected(Some(source), reason);
}

fn rejected(source: Option<&SourceMeter>, reason: &'static str) {
    metrics::counter!("hookonce_rejections_total", "reason" => reason).increment(1);
    let name = source.map_or("none", |meter| &*meter.source);
    tracing::debug!(source.name = name, reason, "did not take a request");
}

/// The store could not say how far events are handled that a sender waits for; it is asked again.
pub fn progress_unknown(error: &StoreError) {
    static LOG: Seldom = Seldom::new();
    if let Some(n) = LOG.ask() {
        tracing::error!(%error, failed.since_last = n, "could not see how far events are handled");
    }
}

/// The store could not take a request's events, which was answered 503.
pub fn not_stored(error: &StoreError) {
    static LOG: Seldom = Seldom::new();
    if let Some(n) = LOG.ask() {
        tracing::error!(error = %chain(error), failed.since_last = n, "could not store events");
    }
}

/// The store did not answer in time, which was answered 503.
pub fn store_slow(limit: Duration) {
    static LOG: Seldom = Seldom::new();
    if let Some(n) = LOG.ask() {
        tracing::error!(limit_ms = millis(limit), failed.since_last = n, "the store is too slow");
    }
}

/// Readiness was asked for and the store is not ready.
pub fn not_ready(error: &StoreError) {
    static LOG: Seldom = Seldom::new();
    if LOG.ask().is_some() {
        tracing::warn!(error = %chain(error), "not ready");
    }
}

/// An attempt ended, and its outcome is written. The reason of a failure may quote a payload: it is
/// kept with the attempt, and logged at `debug` only.
pub fn attempt_ended(claim: &Claim, outcome: &Outcome, took: Duration) {
    let (id, route, attempt) = (claim.event.id, &claim.route, claim.attempt);
    count_attempt(claim, outcome.as_str());
    metrics::histogram!("hookonce_attempt_seconds", "route" => route.to_string()).record(took);
    let duration_ms = millis(took);
    let error = outcome.error().unwrap_or_default();
    tracing::debug!(
        event.id = %id, route.name = %route, attempt.number = attempt, duration_ms, error,
        "attempt ended: {}", outcome.as_str()
    );
    match outcome {
        Outcome::Completed => {}
        Outcome::Retry { after, .. } => tracing::info!(
            event.id = %id, route.name = %route, attempt.number = attempt, duration_ms,
            after_ms = millis(*after), "attempt failed; the task is due again later"
        ),
        Outcome::Dead { .. } => tracing::warn!(
            event.id = %id, route.name = %route, attempt.number = attempt, duration_ms,
            "the task is dead; see `hookonce show {id}`"
        ),
    }
}

/// A claim was given back; the attempt doesn't count.
pub fn released(claim: &Claim, reason: &'static str) {
    count_attempt(claim, "released");
    tracing::debug!(
        event.id = %claim.event.id, route.name = %claim.route, attempt.number = claim.attempt, reason,
        "gave a claim back"
    );
}

/// A lease ended before its claim was finished; the claim was taken over to be counted as failed.
pub fn lapsed(claim: &Claim) {
    count_attempt(claim, "lapsed");
    tracing::warn!(
        event.id = %claim.event.id, route.name = %claim.route, attempt.number = claim.attempt,
        "a claim lapsed: its worker died, hung or was cut off"
    );
}

/// A worker found that a claim is no longer its own; it has written nothing.
pub fn claim_lost(task: &TaskId) {
    metrics::counter!("hookonce_claims_lost_total", "route" => task.route.to_string()).increment(1);
    tracing::warn!(
        event.id = %task.event_id, route.name = %task.route,
        "a claim was lost: it had been taken over; nothing was written"
    );
}

/// A connection was opened, at whichever listener.
pub fn connection_opened() {
    metrics::gauge!("hookonce_connections").increment(1);
}

/// A connection is no longer open.
pub fn connection_closed() {
    metrics::gauge!("hookonce_connections").decrement(1);
}

/// A connection was closed by us for a reason that its client did not ask for.
pub fn connection_ended(reason: &'static str) {
    metrics::counter!("hookonce_connections_ended_total", "reason" => reason).increment(1);
    tracing::debug!(reason, "ended a connection");
}

/// The handshake of a connection failed; it was closed before any request.
pub fn handshake_failed(reason: &'static str, error: &std::io::Error) {
    metrics::counter!("hookonce_handshake_errors_total", "reason" => reason).increment(1);
    tracing::debug!(reason, %error, "a handshake failed");
}

/// A connection could not be accepted.
pub fn accept_failed(error: &std::io::Error) {
    static LOG: Seldom = Seldom::new();
    metrics::counter!("hookonce_accept_errors_total").increment(1);
    if let Some(n) = LOG.ask() {
        tracing::error!(%error, failed.since_last = n, "could not accept a connection");
    }
}

/// The code that serves a connection panicked; its client saw the connection close.
pub fn connection_panicked(error: &tokio::task::JoinError) {
    metrics::counter!("hookonce_connections_ended_total", "reason" => "panicked").increment(1);
    tracing::error!(%error, "serving a connection panicked; please report this");
}

fn count_attempt(claim: &Claim, outcome: &'static str) {
    let route = claim.route.to_string();
    metrics::counter!("hookonce_attempts_total", "route" => route, "outcome" => outcome)
        .increment(1);
}

/// An error with its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}
