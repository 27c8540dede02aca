//! What work costs: `cargo bench -p hookonce --bench work [-- EVENTS] [sqlite | postgres | redis]
//! [through | cycle | claim | memory | large | held]`.
//!
//! Prints how many stored events a second go through a `sql` step, how many are inserted, claimed and
//! finished at once, the peak of memory, and what a claim costs with few and with very many tasks
//! waiting; on Redis, which has no such step, what events take of its memory. By name only, on PostgreSQL: `large`, the same among fifty times EVENTS stored; `held`,
//! beside a transaction that is held open for ten minutes. `cargo test` runs the first two small, to see
//! that they work.

#![expect(clippy::print_stdout, reason = "printing is what it is for")]
#![expect(clippy::cast_precision_loss, reason = "numbers of events are far below 2^52")]

#[path = "../../tests/it/bed/postgres.rs"]
#[allow(dead_code, clippy::unwrap_used, reason = "it is a file of the tests, which ask more of it")]
mod bed;
mod held;
mod large;
mod memory;
mod place;
#[path = "../../tests/it/bed/port.rs"]
mod port;
#[path = "../../tests/it/bed/redis_server.rs"]
#[allow(dead_code, clippy::unwrap_used, reason = "it is a file of the tests, which ask more of it")]
mod redis_server;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use hookonce::gate::Gate;
use hookonce::route::Route;
use hookonce::sink::sql::SqlSink;
use hookonce::store::{ClaimOrder, ClaimRoute, Release, Store};
use hookonce::task::{Outcome, Token};
use hookonce::worker::{Worker, WorkerOptions};
use place::{BATCH, Place, event, fill};
use tokio::sync::watch;

/// What is inserted, claimed and finished at once.
const CYCLE: usize = 100;
/// Conversations that go on at once, and messages of one, after which another takes its place.
const LANES: usize = 5000;
const MESSAGES: usize = 5;

/// What a test sees through.
const FEW_EVENTS: usize = 1_000;
/// Tasks that wait where few do.
const FEW_TASKS: usize = 1_000;

/// The stores, each with a table of the application's beside it.
const STORES: [&str; 3] = ["sqlite", "postgres", "redis"];
/// What is measured.
const PARTS: [&str; 4] = ["through", "cycle", "claim", "memory"];
/// What takes long, and is measured only where it is named.
const LONG: [&str; 2] = ["large", "held"];

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime can be started");
    // Only `cargo bench` says this.
    if !words.iter().any(|word| word == "--bench") {
        return runtime.block_on(async {
            for store in STORES {
                cycle(store, FEW_EVENTS).await;
                match store {
                    "redis" => memory::measure(FEW_EVENTS).await,
                    _ => through_a_statement(store, FEW_EVENTS).await,
                }
            }
        });
    }
    let events = words.iter().find_map(|word| word.parse().ok()).unwrap_or(100_000);
    let asked = |all: &[&'static str]| -> Vec<&'static str> {
        let named = |name: &&&str| words.iter().any(|word| word == **name);
        let asked: Vec<_> = all.iter().filter(named).copied().collect();
        if asked.is_empty() { all.to_vec() } else { asked }
    };
    runtime.block_on(async {
        match LONG.into_iter().find(|part| words.iter().any(|word| word == part)) {
            Some("large") => return large::measure(events).await,
            Some(_) => return held::measure().await,
            None => {}
        }
        for store in asked(&STORES) {
            for part in asked(&PARTS) {
                match part {
                    "memory" if store == "redis" => memory::measure(events).await,
                    "memory" => {}
                    "through" if store == "redis" => {}
                    "through" => through_a_statement(store, events).await,
                    "cycle" => cycle(store, events).await,
                    _ => compare_claims(store, events).await,
                }
            }
        }
    });
}

/// Claims with few tasks waiting, with ten times the events, and with half of them in one lane.
async fn compare_claims(store: &'static str, events: usize) {
    let own_lane = |n| format!("lane{n}");
    let few = claim(store, "waiting", FEW_TASKS, own_lane).await;
    let many = claim(store, "waiting", events * 10, own_lane).await;
    let lane = claim(store, "waiting in one lane", events / 2, |_| "lane".to_owned()).await;
    println!("{store}: ratio to {FEW_TASKS} tasks: {:.2} and {:.2}", many / few, lane / few);
}

