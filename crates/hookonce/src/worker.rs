//! Sees tasks through: claims what is due, runs its steps under a kept lease, writes the outcome.
//!
//! A worker knows no HTTP and no receiver; it meets the rest of the world in the store. It claims no
//! more than can start at once: each task needs a slot, and a place behind each of its gates.

mod attempt;
mod openings;

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet};
use tokio::time::Instant;

use crate::event::Priority;
use crate::gate::Place;
use crate::route::Route;
use crate::store::{ClaimOrder, Release, Store};
use crate::task::{Claim, StepState, Token};
use crate::telemetry;
use openings::{Lower, Openings};

/// How many claims one filling of the slots makes at most.
const ROUNDS: usize = 4;

/// How a worker works.
#[derive(Debug, Clone)]
pub struct WorkerOptions {
    /// Who it is, in claims and attempts; unlike that of every other worker.
    pub name: Arc<str>,
    /// How many tasks it handles at a time. An eighth of them, at least one, is kept for events that
    /// are not urgent, and an eighth of the claims at the most, so that urgent ones never wait long.
    pub slots: usize,
    /// How often, more or less, it looks for due tasks without being told of any.
    pub poll: Duration,
}

impl WorkerOptions {
    /// The defaults, under this name.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self { name: name.into(), slots: 64, poll: Duration::from_secs(1) }
    }
}

/// Handles the tasks of its routes.
#[derive(Debug)]
pub struct Worker {
    store: Arc<dyn Store>,
    routes: RwLock<Arc<[Route]>>,
    options: WorkerOptions,
}

/// The attempts that run, and which of them are for events that are not urgent.
#[derive(Debug, Default)]
struct Running {
    attempts: JoinSet<Ended>,
    lower: Lower,
    lower_by_route: HashMap<Arc<str>, Lower>,
    /// A claim call whose answer was lost, and when it was made.
    unanswered: Option<(Token, Instant)>,
    /// How often the slots were filled.
    turn: usize,
}

/// An attempt that has ended.
#[derive(Debug)]
struct Ended {
    route: Arc<str>,
    is_lower: bool,
}

/// When to look for due tasks again.
#[derive(Debug, Clone, Copy, Default)]
struct Next {
    /// As soon as an attempt ends: there was no place for all that may be due.
    is_full: bool,
    /// At this time: a gate lets somebody in again.
    at: Option<Instant>,
}

impl Next {
    /// Whether an attempt that ends may make room: a probe that succeeds opens its gate.
    fn waits_for_an_end(self) -> bool {
        self.is_full || self.at.is_some()
    }
}

impl Worker {
    /// A worker for these routes; those that are left to workers outside it doesn't touch.
    pub fn new(store: Arc<dyn Store>, routes: Arc<[Route]>, options: WorkerOptions) -> Self {
        Self { store, routes: RwLock::new(routes), options }
    }

    /// Works for these routes from now on. What runs goes on as it began.
    pub fn set_routes(&self, routes: Arc<[Route]>) {
        *self.routes.write().unwrap_or_else(PoisonError::into_inner) = routes;
    }

