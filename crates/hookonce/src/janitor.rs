//! Keeps the store in order: takes lapsed claims over, folds what was appended, prunes what is old.
//!
//! A crash is an ordinary failed attempt: what the janitor takes over ends by the same retry policy
//! as what fails in front of a worker.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use crate::retry::{self, RetryPolicy};
use crate::route::Route;
use crate::step::Failure;
use crate::store::{Retention, Store, StoreError};
use crate::task::Token;
use crate::telemetry;

/// For how long the janitor takes a lapsed claim over: as long as it may take to finish it, and no
/// longer, for a task whose janitor dies meanwhile waits that long on top of its route's lease.
const LEASE: Duration = Duration::from_secs(10);
/// How many lapsed claims are taken over at a time.
const REAP_LIMIT: usize = 256;
/// How many events are pruned and arrivals folded at a time, so that intake is never held up long.
const PRUNE_LIMIT: usize = 500;
/// How often folding and pruning begin anew.
const TIDY_EVERY: Duration = Duration::from_secs(60);

/// How the janitor works.
#[derive(Debug, Clone)]
pub struct JanitorOptions {
    /// How often it looks for lapsed claims.
    pub poll: Duration,
    /// How long things are kept.
    pub retention: Retention,
}

/// Keeps a store in order.
#[derive(Debug)]
pub struct Janitor {
    store: Arc<dyn Store>,
    routes: Arc<[Route]>,
    options: JanitorOptions,
}

impl Janitor {
    /// A janitor that finishes lapsed claims by these routes' policies.
    pub fn new(store: Arc<dyn Store>, routes: Arc<[Route]>, options: JanitorOptions) -> Self {
        Self { store, routes, options }
    }

    /// Works until `shutdown` turns true.
    pub async fn run(&self, mut shutdown: watch::Receiver<bool>) {
        let mut tidied = tokio::time::Instant::now();
        while !*shutdown.borrow() {
            if let Err(error) = self.reap().await {
                telemetry::janitor_failed(&error);
            } else if tidied.elapsed() >= TIDY_EVERY {
                tidied = tokio::time::Instant::now();
                if let Err(error) = self.tidy().await {
                    telemetry::janitor_failed(&error);
                }
            }
            tokio::select! {
                _ = shutdown.wait_for(|down| *down) => {}
                () = tokio::time::sleep(self.options.poll) => {}
            }
        }
    }

    /// Takes over every claim that has lapsed and finishes it; says how many there were.
    pub async fn reap(&self) -> Result<usize, StoreError> {
        let mut reaped = 0;
        loop {
            let claims = self.store.reap(Token::draw(), LEASE, REAP_LIMIT).await?;
            for claim in &claims {
                let route = self.routes.iter().find(|route| route.name == claim.route);
                // A route that is gone from the configuration has no policy but the default.
                let policy = route.map_or_else(RetryPolicy::default, |route| route.retry.clone());
                let failure = Failure::transient("worker lost: its lease ended before it finished");
                let (attempt, max) = (claim.attempt, claim.max_attempts);
                let outcome = retry::outcome(&policy, attempt, max, failure, fastrand::f64());
                match self.store.finish(claim, &outcome).await {
                    // Somebody took it over from us: it is theirs to finish.
                    Ok(()) | Err(StoreError::Lost) => telemetry::lapsed(claim),
                    Err(error) => return Err(error),
                }
            }
            reaped += claims.len();
            if claims.len() < REAP_LIMIT {
                return Ok(reaped);
            }
        }
    }

    /// Folds and prunes, a little at a time, until there is nothing left to do.
    pub async fn tidy(&self) -> Result<(), StoreError> {
        while self.store.fold(PRUNE_LIMIT).await? >= PRUNE_LIMIT {}
        loop {
            let pruned = self.store.prune(&self.options.retention, PRUNE_LIMIT).await?;
            if pruned.payloads == 0 && pruned.events == 0 {
                return Ok(());
            }
            telemetry::pruned(pruned);
        }
    }
}
