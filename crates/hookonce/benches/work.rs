//! What work costs: `cargo bench -p hookonce --bench work [-- EVENTS] [sqlite | postgres] [through |
//! cycle | claim]`.
//!
//! Prints how many stored events a second go through a `sql` step, how many are inserted, claimed and
//! finished at once, the peak of memory, and what a claim costs with few and with very many tasks
//! waiting. `cargo test` runs the first part small, to see that it works.

#![expect(clippy::print_stdout, reason = "printing is what it is for")]
#![expect(clippy::cast_precision_loss, reason = "numbers of events are far below 2^52")]

#[path = "../tests/it/bed/postgres.rs"]
mod bed;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use hookonce::event::{EventId, Key, Kind, Lane, NewEvent, Priority};
use hookonce::gate::Gate;
use hookonce::route::Route;
use hookonce::sink::sql::SqlSink;
use hookonce::store::postgres::{PostgresOptions, PostgresStore};
use hookonce::store::sqlite::{SqliteOptions, SqliteStore};
use hookonce::store::{ClaimOrder, ClaimRoute, Release, Store};
use hookonce::task::{NewTask, Outcome, Token};
use hookonce::worker::{Worker, WorkerOptions};
use tokio::sync::watch;

const BATCH: usize = 500;
/// What is inserted, claimed and finished at once.
const CYCLE: usize = 100;
const LANES: usize = 5000;

/// What a test sees through.
const FEW_EVENTS: usize = 1_000;
/// Tasks that wait where few do.
const FEW_TASKS: usize = 1_000;

