//! What is deleted, when, and what it is still known by.

use std::time::Duration;

use hookonce::event::Priority;
use hookonce::store::{Arrival, Retention};
use hookonce::task::{DeadLane, Outcome, TaskId};

use crate::bed::{Bed, for_route, id, new, order, store_test, task_id};

const DAY: Duration = Duration::from_secs(24 * 3600);

fn retention() -> Retention {
    Retention { payload: DAY * 10, key: DAY * 30, dead: DAY * 90 }
}

async fn complete(bed: &Bed) {
    for claim in bed.claim(100).await {
        bed.store.finish(&claim, &Outcome::Completed).await.unwrap();
    }
}

/// How many payloads and events go in one round of the walk.
async fn prune(bed: &Bed) -> (usize, usize) {
    let mut all = (0, 0);
    loop {
        let pruned = bed.store.prune(&retention(), 3).await.unwrap();
        all = (all.0 + pruned.payloads, all.1 + pruned.events);
        if !pruned.more {
            return all;
        }
    }
}

store_test!(the_payload_goes_first_and_the_event_is_still_a_duplicate and pgbouncer, |bed: Bed| async move {
    bed.insert([new("a")]).await;
    complete(&bed).await;
    bed.clock.advance(DAY * 9);
    assert_eq!(prune(&bed).await, (0, 0));
    bed.clock.advance(DAY * 2);
    assert_eq!(prune(&bed).await, (1, 0));
    assert_eq!(bed.get("a").await.payload, None);
    assert_eq!(bed.insert([new("a")]).await, [Arrival::Duplicate]);
    // That was its last arrival: its key is kept for as long again.
    bed.clock.advance(DAY * 29);
    assert_eq!(prune(&bed).await.1, 0);
    bed.clock.advance(DAY * 2);
    assert_eq!(prune(&bed).await.1, 1);
    assert!(bed.store.get(id("a")).await.unwrap().is_none());
    assert_eq!(bed.left(), 0);
});

store_test!(nothing_goes_while_it_may_still_be_handled, |bed: Bed| async move {
    bed.insert([new("pending"), new("claimed")]).await;
    let routes = vec![for_route("r", DAY * 1000)];
    let order = hookonce::store::ClaimOrder { routes, ..order(1) };
    assert_eq!(bed.store.claim(order).await.unwrap().len(), 1);
    bed.clock.advance(DAY * 365);
    assert_eq!(prune(&bed).await, (0, 0));
});

store_test!(what_is_dead_is_kept_for_longer_and_can_be_replayed, |bed: Bed| async move {
    bed.insert([new("a")]).await;
    let dead = Outcome::Dead { error: "e".to_owned(), lane: DeadLane::Pass };
    bed.store.finish(&bed.claim_one().await, &dead).await.unwrap();
    bed.clock.advance(DAY * 80);
    assert_eq!(prune(&bed).await, (0, 0));
    bed.clock.advance(DAY * 11);
    assert_eq!(prune(&bed).await.0, 1);
    assert_eq!(bed.store.replay(&[task_id("a")]).await.unwrap().left, 1);
});

store_test!(a_captured_body_does_not_run_again_once_its_key_is_gone, |bed: Bed| async move {
    let sent = bed.clock.now();
    let event = |key: &str| new(key).sent_at(sent);
    bed.insert([event("a"), event("h").priority(Priority::History)]).await;
    complete(&bed).await;
    assert_eq!(bed.insert([event("b")]).await, [Arrival::New]);
    complete(&bed).await;
    bed.clock.advance(DAY * 31);
    prune(&bed).await;
    assert!(bed.store.get(id("a")).await.unwrap().is_none());

    bed.insert([event("a"), event("h").priority(Priority::History)]).await;
    let a = bed.get("a").await.summary;
    assert_eq!(a.state, "dead");
    assert!(a.tasks[0].error.as_deref().unwrap().starts_with("too old to be proven new"));
    // History is old by nature; what is sent now is new.
    assert_eq!(bed.get("h").await.summary.state, "pending");
    bed.insert([new("now").sent_at(bed.clock.now())]).await;
    assert_eq!(bed.get("now").await.summary.state, "pending");
});

store_test!(a_date_from_the_future_keeps_its_key_until_it_is_past, |bed: Bed| async move {
    let later = bed.clock.now() + jiff::SignedDuration::from_hours(24 * 300);
    bed.insert([new("a").sent_at(later)]).await;
    complete(&bed).await;
    bed.clock.advance(DAY * 60);
    assert_eq!(prune(&bed).await, (1, 0));
    assert_eq!(bed.insert([new("a").sent_at(later)]).await, [Arrival::Duplicate]);
    // And it makes nothing else too old.
    bed.insert([new("b").sent_at(bed.clock.now())]).await;
    assert_eq!(bed.get("b").await.summary.state, "pending");
});

store_test!(folding_changes_no_count and pgbouncer, |bed: Bed| async move {
    bed.insert([new("a"), new("b").routes(&[])]).await;
    for n in 0..20 {
        bed.insert([new("a")]).await;
        if n % 10 == 0 {
            bed.insert([new("a").payload("{}")]).await;
        }
    }
    complete(&bed).await;
    let (counts, copies) = (bed.store.counts().await.unwrap(), bed.get("a").await.summary.copies);
    assert_eq!((copies, counts.duplicates, counts.unrouted), (23, 22, 1));
    bed.clock.advance(DAY * 40);
    while !bed.store.fold(7).await.unwrap() {}
    assert!(bed.get("a").await.arrivals.len() < 10);
    let a = bed.get("a").await.summary;
    assert_eq!((a.copies, a.mismatches), (23, 2));
    assert_eq!(bed.store.counts().await.unwrap(), counts);
});

