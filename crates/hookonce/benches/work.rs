//! What work costs on SQLite: `cargo bench -p hookonce --bench work [-- EVENTS] [through | claim]`.
//!
//! Prints how many stored events a second go through a `sql` step, the peak of memory, and what a
//! claim costs with few and with very many tasks waiting. Everything is in a temporary folder.
//! `cargo test` runs the first part small, to see that it works.

#![expect(clippy::print_stdout, reason = "printing is what it is for")]
#![expect(clippy::cast_precision_loss, reason = "numbers of events are far below 2^52")]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hookonce::event::{EventId, Key, Kind, Lane, NewEvent, Priority};
use hookonce::gate::Gate;
use hookonce::route::Route;
use hookonce::sink::sql::SqlSink;
use hookonce::store::sqlite::{SqliteOptions, SqliteStore};
use hookonce::store::{ClaimOrder, ClaimRoute, Release, Store};
use hookonce::task::{NewTask, Token};
use hookonce::worker::{Worker, WorkerOptions};
use tokio::sync::watch;

const BATCH: usize = 500;

/// What a test sees through.
const FEW_EVENTS: usize = 1_000;
/// Tasks that wait where few do.
const FEW_TASKS: usize = 1_000;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime can be started");
    // Only `cargo bench` says this.
    if !words.iter().any(|word| word == "--bench") {
        return runtime.block_on(through_a_statement(FEW_EVENTS));
    }
    let events = words.iter().find_map(|word| word.parse().ok()).unwrap_or(100_000);
    let only = |part: &str| {
        let mut parts = words.iter().filter(|word| matches!(&***word, "through" | "claim"));
        parts.clone().next().is_none() || parts.any(|word| word == part)
    };
    runtime.block_on(async {
        if only("through") {
            through_a_statement(events).await;
        }
        if only("claim") {
            compare_claims(events).await;
        }
    });
}

/// Claims with few tasks waiting, with ten times the events, and with half of them in one lane.
async fn compare_claims(events: usize) {
    let own_lane = |n| format!("lane{n}");
    let few = claim("waiting", FEW_TASKS, own_lane).await;
    let many = claim("waiting", events * 10, own_lane).await;
    let lane = claim("waiting in one lane", events / 2, |_| "lane".to_owned()).await;
    println!("ratio to {FEW_TASKS} tasks: {:.2} and {:.2}", many / few, lane / few);
}

/// Sees stored events through a route whose one step is an insert.
async fn through_a_statement(events: usize) {
    let dir = tempfile::tempdir().expect("a temporary folder can be made");
    let (store, path) = open(dir.path());
    rusqlite::Connection::open(&path)
        .and_then(|connection| {
            connection.execute_batch("create table ledger (id text primary key, note text)")
        })
        .expect("the ledger can be made");
    let inserted = fill(&*store, events, |n| format!("lane{}", n % 5000)).await;
    println!(
        "inserted {events} events in requests of {BATCH}: {:.0} events/s",
        rate(events, inserted)
    );

    let statement = "insert into ledger values (:id, :element ->> '$.text.body')";
    let steps = vec![Gate::new("ledger", Arc::new(SqlSink::new(statement)))];
    let routes: Arc<[Route]> = Arc::from([Route { steps, ..Route::new("r") }]);
    let worker = Worker::new(store.clone(), routes, WorkerOptions::new("bench"));
    let (end, shutdown) = watch::channel(false);
    let start = Instant::now();
    let watch = async {
        while store.counts().await.expect("the store counts").completed < events as u64 {
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        end.send(true).expect("the worker listens");
        start.elapsed()
    };
    let ((), took) = tokio::join!(worker.run(shutdown, Duration::from_secs(30)), watch);
    println!(
        "through a sql step: {:.0} events/s, peak memory {} MB",
        rate(events, took),
        peak_memory() / 1000
    );
}

/// The time of one claim of ten tasks, in microseconds: the median of many.
async fn claim(how: &str, tasks: usize, lane: impl Fn(usize) -> String) -> f64 {
    let dir = tempfile::tempdir().expect("a temporary folder can be made");
    let (store, _) = open(dir.path());
    fill(&*store, tasks, lane).await;
    let mut times = Vec::new();
    for _ in 0..200 {
        let order = ClaimOrder {
            token: Token::draw(),
            worker: "bench".into(),
            routes: vec![ClaimRoute {
                name: "r".into(),
                lease: Duration::from_secs(60),
                limit: usize::MAX,
                reserve: 0,
            }],
            limit: 10,
            reserve: 2,
        };
        let start = Instant::now();
        let claims = store.claim(order).await.expect("the store claims");
        times.push(start.elapsed());
        for claim in claims {
            store.release(&claim, Release::at_once()).await.expect("the claim holds");
        }
    }
    times.sort_unstable();
    let median = times[times.len() / 2].as_secs_f64() * 1e6;
    println!("claim with {tasks} tasks {how}: {median:.0} µs");
    median
}

fn open(dir: &Path) -> (Arc<dyn Store>, std::path::PathBuf) {
    let path = dir.join("bench.db");
    let store = SqliteStore::open(&path, SqliteOptions::default()).expect("the store opens");
    (Arc::new(store), path)
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
