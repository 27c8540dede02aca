//! Keeps the store in order: takes lapsed claims over, folds what was appended, prunes what is old.
//!
//! A crash is an ordinary failed attempt: what the janitor takes over ends by the same retry policy
//! as what fails in front of a worker.

mod suspects;

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use futures_util::future::join_all;
use tokio::sync::{Mutex, watch};

use crate::retry::{self, RetryPolicy, Trial};
use crate::route::Route;
use crate::step::Failure;
use crate::store::{Retention, Store, StoreError};
use crate::task::{Claim, Outcome, Token};
use crate::telemetry;
use suspects::Suspects;

/// For how long the janitor takes a lapsed claim over: as long as it may take to finish it, and no
/// longer, since a janitor may be killed as well.
const LEASE: Duration = Duration::from_secs(10);
/// How many lapsed claims are taken over at a time.
const REAP_LIMIT: usize = 256;
/// How many events are pruned and arrivals folded at a time, so that intake is never held up long.
const PRUNE_LIMIT: usize = 500;
/// How often folding and pruning begin anew.
const TIDY_EVERY: Duration = Duration::from_secs(60);

/// How the janitor works.
#[derive(Debug, Clone, Copy)]
pub struct JanitorOptions {
    /// How often it looks for lapsed claims.
    pub poll: Duration,
    /// How long things are kept.
    pub retention: Retention,
}

impl Default for JanitorOptions {
    fn default() -> Self {
        Self { poll: Duration::from_secs(1), retention: Retention::default() }
    }
}

/// Keeps a store in order.
#[derive(Debug)]
pub struct Janitor {
    store: Arc<dyn Store>,
    plan: RwLock<(Arc<[Route]>, Retention)>,
    poll: Duration,
    suspects: Mutex<Suspects>,
}

impl Janitor {
    /// A janitor that finishes lapsed claims by these routes' policies.
    pub fn new(store: Arc<dyn Store>, routes: Arc<[Route]>, options: JanitorOptions) -> Self {
        let JanitorOptions { poll, retention } = options;
        Self { store, plan: RwLock::new((routes, retention)), poll, suspects: Mutex::default() }
    }

    /// Works by these policies from now on.
    pub fn set_plan(&self, routes: Arc<[Route]>, retention: Retention) {
        *self.plan.write().unwrap_or_else(PoisonError::into_inner) = (routes, retention);
    }

    fn plan(&self) -> (Arc<[Route]>, Retention) {
        self.plan.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Works until `shutdown` turns true or its sender is gone, then gives up the claims that it
    /// keeps. A store that fails is asked again.
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
                _ = shutdown.wait_for(|down| *down) => break,
                // What it holds itself must not lapse in between.
                () = tokio::time::sleep(self.poll.min(LEASE / 3)) => {}
            }
        }
        if let Err(error) = self.suspects.lock().await.give_up(&*self.store).await {
            telemetry::janitor_failed(&error);
        }
    }

    /// Takes over every claim that has lapsed and finishes it; says how many there were. Of those
    /// that may be tried once more only, no more than one is let out at a time.
    pub async fn reap(&self) -> Result<usize, StoreError> {
        let mut suspects = self.suspects.lock().await;
        let mut reaped = 0;
        loop {
            let claims = self.store.reap(Token::draw(), LEASE, REAP_LIMIT).await?;
            let n = claims.len();
            let mut finished = Vec::new();
            for claim in claims {
                telemetry::lapsed(&claim);
                let is_suspect = claim.attempt + 1 == claim.max_attempts && suspects.have_room();
                match self.outcome(&claim) {
                    Outcome::Retry { after, error } if is_suspect => {
                        suspects.keep(claim, error, after);
                    }
                    outcome => finished.push((claim, outcome)),
                }
            }
            // At once, so that the store can write all of them together.
            let finish = finished.iter().map(|(claim, outcome)| self.store.finish(claim, outcome));
            for written in join_all(finish).await {
                match written {
                    // Somebody took it over from us: it is theirs to finish.
                    Ok(()) | Err(StoreError::Lost) => {}
                    Err(error) => return Err(error),
                }
            }
            reaped += n;
            if n < REAP_LIMIT {
                break;
            }
        }
        suspects.turn(&*self.store).await?;
        Ok(reaped)
    }

    /// How the attempt of a lapsed claim ends.
    fn outcome(&self, claim: &Claim) -> Outcome {
        let (routes, _) = self.plan();
        let route = routes.iter().find(|route| route.name == claim.route);
        // A route that is gone from the configuration has no policy but the default.
        let policy = route.map_or_else(RetryPolicy::default, |route| route.retry.clone());
        let failure = Failure::transient("worker lost: its lease ended before it finished");
        let (attempt, max_attempts) = (claim.attempt, claim.max_attempts);
        let trial = Trial { attempt, max_attempts, age: claim.age() };
        retry::outcome(&policy, trial, failure, fastrand::f64())
    }

    /// Folds and prunes, a little at a time, until there is nothing left to do.
    pub async fn tidy(&self) -> Result<(), StoreError> {
        while !self.store.fold(PRUNE_LIMIT).await? {}
        loop {
            let (_, retention) = self.plan();
            let pruned = self.store.prune(&retention, PRUNE_LIMIT).await?;
            telemetry::pruned(pruned);
            if !pruned.more {
                return Ok(());
            }
        }
    }
}
