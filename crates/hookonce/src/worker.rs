//! Sees tasks through: claims what is due, runs its steps under a kept lease, writes the outcome.
//!
//! A worker knows no HTTP and no receiver; it meets the rest of the world in the store.

mod attempt;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet};
use tokio::time::Instant;

use crate::route::Route;
use crate::store::{ClaimOrder, ClaimRoute, Release, Store};
use crate::task::{Claim, Token};
use crate::telemetry;

/// How a worker works.
#[derive(Debug, Clone)]
pub struct WorkerOptions {
    /// Who it is, in claims and attempts; unlike that of every other worker.
    pub name: Arc<str>,
    /// How many tasks it handles at a time.
    pub slots: usize,
    /// How many of the slots are kept for events that are not urgent.
    pub reserve: usize,
    /// How often it looks for due tasks without being told of any.
    pub poll: Duration,
}

impl WorkerOptions {
    /// The defaults, under this name.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self { name: name.into(), slots: 64, reserve: 8, poll: Duration::from_secs(1) }
    }
}

/// Handles the tasks of its routes.
#[derive(Debug)]
pub struct Worker {
    store: Arc<dyn Store>,
    routes: Arc<[Route]>,
    options: WorkerOptions,
}

/// The attempts that run, and which of them are for events that are not urgent.
#[derive(Debug, Default)]
struct Running {
    /// Each gives the number of its route, and whether its event is not urgent.
    attempts: JoinSet<(usize, bool)>,
    lower: usize,
    /// By the number of the route.
    busy: HashMap<usize, usize>,
    /// A claim call whose answer was lost, and when it was made.
    unanswered: Option<(Token, Instant)>,
}

impl Worker {
    /// A worker for these routes.
    pub fn new(store: Arc<dyn Store>, routes: Arc<[Route]>, options: WorkerOptions) -> Self {
        Self { store, routes, options }
    }

    /// Works until `shutdown` turns true, then claims nothing more and lets what runs finish for
    /// `grace`. What is cut off then lapses.
    pub async fn run(&self, mut shutdown: watch::Receiver<bool>, grace: Duration) {
        let mut running = Running::default();
        // Whether there may be due tasks that there was no slot for.
        let mut more = true;
        while !*shutdown.borrow() {
            if more {
                more = self.fill(&mut running).await;
            }
            tokio::select! {
                biased;
                _ = shutdown.wait_for(|down| *down) => {}
                Some(ended) = running.attempts.join_next() => more |= self.note(&mut running, &ended),
                () = self.store.wait(), if !more => more = true,
                () = tokio::time::sleep(self.options.poll) => more = true,
            }
            while let Some(ended) = running.attempts.try_join_next() {
                more |= self.note(&mut running, &ended);
            }
        }
        let finish = async { while running.attempts.join_next().await.is_some() {} };
        if tokio::time::timeout(grace, finish).await.is_err() {
            telemetry::attempts_cut_off(running.attempts.len());
        }
        running.attempts.shutdown().await;
    }

    /// Claims one batch of due tasks and handles them to their end; says how many there were. For
    /// tests and for programs that decide themselves when to work.
    pub async fn turn(&self) -> usize {
        let mut running = Running::default();
        self.fill(&mut running).await;
        let started = running.attempts.len();
        while running.attempts.join_next().await.is_some() {}
        started
    }

    /// Fills the free slots with due tasks; says whether more may be due.
    async fn fill(&self, running: &mut Running) -> bool {
        let free = self.options.slots.saturating_sub(running.attempts.len());
        if free == 0 {
            return true;
        }
        // A call whose answer was lost is repeated with its token, and gives the same claims; but not
        // once their leases are half over: then it is new tasks that it would give, under a time
        // that is past. The time is taken before the store is asked, so that no lease is thought
        // longer than it is.
        let lease = self.routes.iter().map(|route| route.lease).min().unwrap_or_default();
        let repeated = running.unanswered.take().filter(|(_, at)| at.elapsed() < lease / 2);
        let (token, asked_at) = repeated.unwrap_or_else(|| (Token::draw(), Instant::now()));
        let order = ClaimOrder {
            token,
            worker: self.options.name.clone(),
            routes: self.free_routes(running),
            limit: free,
            reserve: self.options.reserve.saturating_sub(running.lower).min(free),
        };
        match self.store.claim(order).await {
            Ok(claims) => {
                let more = claims.len() >= free;
                for claim in claims {
                    self.start(running, claim, asked_at).await;
                }
                more
            }
            Err(error) => {
                telemetry::claim_failed(&error);
                running.unanswered = Some((token, asked_at));
                false
            }
        }
    }

    /// The routes that have a place free, each with as many as it has.
    fn free_routes(&self, running: &Running) -> Vec<ClaimRoute> {
        let of = |(n, route): (usize, &Route)| {
            let busy = running.busy.get(&n).copied().unwrap_or_default();
            let limit =
                route.capacity().map_or(usize::MAX, |capacity| capacity.saturating_sub(busy));
            ClaimRoute { name: route.name.clone(), lease: route.lease, limit, reserve: 0 }
        };
        self.routes.iter().enumerate().map(of).filter(|route| route.limit > 0).collect()
    }

    /// Notes that an attempt has ended; says whether it leaves a place that was waited for.
    fn note(&self, running: &mut Running, ended: &Result<(usize, bool), JoinError>) -> bool {
        // An attempt catches the panics of its steps; what else may panic is a fault of ours.
        let Ok((n, lower)) = *ended else { return true };
        running.lower -= usize::from(lower);
        if let Some(busy) = running.busy.get_mut(&n) {
            *busy -= 1;
        }
        self.routes[n].capacity().is_some()
    }

    /// Starts the attempt that a claim is for.
    async fn start(&self, running: &mut Running, claim: Claim, asked_at: Instant) {
        let Some(n) = self.routes.iter().position(|route| route.name == claim.route) else {
            // The store gave what was not asked for; nothing was run.
            let _ = self.store.release(&claim, Release::at_once()).await;
            return;
        };
        let (store, routes) = (self.store.clone(), self.routes.clone());
        let lower = claim.event.priority != crate::event::Priority::Urgent;
        running.lower += usize::from(lower);
        *running.busy.entry(n).or_default() += 1;
        running.attempts.spawn(async move {
            let route = &routes[n];
            attempt::attempt(&*store, route, &claim, asked_at + route.lease).await;
            (n, lower)
        });
    }
}
