//! Routes beside each other in one worker, and a worker through an outage of its store.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use hookonce::gate::{Gate, GateOptions};
use hookonce::route::Route;
use hookonce::step::{Done, Failure, Step, StepContext};
use hookonce::store::Filter;
use hookonce::task::{State, Task};
use hookonce::worker::{Worker, WorkerOptions};
use tokio::sync::watch;

use crate::bed::{Bed, LEASE, new, sqlite_test, store_test};
use crate::receiving::metrics::Memory;
use crate::working::{route, told, until};

/// A step that never ends.
#[derive(Debug)]
struct Hangs;

#[async_trait]
impl Step for Hangs {
    async fn run(&self, _: &StepContext<'_>) -> Result<Done, Failure> {
        std::future::pending().await
    }
}

store_test!(
    /// Fails when `Openings::add` doesn't ask for the share of a gate.
    a_sink_that_hangs_leaves_the_slots_to_other_routes,
    |bed: Bed| async move {
        let log = Arc::<Mutex<Vec<String>>>::default();
        let two = GateOptions { concurrency: Some(2), ..GateOptions::default() };
        let steps = vec![Gate::limited("s", Arc::new(Hangs), two)];
        let hangs = Route { name: "hangs".into(), steps, ..route(vec![]) };
        let books = Route { name: "books".into(), ..route(vec![("s", told(&log, |_| Ok(())))]) };
        for n in 0..40 {
            bed.insert([new(&format!("k{n}")).routes(&["hangs", "books"])]).await;
        }
        let options = WorkerOptions { slots: 8, ..WorkerOptions::new("w") };
        let worker = Worker::new(bed.store.clone(), Arc::from([hangs, books]), options);
        let (end, shutdown) = watch::channel(false);
        let watch = async {
            until(async || bed.store.counts().await.unwrap().completed == 40).await;
            end.send(true).unwrap();
        };
        tokio::join!(worker.run(shutdown, Duration::ZERO), watch);
        // What could not start was not claimed, and counts no attempt.
        assert_eq!(bed.store.counts().await.unwrap().claimed, 2);
    }
);

store_test!(routes_with_other_leases_take_turns, |bed: Bed| async move {
    let log = Arc::<Mutex<Vec<String>>>::default();
    let step = || vec![("s", told(&log, |_| Ok(())))];
    let short = Route { name: "short".into(), lease: LEASE / 2, ..route(step()) };
    let patient = Route { name: "long".into(), ..route(step()) };
    for n in 0..20 {
        bed.insert([new(&format!("k{n}")).routes(&["short", "long"])]).await;
    }
    let options = WorkerOptions { slots: 4, ..WorkerOptions::new("w") };
    let worker = Worker::new(bed.store.clone(), Arc::from([short, patient]), options);
    worker.turn().await;
    worker.turn().await;
    let page = bed.store.list(&Filter::default(), 100).await.unwrap();
    let tasks: Vec<_> = page.events.iter().flat_map(|event| &event.tasks).collect();
    let done = |route: &str| {
        let is_done = |task: &&&Task| task.state == State::Completed && task.route == route;
        tasks.iter().filter(is_done).count()
    };
    assert_eq!((done("short"), done("long")), (4, 4));
});

sqlite_test!(
    /// Fails when the time of an unanswered call is kept for longer than a lease: what is claimed
    /// after a long outage is then taken for lost at once, and costs each task an attempt.
    after_an_outage_longer_than_the_lease_tasks_run_at_their_first_attempt,
    |bed: Bed| async move {
        let log = Arc::<Mutex<Vec<String>>>::default();
        let lease = Duration::from_secs(1);
        let steps = vec![("one", told(&log, |_| Ok(()))), ("two", told(&log, |_| Ok(())))];
        let steps = Route { lease, ..route(steps) };
        let worker = Worker::new(bed.store.clone(), Arc::from([steps]), WorkerOptions::new("w"));
        bed.insert([new("a"), new("b")]).await;
        bed.sql.run("begin immediate");
        let (end, shutdown) = watch::channel(false);
        let memory: &'static Memory = Box::leak(Box::default());
        let _recorder = metrics::set_default_local_recorder(memory);
        let watch = async {
            // Its call waits for the lock for twice as long as the lease. The next one must not: what a
            // call gives that took longer than the lease is no longer its own.
            let failed = "hookonce_store_errors_total{operation=claim}";
            until(async || memory.values().contains_key(failed)).await;
            bed.sql.run("rollback");
            until(async || bed.store.counts().await.unwrap().completed == 2).await;
            end.send(true).unwrap();
        };
        tokio::join!(worker.run(shutdown, LEASE), watch);
        assert_eq!((bed.task("a").await, bed.task("b").await.1), (("completed", 1, 1), 1));
    }
);
