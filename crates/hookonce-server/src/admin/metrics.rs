//! `/metrics`: what is counted, and how many tasks stand where, as Prometheus reads it.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::Context as _;
use hookonce::route::Route;
use hookonce::store::{Filter, RouteCounts, Store, StoreError};
use hookonce::telemetry;
use jiff::Timestamp;
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use tokio::sync::Mutex;
use tokio::time::Instant;

/// For how long what was looked up in the store is shown, however often it is asked for.
const FRESH: Duration = Duration::from_secs(1);
/// How long the store may take to tell it.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often what histograms have gathered is put into their buckets.
const UPKEEP: Duration = Duration::from_secs(5);
/// Bounds of buckets for how many events come together.
const EVENTS: [f64; 9] = [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 250.0, 1000.0];
/// Bounds of buckets for how late senders are, in seconds.
const LAGS: [f64; 8] = [1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 86_400.0];
/// Bounds of buckets for what senders wait for, in seconds.
const ACK_BUCKETS: [f64; 12] =
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0];
/// Bounds of buckets for everything else, in seconds.
const BUCKETS: [f64; 12] =
    [0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0, 120.0, 600.0, 3600.0];

/// Everything that is counted in this process.
#[derive(Debug)]
pub(crate) struct Metrics {
    handle: PrometheusHandle,
    seen: Mutex<Seen>,
}

/// What was last looked up.
#[derive(Debug, Default)]
struct Seen {
    at: Option<Instant>,
    /// Routes that the configuration doesn't have and that had tasks.
    orphaned: BTreeSet<String>,
    /// Routes that the configuration had.
    configured: BTreeSet<String>,
}

impl Metrics {
    /// Begins to count; once a process, and before anything that is counted is made.
    pub(crate) fn install() -> anyhow::Result<Self> {
        let full = |name: &str| Matcher::Full(name.to_owned());
        let handle = PrometheusBuilder::new()
            .set_buckets(&BUCKETS)
            .and_then(|builder| {
                builder.set_buckets_for_metric(full("hookonce_ack_seconds"), &ACK_BUCKETS)
            })
            .and_then(|builder| {
                builder.set_buckets_for_metric(full("hookonce_store_seconds"), &ACK_BUCKETS)
            })
            .and_then(|builder| {
                builder.set_buckets_for_metric(full("hookonce_request_events"), &EVENTS)
            })
            .and_then(|builder| {
                builder.set_buckets_for_metric(full("hookonce_sender_lag_seconds"), &LAGS)
            })
            .and_then(PrometheusBuilder::install_recorder)
            .context("cannot begin to count")?;
        telemetry::describe();
        Ok(Self { handle, seen: Mutex::default() })
    }

    /// Puts what was gathered where it belongs, once in a while; without it a histogram that nobody
    /// asks for would grow for ever.
    pub(super) async fn keep_up(&self) {
        loop {
            tokio::time::sleep(UPKEEP).await;
            self.handle.run_upkeep();
        }
    }

    /// The page. What the store doesn't tell in time is shown as it was last.
    pub(super) async fn render(&self, store: &dyn Store, routes: &[Route]) -> String {
        let mut seen = self.seen.lock().await;
        if seen.at.is_none_or(|at| at.elapsed() >= FRESH) {
            match tokio::time::timeout(PATIENCE, look(store)).await {
                Ok(Ok(looked)) => {
                    seen.note(&looked.routes, routes);
                    telemetry::oldest_due(looked.oldest_due);
                    telemetry::oldest_key(looked.oldest_key);
                }
                Ok(Err(error)) => telemetry::admin_failed(&error),
                Err(_) => telemetry::admin_failed(&StoreError::unavailable("it is too slow")),
            }
            seen.at = Some(Instant::now());
        }
        drop(seen);
        self.handle.render()
    }
}

impl Seen {
    fn note(&mut self, counts: &[RouteCounts], routes: &[Route]) {
        let none = RouteCounts::default();
        let names: BTreeSet<String> = routes.iter().map(|route| route.name.to_string()).collect();
        for gone in self.configured.difference(&names) {
            telemetry::tasks(gone, &none);
        }
        self.configured = names;
        for route in routes {
            let counts = counts.iter().find(|counts| *counts.route == *route.name);
            telemetry::tasks(&route.name, counts.unwrap_or(&none));
        }
        let is_orphaned = |counts: &&RouteCounts| routes.iter().all(|r| *r.name != *counts.route);
        let mut orphaned = BTreeSet::new();
        for counts in counts.iter().filter(is_orphaned) {
            telemetry::orphaned_tasks(&counts.route, counts.pending + counts.claimed + counts.dead);
            orphaned.insert(counts.route.clone());
        }
        for gone in self.orphaned.difference(&orphaned) {
            telemetry::orphaned_tasks(gone, 0);
        }
        self.orphaned = orphaned;
    }
}

/// What is looked up in the store.
struct Looked {
    routes: Vec<RouteCounts>,
    /// For how long the oldest task has been due.
    oldest_due: Duration,
    /// The age of the oldest event.
    oldest_key: Duration,
}

async fn look(store: &dyn Store) -> Result<Looked, StoreError> {
    let routes = store.routes().await?;
    let due_at = store.counts().await?.oldest_due_at;
    let first = store.walk(&Filter::default(), 1).await?.events.pop();
    let now = store.now().await?;
    let age = |at: Option<Timestamp>| {
        let age = at.map(|at| Duration::try_from(now.duration_since(at)).unwrap_or_default());
        age.unwrap_or_default()
    };
    let received_at = first.map(|first| first.event.received_at);
    Ok(Looked { routes, oldest_due: age(due_at), oldest_key: age(received_at) })
}
