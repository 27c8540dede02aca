//! What a person does to tasks.

use std::time::Duration;

use hookonce::store::{Arrival, Moved};
use hookonce::task::{Claim, DeadLane, Outcome, StepState};

use crate::bed::{Bed, new, store_test, task_id};

fn dead(lane: DeadLane) -> Outcome {
    Outcome::Dead { error: "e".to_owned(), lane }
}

async fn kill(bed: &Bed, lane: DeadLane) -> Claim {
    let claim = bed.claim_one().await;
    bed.store.finish(&claim, &dead(lane)).await.unwrap();
    claim
}

const ONE: Moved = Moved { moved: 1, left: 0 };
const NONE: Moved = Moved { moved: 0, left: 1 };

store_test!(a_dead_task_is_replayed_once_and_its_copies_stay_duplicates, |bed: Bed| async move {
    bed.insert([new("a")]).await;
    kill(&bed, DeadLane::Pass).await;
    assert_eq!(bed.insert([new("a")]).await, [Arrival::Duplicate]);
    assert_eq!(bed.store.replay(&[task_id("a")]).await.unwrap(), ONE);
    assert_eq!(bed.store.replay(&[task_id("a")]).await.unwrap(), NONE);
    let claim = bed.claim_one().await;
    assert_eq!((claim.attempt, claim.epoch, claim.run), (1, 2, 1));
    bed.store.finish(&claim, &Outcome::Completed).await.unwrap();
    assert_eq!(bed.insert([new("a")]).await, [Arrival::Duplicate]);
    assert!(bed.claim(10).await.is_empty());
    // The history of before is kept.
    assert_eq!(bed.get("a").await.attempts.len(), 2);
    assert_eq!(bed.store.replay(&[task_id("a"), task_id("unknown")]).await.unwrap().left, 2);
});

store_test!(a_replay_keeps_the_steps_that_are_done, |bed: Bed| async move {
    bed.insert([new("a")]).await;
    let claim = bed.claim_one().await;
    bed.store.record_step(&claim, "one", StepState::Done, None).await.unwrap();
    bed.store.record_step(&claim, "two", StepState::Begun, None).await.unwrap();
    bed.store.finish(&claim, &dead(DeadLane::Pass)).await.unwrap();
    bed.store.replay(&[task_id("a")]).await.unwrap();
    let steps = bed.claim_one().await.steps;
    assert_eq!(steps.keys().collect::<Vec<_>>(), ["one"]);
});

store_test!(a_retry_is_made_due_now, |bed: Bed| async move {
    bed.insert([new("a")]).await;
    let retry = Outcome::Retry { after: Duration::from_secs(3600), error: "e".to_owned() };
    bed.store.finish(&bed.claim_one().await, &retry).await.unwrap();
    assert_eq!(bed.store.replay(&[task_id("a")]).await.unwrap(), ONE);
    // Its attempts still count.
    assert_eq!(bed.claim_one().await.attempt, 2);
    assert_eq!(bed.store.replay(&[task_id("a")]).await.unwrap(), NONE);
});

store_test!(a_replayed_task_waits_for_its_lane, |bed: Bed| async move {
    bed.insert([new("a").lane("l"), new("b").lane("l")]).await;
    kill(&bed, DeadLane::Pass).await;
    let b = bed.claim_one().await;
    bed.store.replay(&[task_id("a")]).await.unwrap();
    assert!(bed.claim(10).await.is_empty());
    bed.store.finish(&b, &Outcome::Completed).await.unwrap();
    assert_eq!(bed.claim_one().await.event.key, "a");
});

store_test!(a_held_lane_goes_on_after_replay_or_bury and pgbouncer, |bed: Bed| async move {
    for way in ["replay", "bury"] {
        let key = |n| format!("{way}{n}");
        bed.insert([new(&key(1)).lane(way), new(&key(2)).lane(way)]).await;
        kill(&bed, DeadLane::Hold).await;
        assert!(bed.claim(10).await.is_empty());
        if way == "replay" {
            assert_eq!(bed.store.replay(&[task_id(&key(1))]).await.unwrap(), ONE);
            let claim = bed.claim_one().await;
            assert_eq!(claim.event.key, key(1));
            bed.store.finish(&claim, &Outcome::Completed).await.unwrap();
        } else {
            assert_eq!(bed.store.bury(&[task_id(&key(1))]).await.unwrap(), ONE);
            assert_eq!(bed.store.bury(&[task_id(&key(1))]).await.unwrap(), NONE);
            assert_eq!(bed.task(&key(1)).await.0, "dead");
        }
        let claim = bed.claim_one().await;
        assert_eq!(claim.event.key, key(2));
        bed.store.finish(&claim, &Outcome::Completed).await.unwrap();
    }
});

store_test!(a_pending_task_is_buried_and_its_lane_goes_on, |bed: Bed| async move {
    bed.insert([new("a").lane("l"), new("b").lane("l"), new("c").lane("l")]).await;
    assert_eq!(bed.store.bury(&[task_id("b"), task_id("a")]).await.unwrap().moved, 2);
    assert_eq!(bed.claim_one().await.event.key, "c");
    assert_eq!(bed.store.bury(&[task_id("c")]).await.unwrap(), NONE);
});

store_test!(a_completed_task_runs_again_only_by_rerun and pgbouncer, |bed: Bed| async move {
    bed.insert([new("a")]).await;
    let claim = bed.claim_one().await;
    bed.store.record_step(&claim, "one", StepState::Done, None).await.unwrap();
    bed.store.finish(&claim, &Outcome::Completed).await.unwrap();
    assert_eq!(bed.store.replay(&[task_id("a")]).await.unwrap(), NONE);
    assert_eq!(bed.store.rerun(&[task_id("a")]).await.unwrap(), ONE);
    let claim = bed.claim_one().await;
    assert_eq!((claim.run, claim.attempt, claim.epoch), (2, 1, 2));
    assert!(claim.steps.is_empty());
    assert_eq!(bed.store.counts().await.unwrap().completed, 0);
    bed.store.finish(&claim, &Outcome::Completed).await.unwrap();
    assert_eq!(bed.store.counts().await.unwrap().completed, 1);
});