store_test!(a_lane_that_is_held_is_not_pruned_away, |bed: Bed| async move {
    bed.insert([new("head").lane("l"), new("next").lane("l")]).await;
    let hold = Outcome::Dead { error: "e".to_owned(), lane: DeadLane::Hold };
    bed.store.finish(&bed.claim_one().await, &hold).await.unwrap();
    bed.clock.advance(DAY * 400);
    assert_eq!(prune(&bed).await, (0, 0));
    assert_eq!(bed.store.replay(&[task_id("head")]).await.unwrap().moved, 1);
    assert_eq!(bed.claim_one().await.event.key, "head");
});

store_test!(pruning_comes_by_what_must_stay, |bed: Bed| async move {
    for n in 0..20 {
        bed.insert([new(&format!("waits{n}"))]).await;
    }
    bed.insert([new("a").routes(&[])]).await;
    bed.clock.advance(DAY * 11);
    assert_eq!(prune(&bed).await, (1, 0));
});

store_test!(a_payload_is_kept_for_the_dead_one_of_several_tasks, |bed: Bed| async move {
    bed.insert([new("a").routes(&["r", "s"])]).await;
    complete(&bed).await;
    bed.store.bury(&[TaskId { route: "s".into(), ..task_id("a") }]).await.unwrap();
    bed.clock.advance(DAY * 89);
    assert_eq!(prune(&bed).await, (0, 0));
    bed.clock.advance(DAY * 2);
    assert_eq!(prune(&bed).await.0, 1);
});

store_test!(
    age_counts_from_the_last_arrival_and_the_last_finish_of_any_task,
    |bed: Bed| async move {
        bed.insert([new("copied").routes(&[]), new("late").routes(&["r", "s"])]).await;
        complete(&bed).await;
        bed.clock.advance(DAY * 8);
        assert_eq!(bed.insert([new("copied").payload("{}")]).await, [Arrival::Mismatch]);
        let s = hookonce::store::ClaimOrder { routes: vec![for_route("s", DAY)], ..order(1) };
        let claim = bed.store.claim(s).await.unwrap().remove(0);
        bed.store.finish(&claim, &Outcome::Completed).await.unwrap();
        bed.clock.advance(DAY * 9);
        assert_eq!(prune(&bed).await, (0, 0));
        bed.clock.advance(DAY * 2);
        assert_eq!(prune(&bed).await, (2, 0));
        // Without its payload it is still told apart from another.
        assert_eq!(bed.insert([new("copied")]).await, [Arrival::Duplicate]);
        assert_eq!(bed.insert([new("copied").payload("{}")]).await, [Arrival::Mismatch]);
    }
);

store_test!(a_key_does_not_go_before_its_payload, |bed: Bed| async move {
    bed.insert([new("a")]).await;
    complete(&bed).await;
    let long = Retention { payload: DAY * 60, key: DAY * 30, dead: DAY * 90 };
    bed.clock.advance(DAY * 59);
    let pruned = bed.store.prune(&long, 10).await.unwrap();
    assert_eq!((pruned.payloads, pruned.events), (0, 0));
    bed.clock.advance(DAY * 2);
    let pruned = bed.store.prune(&long, 10).await.unwrap();
    assert_eq!((pruned.payloads, pruned.events), (1, 1));
});

store_test!(
    /// Fails when a walk does not end at its edge: it would look at the whole table, in a
    /// transaction that the intake waits for.
    a_walk_looks_at_nothing_that_is_young,
    |bed: Bed| async move {
        bed.insert([new("old").routes(&[])]).await;
        bed.clock.advance(DAY * 11);
        for n in 0..30 {
            bed.insert([new(&format!("young{n}"))]).await;
        }
        let pruned = bed.store.prune(&retention(), 3).await.unwrap();
        assert_eq!((pruned.payloads, pruned.more), (1, false));
    }
);

store_test!(a_time_that_is_yet_to_come_ends_no_walk, |bed: Bed| async move {
    let recorded = |key| new(key).routes(&[]);
    bed.insert([recorded("before")]).await;
    let turned = bed.clock.now() + jiff::SignedDuration::from_hours(24 * 365);
    bed.store.insert(vec![recorded("turned").at(turned)]).await.unwrap();
    bed.insert([recorded("after")]).await;
    bed.clock.advance(DAY * 40);
    prune(&bed).await;
    prune(&bed).await;
    assert!(bed.store.get(id("before")).await.unwrap().is_none());
    assert!(bed.store.get(id("after")).await.unwrap().is_none());
    assert!(bed.get("turned").await.payload.is_some());
});

store_test!(what_is_too_old_holds_no_lane_and_can_be_replayed, |bed: Bed| async move {
    let sent = bed.clock.now();
    let late = |key: &str| new(key).sent_at(sent).lane("l");
    bed.insert([late("a")]).await;
    complete(&bed).await;
    bed.clock.advance(DAY * 31);
    // Nothing was removed yet: whatever comes is new.
    bed.insert([late("b")]).await;
    assert_eq!(bed.task("b").await.0, "pending");
    complete(&bed).await;
    prune(&bed).await;
    bed.insert([late("c"), new("d").lane("l")]).await;
    assert_eq!(bed.task("c").await.0, "dead");
    assert_eq!(bed.insert([late("c")]).await, [Arrival::Duplicate]);
    let next = bed.claim_one().await;
    assert_eq!(next.event.key, "d");
    bed.store.finish(&next, &Outcome::Completed).await.unwrap();
    assert_eq!(bed.store.replay(&[task_id("c")]).await.unwrap().moved, 1);
    assert_eq!(bed.claim_one().await.event.key, "c");
});
