//! JOB: claims, leases and attempts.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt as _;
use hookonce::retry::RetryPolicy;
use hookonce::route::Route;
use hookonce::step::Failure;
use hookonce::store::{Filter, Release, StoreError};
use hookonce::task::{Outcome, StepState, Token};
use hookonce::worker::{Worker, WorkerOptions};

use super::intake::{Intake, message, took};
use crate::bed::{Bed, LEASE, New, id, new, order, store_test, task_id};
use crate::working::{janitor, route, told, work, worker};

const HOUR: Duration = Duration::from_secs(3600);

store_test!(job_01_a_claim_is_always_either_its_workers_or_the_janitors, |bed: Bed| async move {
    let intake = Intake::of(&bed);
    assert_eq!(intake.send("JOB-01").await, took(1, 0));
    let key = message("wamid.TESTJOB01");
    for attempt in 1..3 {
        // The worker dies between its claim and its handler; then between the handler's end
        // and the completion, of which the store sees as little.
        assert_eq!(bed.claim_one().await.attempt, attempt);
        bed.clock.advance(LEASE.saturating_sub(Duration::from_millis(1)));
        assert_eq!(janitor(&bed).reap().await.unwrap(), 0);
        assert!(bed.claim(1).await.is_empty());
        bed.clock.advance(Duration::from_millis(1));
        assert_eq!(janitor(&bed).reap().await.unwrap(), 1);
        bed.clock.advance(HOUR);
    }
    bed.store.finish(&bed.claim_one().await, &Outcome::Completed).await.unwrap();
    assert_eq!(bed.task(&key).await.0, "completed");
});

store_test!(job_01_a_janitor_that_dies_at_work_costs_little_time, |bed: Bed| async move {
    bed.insert([new("a"), new("b")]).await;
    assert_eq!(bed.claim(2).await.len(), 2);
    bed.clock.advance(LEASE);
    let dying = janitor(&bed);
    let mut reap = Box::pin(dying.reap());
    let mut has_taken_over = false;
    while !has_taken_over {
        assert!((&mut reap).now_or_never().is_none());
        has_taken_over = bed.task("b").await == ("claimed", 1, 2);
    }
    drop(reap);
    bed.clock.advance(Duration::from_secs(10));
    assert_eq!(janitor(&bed).reap().await.unwrap(), 2);
    assert_eq!(bed.task("b").await, ("pending", 1, 3));
});

store_test!(
    /// Fails when `token = :token` is taken out of `finish.sql`.
    job_03_a_worker_of_the_same_name_that_lost_its_claim_changes_nothing,
    |bed: Bed| async move {
        bed.make_ledger();
        let intake = Intake::of(&bed);
        assert_eq!(intake.send("JOB-03").await, took(1, 0));
        let key = message("wamid.TESTJOB03");
        let old = bed.claim_one().await;
        bed.clock.advance(LEASE);
        janitor(&bed).reap().await.unwrap();
        bed.clock.advance(HOUR);
        let current = bed.claim_one().await;
        assert_eq!((&*old.route, old.token == current.token), (&*current.route, false));
        for finished in [false, true] {
            if finished {
                bed.store.finish(&current, &Outcome::Completed).await.unwrap();
            }
            let before = format!("{:?}", bed.get(&key).await);
            let dead = Outcome::Dead { error: "e".into(), lane: hookonce::task::DeadLane::Hold };
            let lost = [
                bed.store.extend(&old, LEASE).await,
                bed.store.finish(&old, &Outcome::Completed).await,
                bed.store.finish(&old, &dead).await,
                bed.store.record_step(&old, "s", StepState::Done, None).await,
                bed.store.release(&old, Release::at_once()).await,
                bed.store.claimed(&task_id(&key), old.token).await.map(drop),
            ];
            for result in lost.into_iter().chain(bed.effects_of(&old).await) {
                assert!(matches!(result, Err(StoreError::Lost)), "{result:?}");
            }
            assert_eq!(format!("{:?}", bed.get(&key).await), before);
        }
        assert_eq!((bed.task(&key).await.0, bed.ledger()), ("completed", 0));
    }
);

store_test!(
/// Fails when `lease_until > :now` is taken out of `extend.sql`.
job_04_a_late_extension_does_not_steal_the_lease_back, |bed: Bed| async move {
    bed.insert([new("a")]).await;
    let old = bed.claim_one().await;
    // Late, but before anybody else came: the lease has ended all the same.
    bed.clock.advance(LEASE);
    assert!(matches!(bed.store.extend(&old, LEASE).await, Err(StoreError::Lost)));
    let taken = bed.store.reap(Token::draw(), LEASE, 10).await.unwrap();
    assert!(matches!(bed.store.extend(&old, LEASE * 9).await, Err(StoreError::Lost)));
    let until = bed.get("a").await.summary.tasks[0].lease_until;
    assert_eq!(until, Some(taken[0].lease_until));
    bed.store.extend(&taken[0], LEASE).await.unwrap();
});

