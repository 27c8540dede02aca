//! Tasks that are made later, and tasks that change their route.

use hookonce::event::EventId;
use hookonce::store::{ClaimOrder, Moved};
use hookonce::task::{Claim, DeadLane, NewTask, Outcome, StepState, TaskId};

use crate::bed::{Bed, LEASE, for_route, id, keys, new, order, store_test, task_id};

const ONE: Moved = Moved { moved: 1, left: 0 };
const NONE: Moved = Moved { moved: 0, left: 1 };

fn task(route: &str) -> NewTask {
    NewTask { route: route.into(), max_attempts: 7, ordered: true }
}

fn given(key: &str, route: &str) -> (EventId, NewTask) {
    (id(key), task(route))
}

async fn claim_for(bed: &Bed, route: &str) -> Vec<Claim> {
    let routes = vec![for_route(route, LEASE)];
    bed.store.claim(ClaimOrder { routes, ..order(10) }).await.unwrap()
}

async fn end(bed: &Bed, claim: &Claim) {
    bed.store.finish(claim, &Outcome::Completed).await.unwrap();
}

store_test!(an_event_is_assigned_a_task_once and pgbouncer, |bed: Bed| async move {
    bed.insert([new("a").routes(&[]), new("b")]).await;
    assert_eq!(bed.store.counts().await.unwrap().unrouted, 1);
    let both = [given("a", "r"), given("a", "s"), given("unknown", "r")];
    assert_eq!(bed.store.assign(&both).await.unwrap(), Moved { moved: 2, left: 1 });
    assert_eq!(bed.store.assign(&both).await.unwrap(), Moved { moved: 0, left: 3 });
    assert_eq!(bed.store.counts().await.unwrap().unrouted, 0);
    // One that has tasks may be given another, and was never unrouted.
    assert_eq!(bed.store.assign(&[given("b", "s")]).await.unwrap(), ONE);
    assert_eq!(bed.store.counts().await.unwrap().unrouted, 0);
    let claims = claim_for(&bed, "s").await;
    assert_eq!((keys(&claims), claims[0].max_attempts), (vec!["a", "b"], 7));
});

store_test!(an_event_without_its_payload_is_assigned_nothing, |bed: Bed| async move {
    bed.insert([new("a").routes(&[])]).await;
    bed.drop_payloads(&["a"]);
    assert_eq!(bed.store.assign(&[given("a", "r")]).await.unwrap(), NONE);
});

store_test!(assigned_tasks_keep_the_order_of_their_lane, |bed: Bed| async move {
    let late = |key| new(key).lane("l").routes(&[]);
    bed.insert([late("1"), late("2"), late("3"), new("4").lane("l"), late("5")]).await;
    let head = bed.claim_one().await;
    assert_eq!(head.event.key, "4");
    let tasks = ["1", "2", "3", "5"].map(|key| given(key, "r"));
    assert_eq!(bed.store.assign(&tasks).await.unwrap().moved, 4);
    // The lane has a head, and has it alone.
    assert!(bed.claim(10).await.is_empty());
    end(&bed, &head).await;
    for expected in ["1", "2", "3", "5"] {
        let claim = bed.claim_one().await;
        assert_eq!(claim.event.key, expected);
        end(&bed, &claim).await;
    }
});

store_test!(what_is_remembered_goes_with_a_rerouted_task, |bed: Bed| async move {
    bed.insert([new("a")]).await;
    let claim = bed.claim_one().await;
    bed.store.record_step(&claim, "one", StepState::Done, Some("1")).await.unwrap();
    bed.store.record_step(&claim, "two", StepState::Begun, None).await.unwrap();
    let dead = Outcome::Dead { error: "e".to_owned(), lane: DeadLane::Pass };
    bed.store.finish(&claim, &dead).await.unwrap();
    assert_eq!(bed.store.reroute(&[task_id("a")], &task("s")).await.unwrap(), ONE);
    assert_eq!(bed.store.reroute(&[task_id("a")], &task("s")).await.unwrap(), NONE);
    let claim = claim_for(&bed, "s").await.remove(0);
    assert_eq!((claim.attempt, claim.epoch, claim.run, claim.max_attempts), (1, 2, 1, 7));
    assert_eq!(claim.steps.keys().collect::<Vec<_>>(), ["one"]);
    // Whoever has seen its idempotency key knows it still.
    assert_eq!(claim.first_route.as_deref(), Some("r"));
    bed.store.finish(&claim, &dead).await.unwrap();
    let details = bed.get("a").await;
    let history: Vec<_> = details.attempts.iter().map(|a| (&*a.route, a.epoch)).collect();
    assert_eq!(history, [("s", 1), ("s", 2)]);
    let s = TaskId { route: "s".into(), ..task_id("a") };
    assert_eq!(bed.store.reroute(&[s], &task("t")).await.unwrap(), ONE);
    assert_eq!(claim_for(&bed, "t").await[0].first_route.as_deref(), Some("r"));
});