    /// Works until `shutdown` turns true or its sender is gone, then claims nothing more and lets what
    /// runs finish for `grace`. What is cut off then lapses. A store that fails is asked again.
    pub async fn run(&self, mut shutdown: watch::Receiver<bool>, grace: Duration) {
        let mut running = Running::default();
        let mut next = Next::default();
        let mut ask = true;
        while !*shutdown.borrow() {
            if std::mem::take(&mut ask) {
                next = self.fill(&mut running).await;
            }
            // Unevenly, so that many nodes don't ask at the same time.
            let poll_at = Instant::now() + self.options.poll.mul_f64(0.75 + fastrand::f64() / 2.0);
            tokio::select! {
                biased;
                _ = shutdown.wait_for(|down| *down) => break,
                Some(ended) = running.attempts.join_next() => {
                    running.note(ended);
                    ask |= next.waits_for_an_end();
                }
                () = self.store.wait() => ask = true,
                () = tokio::time::sleep_until(next.at.map_or(poll_at, |at| at.min(poll_at))) => {
                    ask = true;
                }
            }
            while let Some(ended) = running.attempts.try_join_next() {
                running.note(ended);
                ask |= next.waits_for_an_end();
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

    /// Fills the free slots with due tasks.
    async fn fill(&self, running: &mut Running) -> Next {
        let routes = self.routes.read().unwrap_or_else(PoisonError::into_inner).clone();
        for _ in 0..ROUNDS {
            let free = self.options.slots.saturating_sub(running.attempts.len());
            if free == 0 {
                return Next { is_full: true, at: None };
            }
            running.turn = running.turn.wrapping_add(1);
            let openings = Openings::of(&routes, running);
            if openings.routes.is_empty() {
                return Next { is_full: openings.is_narrow, at: openings.at };
            }
            let Some(claims) = self.claim(running, &openings, free).await else {
                return Next { is_full: false, at: openings.at };
            };
            let is_full = claims.len() >= free || openings.is_filled_by(&claims);
            let may_be_more = openings.is_shared && is_full && !claims.is_empty();
            let is_full = is_full || openings.is_narrow;
            if !may_be_more || claims.len() >= free {
                return Next { is_full, at: openings.at };
            }
        }
        Next { is_full: true, at: Some(Instant::now()) }
    }

    /// Claims tasks and starts their attempts; gives the names of their routes, or nothing where the
    /// store did not answer.
    async fn claim(
        &self,
        running: &mut Running,
        openings: &Openings<'_>,
        free: usize,
    ) -> Option<Vec<Arc<str>>> {
        // A call whose answer was lost is repeated with its token, and gives the same claims; but not
        // once their leases are half over: then it is new tasks that it would give, under a time
        // that is past. The time is taken before the store is asked, so that no lease is thought
        // longer than it is.
        let lease = openings.all.iter().map(|route| route.lease).min().unwrap_or_default();
        let repeated = running.unanswered.take().filter(|(_, at)| at.elapsed() < lease / 2);
        let (token, asked_at) = repeated.unwrap_or_else(|| (Token::draw(), Instant::now()));
        let order = ClaimOrder {
            token,
            worker: self.options.name.clone(),
            routes: openings.routes.clone(),
            limit: free,
            reserve: running.lower.kept(self.options.slots).min(free),
        };
        let begun = Instant::now();
        match self.store.claim(order).await {
            Ok(claims) => {
                telemetry::store_answered("claim", begun.elapsed());
                let names = claims.iter().map(|claim| claim.route.clone()).collect();
                for claim in claims {
                    self.start(running, openings.all, claim, asked_at).await;
                }
                Some(names)
            }
            Err(error) => {
                telemetry::claim_failed(&error);
                running.unanswered = Some((token, asked_at));
                None
            }
        }
    }

    /// Starts the attempt that a claim is for.
    async fn start(
        &self,
        running: &mut Running,
        routes: &Arc<[Route]>,
        claim: Claim,
        asked_at: Instant,
    ) {
        let n = routes.iter().position(|route| route.name == claim.route);
        let Some((n, places)) = n.and_then(|n| Some((n, places(&routes[n], &claim)?))) else {
            // An answer that came late, after the routes changed or the places went to others.
            if let Err(error) = self.store.release(&claim, Release::at_once()).await {
                telemetry::write_failed(&claim, &error);
            }
            return;
        };
        let (store, routes) = (self.store.clone(), routes.clone());
        let is_lower = claim.event.priority != Priority::Urgent;
        running.lower.note_claim(is_lower, self.options.slots);
        let lower = running.lower_by_route.entry(claim.route.clone()).or_default();
        lower.note_claim(is_lower, openings::places(&routes[n]).unwrap_or(self.options.slots));
        running.attempts.spawn(async move {
            let route = &routes[n];
            attempt::attempt(&*store, route, &claim, asked_at + route.lease, places).await;
            Ended { route: claim.route.clone(), is_lower }
        });
    }
}

impl Running {
    /// Notes that an attempt has ended.
    fn note(&mut self, ended: Result<Ended, JoinError>) {
        // An attempt catches the panics of its steps; what else may panic is a fault of ours.
        let Ok(Ended { route, is_lower: true }) = ended else { return };
        self.lower.note_end();
        self.lower_by_route.entry(route).or_default().note_end();
    }
}

/// A place behind every gate that the claimed task has yet to pass, so that what is started never
/// waits for one; nothing if there is none.
fn places(route: &Route, claim: &Claim) -> Option<VecDeque<Place>> {
    let is_done = |name: &str| matches!(claim.steps.get(name), Some((StepState::Done, _)));
    let gates = route.steps.iter().filter(|gate| !is_done(gate.name()));
    gates.map(|gate| gate.take_place()).collect()
}