store_test!(job_06_a_task_that_failed_is_due_again_until_its_attempts_end, |bed: Bed| async move {
    let log = Arc::<Mutex<Vec<String>>>::default();
    let intake = Intake::of(&bed);
    assert_eq!(intake.send("JOB-06").await, took(1, 0));
    let key = message("wamid.TESTJOB06");
    let flaky = told(&log, |attempt| match attempt {
        1 | 2 => Err(Failure::transient(format!("failure {attempt}"))),
        _ => Ok(()),
    });
    let flaky = worker(&bed, route(vec![("s", flaky)]));
    for attempt in 1..3_u32 {
        assert_eq!(flaky.turn().await, 1);
        assert_eq!(bed.task(&key).await, ("pending", attempt, attempt));
        let task = bed.get(&key).await.summary.tasks[0].clone();
        assert_eq!(task.error, Some(format!("failure {attempt}")));
        let longest = Duration::from_secs(5 << (attempt - 1));
        let wait = Duration::try_from(task.due_at.unwrap().duration_since(bed.clock.now()));
        let wait = wait.unwrap();
        assert!(wait >= longest / 2 && wait <= longest, "{wait:?} after attempt {attempt}");
        bed.clock.advance(wait.saturating_sub(Duration::from_millis(1)));
        assert_eq!(flaky.turn().await, 0, "not before it is due");
        bed.clock.advance(Duration::from_millis(1));
    }
    assert_eq!(flaky.turn().await, 1);
    assert_eq!(bed.task(&key).await, ("completed", 3, 3));

    bed.insert([new("never")]).await;
    let never = told(&log, |attempt| Err(Failure::transient(format!("failure {attempt}"))));
    work(&bed, &worker(&bed, route(vec![("s", never)]))).await;
    assert_eq!(bed.task("never").await, ("dead", 3, 3));
    let error = bed.get("never").await.summary.tasks[0].error.clone();
    assert_eq!(error.as_deref(), Some("failure 3"));
});

store_test!(job_09_a_thousand_tasks_without_attempts_left_hold_up_nobody, |bed: Bed| async move {
    let poison: Vec<_> =
        (0..1000).map(|n| New::at(new(&format!("p{n}")), bed.clock.now())).collect();
    bed.store.insert(poison).await.unwrap();
    for _ in 0..2 {
        for claim in [bed.claim(500).await, bed.claim(500).await].concat() {
            let retry = Outcome::Retry { after: Duration::ZERO, error: "x".to_owned() };
            bed.store.finish(&claim, &retry).await.unwrap();
        }
    }
    while !bed.claim(500).await.is_empty() {}
    bed.clock.advance(LEASE);
    assert_eq!(janitor(&bed).reap().await.unwrap(), 1000);
    assert_eq!(bed.store.counts().await.unwrap().dead, 1000);
    bed.insert([new("fresh")]).await;
    assert_eq!(bed.claim_one().await.event.key, "fresh");
});

store_test!(
    /// Jitter is over the upper half of the delay: with 2 minutes, the wave is a minute long.
    job_10_what_failed_together_does_not_come_back_together,
    |bed: Bed| async move {
        let events = (0..1000).map(|n| New::at(new(&format!("k{n}")), bed.clock.now())).collect();
        bed.store.insert(events).await.unwrap();
        let log = Arc::<Mutex<Vec<String>>>::default();
        let fails = told(&log, |_| Err(Failure::transient("down")));
        let retry = RetryPolicy { min: Duration::from_secs(120), ..RetryPolicy::default() };
        let route = Route { retry, ..route(vec![("s", fails)]) };
        let options = WorkerOptions { slots: 1000, ..WorkerOptions::new("w") };
        let worker = Worker::new(bed.store.clone(), Arc::from([route]), options);
        assert_eq!(worker.turn().await, 1000);
        let mut seconds = std::collections::HashMap::<i64, u32>::new();
        let page = bed.store.list(&Filter::default(), 1000).await.unwrap();
        assert_eq!(page.events.len(), 1000);
        for event in page.events {
            let due = event.tasks[0].due_at.unwrap();
            *seconds.entry(due.as_second()).or_default() += 1;
        }
        assert!(seconds.values().all(|n| *n <= 50), "{seconds:?}");
    }
);

store_test!(job_10_a_handler_that_asks_for_more_time_gets_it, |bed: Bed| async move {
    let log = Arc::<Mutex<Vec<String>>>::default();
    bed.insert([new("a")]).await;
    let asks = told(&log, |_| {
        Err(Failure::Transient { error: "later".into(), retry_after: Some(HOUR * 5) })
    });
    assert_eq!(worker(&bed, route(vec![("s", asks)])).turn().await, 1);
    let due = bed.get("a").await.summary.tasks[0].due_at.unwrap();
    assert_eq!(due.duration_since(bed.clock.now()).as_secs(), 5 * 3600);
});

store_test!(job_12_a_replay_runs_although_its_key_is_known, |bed: Bed| async move {
    let log = Arc::<Mutex<Vec<String>>>::default();
    let intake = Intake::of(&bed);
    let key = message("wamid.TESTJOB12");
    let broken = told(&log, |_| Err(Failure::permanent("no such customer")));
    let broken = worker(&bed, route(vec![("s", broken)]));
    let mended = worker(&bed, route(vec![("s", told(&log, |_| Ok(())))]));
    assert_eq!(intake.send("JOB-12").await, took(1, 0));
    work(&bed, &broken).await;
    let copy = async || {
        assert_eq!(intake.send("JOB-12").await, took(0, 1));
        work(&bed, &mended).await;
    };
    copy().await;
    assert_eq!((bed.task(&key).await, log.lock().unwrap().len()), (("dead", 1, 1), 1));
    assert_eq!(bed.store.replay(&[task_id(&key)]).await.unwrap().moved, 1);
    work(&bed, &mended).await;
    copy().await;
    assert_eq!((bed.task(&key).await, log.lock().unwrap().len()), (("completed", 1, 2), 2));
    let details = bed.store.get(id(&key)).await.unwrap().unwrap();
    let outcomes: Vec<_> = details.attempts.iter().map(|a| a.outcome.as_str()).collect();
    assert_eq!(outcomes, ["dead", "completed"], "its history is kept");
    assert!(bed.store.claim(order(1)).await.unwrap().is_empty());
});