/// The stores, each with a table of the application's beside it.
const STORES: [&str; 2] = ["sqlite", "postgres"];
/// What is measured.
const PARTS: [&str; 3] = ["through", "cycle", "claim"];

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime can be started");
    // Only `cargo bench` says this.
    if !words.iter().any(|word| word == "--bench") {
        return runtime.block_on(async {
            for store in STORES {
                through_a_statement(store, FEW_EVENTS).await;
                cycle(store, FEW_EVENTS).await;
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
        for store in asked(&STORES) {
            for part in asked(&PARTS) {
                match part {
                    "through" => through_a_statement(store, events).await,
                    "cycle" => cycle(store, events).await,
                    _ => compare_claims(store, events).await,
                }
            }
        }
    });
}

/// A store in a place of its own.
struct Place {
    name: &'static str,
    store: Arc<dyn Store>,
    /// How an element's text is found in a statement.
    ledger: &'static str,
    _kept: Box<dyn std::any::Any>,
}

impl Place {
    async fn open(name: &'static str) -> Self {
        let ledger = "create table ledger (id text primary key, note text)";
        if name == "postgres" {
            let database = bed::Database::make();
            bed::Connection::open(&database.url).run(ledger);
            let options = PostgresOptions::new(&database.url);
            let store = PostgresStore::open(options).await.expect("the store opens");
            let statement = "insert into ledger values (:id, (:element)::jsonb #>> '{text,body}')";
            return Self {
                name,
                store: Arc::new(store),
                ledger: statement,
                _kept: Box::new(database),
            };
        }
        let dir = tempfile::tempdir().expect("a temporary folder can be made");
        let path = dir.path().join("bench.db");
        let store = SqliteStore::open(&path, SqliteOptions::default()).expect("the store opens");
        rusqlite::Connection::open(&path)
            .and_then(|connection| connection.execute_batch(ledger))
            .expect("the ledger can be made");
        let statement = "insert into ledger values (:id, :element ->> '$.text.body')";
        Self { name, store: Arc::new(store), ledger: statement, _kept: Box::new(dir) }
    }
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

/// Inserts events in requests of a hundred, over many lanes, while others claim and finish them a
/// hundred at a time.
async fn cycle(store: &'static str, events: usize) {
    let place = Place::open(store).await;
    let store = &*place.store;
    let start = Instant::now();
    let insert = async {
        for from in (0..events).step_by(CYCLE) {
            let numbers = from..events.min(from + CYCLE);
            let batch = numbers.map(|n| event(n, &format!("lane{}", n % LANES))).collect();
            store.insert(batch).await.expect("the store inserts");
        }
    };
    let finished = std::sync::atomic::AtomicUsize::new(0);
    let work = || async {
        while finished.load(Ordering::Relaxed) < events {
            let claims = store.claim(order(CYCLE)).await.expect("the store claims");
            let finish = claims.iter().map(|claim| store.finish(claim, &Outcome::Completed));
            futures_util::future::try_join_all(finish).await.expect("the claims hold");
            finished.fetch_add(claims.len(), Ordering::Relaxed);
        }
    };
    tokio::join!(insert, work(), work());
    let rate = rate(events, start.elapsed());
    println!("{}: inserted, claimed and finished: {rate:.0} events/s", place.name);
}

/// The time of one claim of ten tasks, in microseconds: the median of many.
async fn claim(
    store: &'static str,
    how: &str,
    tasks: usize,
    lane: impl Fn(usize) -> String,
) -> f64 {
    let place = Place::open(store).await;
    let store = &*place.store;
    fill(store, tasks, lane).await;
    let mut times = Vec::new();
    for _ in 0..200 {
        let start = Instant::now();
        let claims = store.claim(order(10)).await.expect("the store claims");
        times.push(start.elapsed());
        for claim in claims {
            store.release(&claim, Release::at_once()).await.expect("the claim holds");
        }
    }
    times.sort_unstable();
    let median = times[times.len() / 2].as_secs_f64() * 1e6;
    let p99 = times[times.len() * 99 / 100].as_secs_f64() * 1e6;
    println!("{}: claim with {tasks} tasks {how}: {median:.0} µs, p99 {p99:.0} µs", place.name);
    median
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

async fn fill(store: &dyn Store, events: usize, lane: impl Fn(usize) -> String) -> Duration {
    let start = Instant::now();
    for from in (0..events).step_by(BATCH) {
        let batch = (from..events.min(from + BATCH)).map(|n| event(n, &lane(n))).collect();
        store.insert(batch).await.expect("the store inserts");
    }
    start.elapsed()
}

fn event(n: usize, lane: &str) -> NewEvent {
    let key = format!("message:200000000000001:wamid.BENCH{n:08}");
    let payload = format!(
        "{{\"object\":\"whatsapp_business_account\",\"entry\":[{{\"id\":\"100000000000001\",\
         \"changes\":[{{\"field\":\"messages\",\"value\":{{\"messaging_product\":\"whatsapp\",\
         \"metadata\":{{\"display_phone_number\":\"15550002222\",\"phone_number_id\":\
         \"200000000000001\"}},\"contacts\":[{{\"profile\":{{\"name\":\"Test\"}},\"wa_id\":\
         \"15550001111\"}}],\"messages\":[{{\"from\":\"15550001111\",\"id\":\"wamid.BENCH{n:08}\",\
         \"timestamp\":\"1760000000\",\"type\":\"text\",\"text\":{{\"body\":\"hello\"}}}}]}}}}]}}]}}"
    );
    NewEvent {
        id: EventId::of("whatsapp", &key),
        source: "whatsapp".into(),
        key: Key::of(&[&key]),
        kind: Kind::of("message", Some("text")),
        lane: Some(Lane::of(&[lane])),
        priority: Priority::Urgent,
        payload,
        content_type: "application/json",
        element: "/entry/0/changes/0/value/messages/0".to_owned(),
        digest: [0; 32],
        weak_key: false,
        sent_at: None,
        received_at: jiff::Timestamp::UNIX_EPOCH,
        unreadable: None,
        tasks: vec![NewTask { route: "r".into(), max_attempts: 24, ordered: true }],
    }
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
