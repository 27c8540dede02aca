//! A worker that sees events through to a broker which goes away twice meanwhile.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use hookonce::gate::{Gate, GateOptions};
use hookonce::retry::RetryPolicy;
use hookonce::route::Route;
use hookonce::step::{Done, Failure, Step, StepContext};
use hookonce::store::sqlite::{SqliteOptions, SqliteStore};
use hookonce::store::{Clock, Store as _};
use hookonce::worker::{Worker, WorkerOptions};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::bed::{id, new};

/// How long the broker may keep the worker waiting.
const LIMIT: Duration = Duration::from_secs(600);

/// What a broker was given, in its order: the idempotency key and the payload of each message.
pub(crate) type Given = Vec<(String, String)>;

/// A step that counts its failures, and keeps those that no outage explains.
#[derive(Debug)]
struct Counted {
    step: Arc<dyn Step>,
    failures: Arc<AtomicU64>,
    strange: Arc<Mutex<Vec<String>>>,
}

#[async_trait]
impl Step for Counted {
    async fn run(&self, context: &StepContext<'_>) -> Result<Done, Failure> {
        let ran = self.step.run(context).await;
        if let Err(failure) = &ran {
            if matches!(failure, Failure::Permanent(_) | Failure::Transient { .. }) {
                self.strange.lock().unwrap().push(format!("{failure:?}"));
            }
            self.failures.fetch_add(1, Ordering::Relaxed);
        }
        ran
    }
}

/// How many events the full check has; `HOOKONCE_EVENTS` says so, a test of every day has fewer.
pub(crate) fn events() -> usize {
    events_or(1000)
}

/// The same where a broker is slow.
#[expect(clippy::disallowed_methods, reason = "whoever runs the tests may ask for more")]
pub(crate) fn events_or(fewer: usize) -> usize {
    std::env::var("HOOKONCE_EVENTS").map_or(fewer, |number| number.parse().unwrap())
}

/// Sees `events` events in fifty lanes through to `step`. Twice meanwhile `down` ends the broker, and
/// `up` starts it once a task has failed for it.
#[expect(clippy::print_stderr, reason = "the figures are for who runs it long")]
pub(crate) async fn see_through<B>(
    step: Arc<dyn Step>,
    events: usize,
    broker: &mut B,
    down: impl Fn(&mut B, usize),
    up: impl Fn(&mut B),
) {
    let dir = tempfile::tempdir().unwrap();
    let clock = Clock::system();
    let options = SqliteOptions { clock: clock.clone(), min_free_disk: 0 };
    let store = Arc::new(SqliteStore::open(&dir.path().join("test.db"), options).unwrap());
    let insert = async |third: usize| {
        let numbers: Vec<usize> = (third * events / 3..(third + 1) * events / 3).collect();
        for numbers in numbers.chunks(200) {
            let event = |n: &usize| new(&n.to_string()).lane(&(n % 50).to_string());
            let batch = numbers.iter().map(|n| event(n).at(clock.now())).collect();
            store.insert(batch).await.unwrap();
        }
    };
    insert(0).await;
    let failures = Arc::new(AtomicU64::new(0));
    let strange = Arc::<Mutex<Vec<String>>>::default();
    let counted = Counted { step, failures: failures.clone(), strange: strange.clone() };
    let limits = GateOptions { concurrency: Some(16), ..GateOptions::default() };
    let gate = Gate::limited("queue", Arc::new(counted), limits);
    let retry = RetryPolicy { min: Duration::from_millis(20), ..RetryPolicy::default() };
    let route = Route { steps: vec![gate], retry, ..Route::new("r") };
    let worker = Worker::new(store.clone(), Arc::from([route]), WorkerOptions::new("tester"));
    let (ending, stopped) = watch::channel(false);
    let mut running = JoinSet::new();
    running.spawn(async move { worker.run(stopped, Duration::from_secs(10)).await });

    let started = Instant::now();
    let completed = async || store.counts().await.unwrap().completed;
    for outage in 1..=2 {
        let due = (events * (2 * outage - 1) / 6) as u64;
        until(async || completed().await >= due).await;
        let before = failures.load(Ordering::Relaxed);
        down(broker, outage);
        // A worker that is quick may have done all there was.
        insert(outage).await;
        until(async || failures.load(Ordering::Relaxed) > before).await;
        up(broker);
    }
    until(async || completed().await == events as u64).await;
    let (took, failed) = (started.elapsed(), failures.load(Ordering::Relaxed));
    eprintln!("{events} events in {took:.1?}, {failed} attempts failed");
    ending.send_replace(true);
    running.join_all().await;
    assert_eq!(*strange.lock().unwrap(), [""; 0], "an outage is no other failure");
}

/// Every event arrived, copies have the same key, and each lane is in its order.
#[expect(clippy::print_stderr, reason = "the figures are for who runs it long")]
pub(crate) fn check(events: usize, given: &Given) {
    let mut lanes = BTreeMap::<usize, Vec<usize>>::new();
    for (key, payload) in given {
        let payload: serde_json::Value = serde_json::from_str(payload).unwrap();
        let number = payload["key"].as_str().unwrap();
        assert_eq!(*key, format!("{}/r/queue", id(number)));
        let number: usize = number.parse().unwrap();
        let lane = lanes.entry(number % 50).or_default();
        // A copy comes right behind the first, for the next has to wait for it.
        if lane.last() != Some(&number) {
            lane.push(number);
        }
    }
    let arrived: usize = lanes.values().map(Vec::len).sum();
    eprintln!("{} messages of {arrived} events", given.len());
    assert_eq!(arrived, events);
    assert!(lanes.values().all(|lane| lane.is_sorted_by(|a, b| a < b)));
}

async fn until(condition: impl AsyncFn() -> bool) {
    let limit = Instant::now() + LIMIT;
    while !condition().await {
        assert!(Instant::now() < limit, "it never comes to that");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