/// Sees stored events through a route whose one step is an insert.
async fn through_a_statement(store: &'static str, events: usize) {
    let place = Place::open(store).await;
    let store = &place.store;
    let inserted = fill(&**store, events, |n| format!("lane{}", n % LANES)).await;
    println!(
        "{}: inserted {events} events in requests of {BATCH}: {:.0} events/s",
        place.name,
        rate(events, inserted)
    );
    let steps = vec![Gate::new("ledger", Arc::new(SqlSink::new(place.ledger)))];
    let routes: Arc<[Route]> = Arc::from([Route { steps, ..Route::new("r") }]);
    let worker = Worker::new(store.clone(), routes, WorkerOptions::new("bench"));
    let (end, shutdown) = watch::channel(false);
    let start = Instant::now();
    let watch = async {
        completed(&**store, events).await;
        end.send(true).expect("the worker listens");
        start.elapsed()
    };
    let ((), took) = tokio::join!(worker.run(shutdown, Duration::from_secs(30)), watch);
    println!(
        "{}: through a sql step: {:.0} events/s, peak memory {} MB",
        place.name,
        rate(events, took),
        peak_memory() / 1000
    );
}

/// Waits until so many tasks are completed.
async fn completed(store: &dyn Store, events: usize) {
    while store.counts().await.expect("the store counts").completed < events as u64 {
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// Inserts events while others claim and finish them.
async fn cycle(store: &'static str, events: usize) {
    let place = Place::open(store).await;
    let start = Instant::now();
    let cycle = Cycle::default();
    cycle.run(&*place.store, |inserted| inserted < events).await;
    let rate = rate(events, start.elapsed());
    println!("{}: inserted, claimed and finished: {rate:.0} events/s", place.name);
}

/// Events that are inserted in requests of a hundred, over many lanes, and claimed and finished a
/// hundred at a time.
#[derive(Default)]
struct Cycle {
    inserted: AtomicUsize,
    finished: AtomicUsize,
}

impl Cycle {
    /// Goes on while `more` of those inserted, and finishes all.
    async fn run(&self, store: &dyn Store, more: impl Fn(usize) -> bool) {
        let insert = async {
            loop {
                let from = self.inserted.load(Ordering::Relaxed);
                if !more(from) {
                    return;
                }
                if from - self.finished.load(Ordering::Relaxed) > LANES {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                    continue;
                }
                let numbers = from..from + CYCLE;
                let lane = |n| format!("lane{}-{}", n % LANES, n / (LANES * MESSAGES));
                let batch = numbers.map(|n| event(n, &lane(n))).collect();
                store.insert(batch).await.expect("the store inserts");
                self.inserted.store(from + CYCLE, Ordering::Relaxed);
            }
        };
        let work = || async {
            while more(self.inserted.load(Ordering::Relaxed)) || self.is_behind() {
                let claims = store.claim(order(CYCLE)).await.expect("the store claims");
                let finish = claims.iter().map(|claim| store.finish(claim, &Outcome::Completed));
                futures_util::future::try_join_all(finish).await.expect("the claims hold");
                self.finished.fetch_add(claims.len(), Ordering::Relaxed);
            }
        };
        tokio::join!(insert, work(), work());
    }

    fn is_behind(&self) -> bool {
        self.finished.load(Ordering::Relaxed) < self.inserted.load(Ordering::Relaxed)
    }
}

/// The time of one claim of ten tasks, in microseconds: the median of many.
async fn claim(
    store: &'static str,
    how: &str,
    tasks: usize,
    lane: impl Fn(usize) -> String,
) -> f64 {
    let place = Place::open(store).await;
    fill(&*place.store, tasks, lane).await;
    let (median, p99) = claim_times(&*place.store, 200).await;
    println!("{}: claim with {tasks} tasks {how}: {median:.0} µs, p99 {p99:.0} µs", place.name);
    median
}

/// The median and the 99th percentile of so many claims of ten tasks, in microseconds.
async fn claim_times(store: &dyn Store, claims: usize) -> (f64, f64) {
    let mut times = Vec::new();
    for _ in 0..claims {
        let start = Instant::now();
        let claims = store.claim(order(10)).await.expect("the store claims");
        times.push(start.elapsed());
        for claim in claims {
            store.release(&claim, Release::at_once()).await.expect("the claim holds");
        }
    }
    times.sort_unstable();
    let at = |percent: usize| times[times.len() * percent / 100].as_secs_f64() * 1e6;
    (at(50), at(99))
}

fn order(limit: usize) -> ClaimOrder {
    let route = ClaimRoute {
        name: "r".into(),
        lease: Duration::from_secs(60),
        limit: usize::MAX,
        reserve: 0,
    };
    let (token, worker) = (Token::draw(), "bench".into());
    ClaimOrder { token, worker, routes: vec![route], limit, reserve: limit / 5 }
}

fn rate(events: usize, took: Duration) -> f64 {
    events as f64 / took.as_secs_f64()
}

/// The most memory that this process ever had, in kB.
fn peak_memory() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    peak.and_then(|peak| peak.split_whitespace().next()?.parse().ok()).unwrap_or_default()
}
