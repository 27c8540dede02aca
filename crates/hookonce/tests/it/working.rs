//! A worker sees tasks through: steps in order, under a kept lease, to one outcome.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use hookonce::gate::{Gate, GateOptions};
use hookonce::janitor::{Janitor, JanitorOptions};
use hookonce::retry::RetryPolicy;
use hookonce::route::Route;
use hookonce::step::{Done, Failure, Step, StepContext};
use hookonce::store::{Parameter, Retention, Statement};
use hookonce::task::{DeadLane, Outcome, TaskId, Token};
use hookonce::worker::{Worker, WorkerOptions};
use tokio::sync::{Notify, watch};

use crate::bed::{Bed, LEASE, id, new, sql_test, store_test, task_id};

/// A step that writes down what it is run for and does what it is told.
struct Told<F>(Arc<Mutex<Vec<String>>>, F);

impl<F> std::fmt::Debug for Told<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Told")
    }
}

#[async_trait]
impl<F: Fn(u32) -> Result<(), Failure> + Send + Sync> Step for Told<F> {
    async fn run(&self, context: &StepContext<'_>) -> Result<Done, Failure> {
        let claim = context.claim;
        self.0.lock().unwrap().push(format!("{}/{}", claim.event.key, context.step));
        (self.1)(claim.attempt).map(|()| Done::PLAIN)
    }
}