store_test!(a_rerouted_task_leaves_its_lane_and_joins_another and pgbouncer, |bed: Bed| async move {
    let both = |key| new(key).lane("l").routes(&["r", "s"]);
    bed.insert([new("1").lane("l"), both("2"), new("3").lane("l")]).await;
    let s = claim_for(&bed, "s").await.remove(0);
    assert_eq!(s.event.key, "2");
    // A dead head that holds its lane, and a task that waits behind it.
    let hold = Outcome::Dead { error: "e".to_owned(), lane: DeadLane::Hold };
    bed.store.finish(&bed.claim_one().await, &hold).await.unwrap();
    let tasks = [task_id("3"), task_id("1")];
    assert_eq!(bed.store.reroute(&tasks, &task("s")).await.unwrap().moved, 2);
    let next = bed.claim_one().await;
    assert_eq!(next.event.key, "2", "the lane goes on without the head that held it");
    // In the other lane they wait, and come in order of arrival.
    assert!(claim_for(&bed, "s").await.is_empty());
    end(&bed, &s).await;
    for expected in ["1", "3"] {
        let claim = claim_for(&bed, "s").await.remove(0);
        assert_eq!(claim.event.key, expected);
        end(&bed, &claim).await;
    }
});

store_test!(what_cannot_be_rerouted_is_left, |bed: Bed| async move {
    bed.insert([new("has").routes(&["r", "s"]), new("claimed"), new("done"), new("pruned")]).await;
    let claims = bed.claim(3).await;
    assert_eq!(keys(&claims), ["has", "claimed", "done"]);
    bed.store.release(&claims[0], hookonce::store::Release::at_once()).await.unwrap();
    end(&bed, &claims[2]).await;
    bed.drop_payloads(&["pruned"]);
    let tasks = ["has", "claimed", "done", "pruned", "unknown"].map(task_id);
    let left = bed.store.reroute(&tasks, &task("s")).await.unwrap();
    assert_eq!(left, Moved { moved: 0, left: 5 });
    // The claim that runs is undisturbed.
    end(&bed, &claims[1]).await;
});

store_test!(a_task_of_a_route_that_is_gone_is_seen_and_moved, |bed: Bed| async move {
    bed.insert([new("a").routes(&["gone"])]).await;
    assert_eq!(bed.store.routes().await.unwrap()[0].route, "gone");
    let gone = TaskId { route: "gone".into(), ..task_id("a") };
    assert_eq!(bed.store.reroute(&[gone], &task("r")).await.unwrap(), ONE);
    assert_eq!(bed.store.routes().await.unwrap()[0].route, "r");
    assert_eq!(bed.claim_one().await.event.key, "a");
});

// What intake makes dead is run by nobody because it is assigned later.
store_test!(what_would_be_dead_on_arrival_is_assigned_dead_tasks, |bed: Bed| async move {
    let unreadable = new("u").routes(&[]).unreadable().at(bed.clock.now());
    let kind = hookonce::event::Kind::unreadable();
    let unreadable = hookonce::event::NewEvent { kind, ..unreadable };
    bed.store.insert(vec![unreadable]).await.unwrap();
    assert_eq!(bed.store.assign(&[given("u", "r")]).await.unwrap(), ONE);
    assert_eq!(bed.task("u").await, ("dead", 0, 0));
    assert_eq!(bed.store.counts().await.unwrap().dead, 1);
    // A person may run it all the same.
    assert_eq!(bed.store.replay(&[task_id("u")]).await.unwrap(), ONE);
    assert_eq!(bed.claim_one().await.event.key, "u");
});
