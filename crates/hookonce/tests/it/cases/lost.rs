//! LOST: answered 200 and never handled.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use hookonce::step::Failure;
use hookonce::store::Clock;

use super::intake::{Intake, message, not_stored, took};
use crate::bed::{Bed, LEASE, new, store_test};
use crate::receiving::store::{FakeStore, Mood};
use crate::working::{Waits, janitor, route, told, work, worker};

#[tokio::test]
async fn lost_07_what_could_not_be_stored_is_answered_503() {
    let store = Arc::new(FakeStore::new(Mood::Down));
    let intake = Intake::new(store.clone(), Clock::system());
    assert_eq!(intake.send("LOST-07").await, not_stored());
    // Stored, and the answer lost: unknown is as good as not.
    store.set(Mood::Mute);
    assert_eq!(intake.send("LOST-07").await, not_stored());
    store.set(Mood::Fine);
    assert_eq!(intake.send("LOST-07").await, took(0, 2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lost_07_a_request_one_event_of_which_is_refused_is_stored_by_its_next_copy() {
    let (bed, _dir) = Bed::sqlite().await;
    bed.sql.run(
        "create trigger refuse before insert on hookonce_events when new.key like '%LOST07B'
         begin select raise(abort, 'no room for it'); end",
    );
    let intake = Intake::of(&bed);
    assert_eq!(intake.send("LOST-07").await, not_stored());
    assert_eq!(bed.store.counts().await.unwrap().events, 0);
    bed.sql.run("drop trigger refuse");
    assert_eq!(intake.send("LOST-07").await, took(2, 0));
    assert_eq!(bed.task(&message("wamid.TESTLOST07B")).await.0, "pending");
}

/// A step may take hours; one that never returns ends with its worker, or by its sink's timeout.
mod lost_09_only_an_explicit_success_completes_and_the_rest_is_counted_dead {
    use super::*;

    store_test!(an_error_and_a_panic, |bed: Bed| async move {
        let log = Arc::<Mutex<Vec<String>>>::default();
        let intake = Intake::of(&bed);
        assert_eq!(intake.send("LOST-09").await, took(1, 0));
        let step = told(&log, |attempt| match attempt {
            1 => Err(Failure::from(std::fmt::Error)),
            2 => panic!("of course"),
            _ => Err(Failure::transient("the schema has changed")),
        });
        work(&bed, &worker(&bed, route(vec![("s", step)]))).await;
        let key = message("wamid.TESTLOST09");
        assert_eq!(bed.task(&key).await, ("dead", 3, 3));
        let error = bed.get(&key).await.summary.tasks[0].error.clone();
        assert_eq!(error.as_deref(), Some("the schema has changed"));
        let counts = bed.store.counts().await.unwrap();
        assert_eq!((counts.completed, counts.dead, log.lock().unwrap().len()), (0, 1, 3));
    });

    store_test!(a_step_that_never_returns_and_is_cut_off, |bed: Bed| async move {
        bed.insert([new("a")]).await;
        let step = Arc::new(Waits::default());
        let worker = worker(&bed, route(vec![("s", step.clone())]));
        for _ in 0..3 {
            tokio::select! {
                _ = worker.turn() => unreachable!("it never returns"),
                () = step.started.notified() => {}
            }
            bed.clock.advance(LEASE);
            assert_eq!(janitor(&bed).reap().await.unwrap(), 1);
            bed.clock.advance(Duration::from_secs(3600));
        }
        assert_eq!(bed.task("a").await, ("dead", 3, 6));
        let outcomes: Vec<_> =
            bed.get("a").await.attempts.iter().map(|a| a.outcome.clone()).collect();
        assert_eq!(outcomes, ["lapsed"; 3]);
    });
}