/// A step that is an SQL statement.
#[derive(Debug)]
pub(crate) struct Sql(pub(crate) &'static str);

#[async_trait]
impl Step for Sql {
    async fn run(&self, _: &StepContext<'_>) -> Result<Done, Failure> {
        unreachable!("it has a statement")
    }

    fn statement(&self, context: &StepContext<'_>) -> Option<Statement> {
        let id = Parameter::Text(context.claim.event.id.to_string());
        Some(Statement { sql: self.0.into(), parameters: vec![("id", id)], timeout: LEASE })
    }
}

pub(crate) fn route(steps: Vec<(&str, Arc<dyn Step>)>) -> Route {
    let gate = |(name, step)| Gate::limited(name, step, GateOptions::default());
    let steps = steps.into_iter().map(gate).collect();
    Route { steps, max_attempts: 3, lease: LEASE, ..Route::new("r") }
}

pub(crate) fn worker(bed: &Bed, route: Route) -> Worker {
    Worker::new(bed.store.clone(), Arc::from([route]), WorkerOptions::new("tester"))
}

pub(crate) fn janitor(bed: &Bed) -> Janitor {
    let day = Duration::from_secs(24 * 3600);
    let retention = Retention { payload: day * 30, key: day * 30, dead: day * 90 };
    let options = JanitorOptions { poll: Duration::from_secs(1), retention };
    Janitor::new(bed.store.clone(), Arc::from([route(vec![])]), options)
}

pub(crate) fn told(
    log: &Arc<Mutex<Vec<String>>>,
    does: impl Fn(u32) -> Result<(), Failure> + Send + Sync + 'static,
) -> Arc<dyn Step> {
    Arc::new(Told(log.clone(), does))
}

/// Works until nothing is due within a day.
pub(crate) async fn work(bed: &Bed, worker: &Worker) {
    for _ in 0..30 {
        while worker.turn().await > 0 {}
        bed.clock.advance(Duration::from_secs(3600));
    }
}

store_test!(steps_run_in_order_and_those_done_are_not_run_again, |bed: Bed| async move {
    let log = Arc::<Mutex<Vec<String>>>::default();
    let flaky = |attempt| if attempt < 3 { Err(Failure::transient("not yet up")) } else { Ok(()) };
    let steps = vec![
        ("one", told(&log, |_| Ok(()))),
        ("two", told(&log, flaky)),
        ("three", told(&log, |_| Ok(()))),
    ];
    bed.insert([new("a")]).await;
    work(&bed, &worker(&bed, route(steps))).await;
    assert_eq!(*log.lock().unwrap(), ["a/one", "a/two", "a/two", "a/two", "a/three"]);
    let details = bed.get("a").await;
    let outcomes: Vec<_> = details.attempts.iter().map(|a| a.outcome.as_str()).collect();
    assert_eq!(outcomes, ["retry", "retry", "completed"]);
});

sql_test!(an_sql_step_between_others_is_recorded_with_its_effect, |bed: Bed| async move {
    bed.sql.run("create table ledger (id text primary key)");
    let log = Arc::<Mutex<Vec<String>>>::default();
    let flaky = |attempt| if attempt < 2 { Err(Failure::transient("e")) } else { Ok(()) };
    let insert = "insert into ledger values (:id)";
    let steps = vec![
        ("ledger", Arc::new(Sql(insert)) as Arc<dyn Step>),
        ("reply", told(&log, flaky)),
        ("last", Arc::new(Sql("insert into ledger values (:id || '!')"))),
    ];
    bed.insert([new("a")]).await;
    work(&bed, &worker(&bed, route(steps))).await;
    assert_eq!((bed.task("a").await, bed.sql.count("ledger")), (("completed", 2, 2), 2));
});

store_test!(only_an_explicit_success_completes, |bed: Bed| async move {
    let log = Arc::<Mutex<Vec<String>>>::default();
    for (key, step) in [
        ("err", told(&log, |_| Err(Failure::from(std::fmt::Error)))),
        ("panic", told(&log, |_| panic!("of course"))),
        ("unknown", told(&log, |_| Err(Failure::Unknown("no answer".to_owned())))),
    ] {
        bed.insert([new(key)]).await;
        work(&bed, &worker(&bed, route(vec![("s", step)]))).await;
        assert_eq!(bed.task(key).await, ("dead", 3, 3), "{key}");
    }
    bed.insert([new("down")]).await;
    let down = told(&log, |_| Err(Failure::SinkDown("refused".to_owned())));
    work(&bed, &worker(&bed, route(vec![("s", down)]))).await;
    assert_eq!(bed.task("down").await, ("pending", 0, 1));
    let panicked = bed.get("panic").await.summary.tasks[0].error.clone().unwrap();
    assert_eq!(panicked, "step `s` panicked: of course");
});

store_test!(
    a_permanent_failure_dies_at_once_and_its_lane_follows_the_route,
    |bed: Bed| async move {
        let log = Arc::<Mutex<Vec<String>>>::default();
        let never = || vec![("s", told(&log, |_| Err(Failure::permanent("malformed"))))];
        bed.insert([new("a").lane("l"), new("b").lane("l")]).await;
        let retry = RetryPolicy { on_dead: DeadLane::Hold, ..RetryPolicy::default() };
        work(&bed, &worker(&bed, Route { retry, ..route(never()) })).await;
        assert_eq!((bed.task("a").await.0, bed.task("b").await.0), ("dead", "pending"));
        bed.store.bury(&[task_id("a")]).await.unwrap();
        work(&bed, &worker(&bed, route(never()))).await;
        assert_eq!(bed.task("b").await, ("dead", 1, 1));
    }
);

store_test!(not_yet_costs_no_attempt, |bed: Bed| async move {
    let calls = Arc::new(AtomicU32::new(0));
    let count = calls.clone();
    let log = Arc::default();
    let step = told(&log, move |attempt| {
        assert_eq!(attempt, 1);
        match count.fetch_add(1, Ordering::SeqCst) {
            0..10 => Err(Failure::NotYet { error: "e".to_owned(), after: Duration::from_secs(2) }),
            _ => Ok(()),
        }
    });
    bed.insert([new("a")]).await;
    work(&bed, &worker(&bed, route(vec![("s", step)]))).await;
    assert_eq!(bed.task("a").await, ("completed", 1, 11));
});

/// A step that waits until it is told to go on.
#[derive(Debug, Default)]
pub(crate) struct Waits {
    pub(crate) started: Notify,
    go_on: Notify,
    ended: AtomicU32,
}

#[async_trait]
impl Step for Waits {
    async fn run(&self, _: &StepContext<'_>) -> Result<Done, Failure> {
        self.started.notify_one();
        self.go_on.notified().await;
        self.ended.fetch_add(1, Ordering::SeqCst);
        Ok(Done::PLAIN)
    }
}

store_test!(
    /// Fails when `keep_lease` is taken out of the attempt.
    a_step_that_outlasts_its_lease_is_kept_and_run_once,
    |bed: Bed| async move {
        let step = Arc::new(Waits::default());
        let lease = Duration::from_millis(600);
        let route = Route { lease, ..route(vec![("s", step.clone())]) };
        let worker = worker(&bed, route);
        bed.insert([new("a")]).await;
        let watch = async {
            step.started.notified().await;
            // The store's clock goes with the machine's for five leases.
            for _ in 0..50 {
                tokio::time::sleep(lease / 10).await;
                bed.clock.advance(lease / 10);
                let lapsed = bed.store.reap(Token::draw(), LEASE, 10).await.unwrap();
                assert!(lapsed.is_empty(), "the lease was not kept");
            }
            step.go_on.notify_one();
        };
        tokio::join!(worker.turn(), watch);
        assert_eq!(bed.task("a").await, ("completed", 1, 1));
        assert_eq!(step.ended.load(Ordering::SeqCst), 1);
    }
);

store_test!(
    /// Fails when `token = :token` is taken out of `finish.sql`.
    a_worker_that_lost_its_claim_drops_the_step_and_writes_nothing,
    |bed: Bed| async move {
        let step = Arc::new(Waits::default());
        let lease = Duration::from_millis(100);
        let worker = worker(&bed, Route { lease, ..route(vec![("s", step.clone())]) });
        bed.insert([new("a")]).await;
        let take_over = async {
            step.started.notified().await;
            // As if the worker had been stopped past its lease.
            bed.clock.advance(LEASE);
            assert_eq!(janitor(&bed).reap().await.unwrap(), 1);
        };
        tokio::join!(worker.turn(), take_over);
        assert_eq!(step.ended.load(Ordering::SeqCst), 0);
        assert_eq!(bed.task("a").await, ("pending", 1, 2));
        let details = bed.get("a").await;
        assert_eq!(details.attempts.len(), 1);
        assert_eq!(details.attempts[0].outcome, "lapsed");
    }
);

store_test!(a_worker_is_told_of_new_work_and_stops_when_asked, |bed: Bed| async move {
    let log = Arc::<Mutex<Vec<String>>>::default();
    let options = WorkerOptions { poll: Duration::from_secs(3600), ..WorkerOptions::new("w") };
    let steps = route(vec![("s", told(&log, |_| Ok(())))]);
    let worker = Worker::new(bed.store.clone(), Arc::from([steps]), options);
    let (end, shutdown) = watch::channel(false);
    let watch = async {
        // It polls once an hour: what is done sooner was told. The lane goes on likewise.
        bed.insert([new("a").lane("l"), new("b").lane("l"), new("c").lane("l")]).await;
        until(async || bed.task("c").await.0 == "completed").await;
        bed.insert([new("d")]).await;
        until(async || bed.task("d").await.0 == "completed").await;
        end.send(true).unwrap();
    };
    tokio::join!(worker.run(shutdown, LEASE), watch);
    assert_eq!(log.lock().unwrap().len(), 4);
});

store_test!(a_worker_and_a_janitor_end_whose_owner_is_gone, |bed: Bed| async move {
    bed.insert([new("a")]).await;
    let worker = worker(&bed, route(vec![("s", told(&Arc::default(), |_| Ok(())))]));
    let janitor = janitor(&bed);
    let (end, shutdown) = watch::channel(false);
    let watch = async {
        until(async || bed.task("a").await.0 == "completed").await;
        drop(end);
    };
    let run =
        async { tokio::join!(worker.run(shutdown.clone(), LEASE), janitor.run(shutdown), watch) };
    tokio::time::timeout(Duration::from_secs(20), run).await.expect("they end");
});

store_test!(what_runs_at_shutdown_finishes_and_what_is_cut_off_lapses, |bed: Bed| async move {
    let step = Arc::new(Waits::default());
    let worker = worker(&bed, route(vec![("s", step.clone())]));
    let (end, shutdown) = watch::channel(false);
    bed.insert([new("a"), new("b")]).await;
    let watch = async {
        until(async || bed.task("b").await.0 == "claimed").await;
        step.started.notified().await;
        end.send(true).unwrap();
        bed.insert([new("late")]).await;
        step.go_on.notify_one();
    };
    tokio::join!(worker.run(shutdown, Duration::from_millis(500)), watch);
    let mut states = [bed.task("a").await.0, bed.task("b").await.0];
    states.sort_unstable();
    assert_eq!(states, ["claimed", "completed"]);
    assert_eq!(bed.task("late").await.0, "pending");
    bed.clock.advance(LEASE);
    assert_eq!(janitor(&bed).reap().await.unwrap(), 1);
});

store_test!(
    /// Fails when `turn` of the janitor's suspects does not ask `is_out`.
    last_attempts_after_a_crash_are_made_one_at_a_time,
    |bed: Bed| async move {
        bed.insert([new("a"), new("b"), new("c")]).await;
        for _ in 0..2 {
            assert_eq!(bed.claim(9).await.len(), 3);
            bed.clock.advance(LEASE);
            assert_eq!(janitor(&bed).reap().await.unwrap(), 3);
            bed.clock.advance(Duration::from_secs(3600));
        }
        // Each janitor died with two of them kept back; the next one takes them over.
        let janitor = janitor(&bed);
        for _ in 0..100 {
            let claims = bed.claim(9).await;
            assert!(claims.len() <= 1);
            for claim in claims {
                // None costs an attempt while it waits.
                assert_eq!(claim.attempt, 3);
                bed.store.finish(&claim, &Outcome::Completed).await.unwrap();
            }
            bed.clock.advance(Duration::from_secs(1));
            janitor.reap().await.unwrap();
        }
        assert_eq!(bed.store.counts().await.unwrap().completed, 3);
    }
);

store_test!(an_idempotency_key_names_event_route_step_and_later_runs, |bed: Bed| async move {
    bed.insert([new("a")]).await;
    let claim = bed.claim_one().await;
    let key = |claim| StepContext { claim, step: "reply" }.idempotency_key();
    assert_eq!(key(&claim), format!("{}/r/reply", id("a")));
    bed.store.finish(&claim, &Outcome::Completed).await.unwrap();
    let task = TaskId { event_id: id("a"), route: "r".into() };
    bed.store.rerun(&[task]).await.unwrap();
    assert_eq!(key(&bed.claim_one().await), format!("{}/r/reply/2", id("a")));
});

/// Waits for a condition, and fails when it takes too long.
pub(crate) async fn until(holds: impl AsyncFn() -> bool) {
    let wait = async {
        while !holds().await {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), wait).await.expect("it came to hold");
}
