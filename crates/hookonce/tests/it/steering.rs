//! What a person does to many tasks: which are meant, in which order, and what is only counted.

mod bulk;

use std::sync::Arc;
use std::time::Duration;

use hookonce::route::{Order, Route};
use hookonce::steer::{Action, Effect, Steer, steer, steer_event};
use hookonce::store::{Filter, Moved, StateFilter, StoreError};
use hookonce::task::{DeadLane, Outcome, State};

use crate::bed::{Bed, id, new, store_test, task_id};

/// An order to do this to everything that it is for.
pub(crate) fn order(action: Action) -> Steer {
    Steer { filter: Filter::default(), action, limit: None, rate: None, effect: Effect::Real }
}

fn state(state: State) -> Filter {
    Filter { state: Some(StateFilter::Task(state)), ..Filter::default() }
}

fn moved(moved: usize, left: usize) -> Moved {
    Moved { moved, left }
}

/// Does what is ordered once it has told how much that would be, which must be the same.
async fn steered(bed: &Bed, routes: &[Route], order: Steer) -> Moved {
    let dry = Steer { effect: Effect::DryRun, ..order.clone() };
    let before = bed.store.counts().await.unwrap();
    let would_be = steer(&*bed.store, routes, &dry, &mut |_| ()).await.unwrap();
    assert_eq!(bed.store.counts().await.unwrap(), before, "a dry run moves nothing");
    let mut noted = Vec::new();
    let total = steer(&*bed.store, routes, &order, &mut |so_far| noted.push(so_far)).await.unwrap();
    assert_eq!(would_be, total, "{order:?}");
    assert_eq!(noted.last().copied().unwrap_or_default(), total);
    total
}

/// One task in each state: completed, dead, holding its lane and waiting behind it, to be tried
/// again later, due now.
async fn one_of_each(bed: &Bed) {
    bed.insert([new("completed"), new("dead"), new("holds").lane("l"), new("retry")]).await;
    let claims = bed.claim(4).await;
    let dead = |lane| Outcome::Dead { error: "e".to_owned(), lane };
    let retry = Outcome::Retry { after: Duration::from_secs(60), error: "e".to_owned() };
    let outcomes = [Outcome::Completed, dead(DeadLane::Pass), dead(DeadLane::Hold), retry];
    for (claim, outcome) in claims.iter().zip(&outcomes) {
        bed.store.finish(claim, outcome).await.unwrap();
    }
    bed.insert([new("waits").lane("l"), new("due"), new("recorded").routes(&[])]).await;
}

async fn states(bed: &Bed) -> Vec<String> {
    let page = bed.store.walk(&Filter::default(), 100).await.unwrap();
    let shown =
        |event: &hookonce::store::EventSummary| format!("{} {}", event.event.key, event.state);
    page.events.iter().map(shown).collect()
}

store_test!(a_replay_is_for_dead_tasks_and_retries, |bed: Bed| async move {
    one_of_each(&bed).await;
    assert_eq!(steered(&bed, &[], order(Action::Replay)).await, moved(3, 0));
    let expected = ["completed completed", "dead pending", "holds pending", "retry pending"];
    assert_eq!(states(&bed).await[..4], expected);
    assert_eq!(bed.claim(10).await.len(), 4);
    assert_eq!(steered(&bed, &[], order(Action::Replay)).await, moved(0, 0));
});

store_test!(what_is_asked_for_by_its_state_is_left_and_counted, |bed: Bed| async move {
    one_of_each(&bed).await;
    let replay = |filter| Steer { filter, ..order(Action::Replay) };
    assert_eq!(steered(&bed, &[], replay(state(State::Completed))).await, moved(0, 1));
    assert_eq!(steered(&bed, &[], replay(state(State::Pending))).await, moved(1, 2));
    let route = |name: &str| Filter { route: Some(name.to_owned()), ..Filter::default() };
    assert_eq!(steered(&bed, &[], replay(route("s"))).await, moved(0, 0));
    assert_eq!(steered(&bed, &[], replay(route("r"))).await, moved(2, 0));
});

store_test!(a_rerun_is_for_completed_tasks, |bed: Bed| async move {
    one_of_each(&bed).await;
    assert_eq!(steered(&bed, &[], order(Action::Rerun)).await, moved(1, 0));
    let runs: Vec<_> = bed.claim(10).await.iter().map(|c| (c.event.key.clone(), c.run)).collect();
    assert_eq!(runs, [("completed".to_owned(), 2), ("due".to_owned(), 1)]);
    // Asked for, the dead are replayed.
    let dead = Steer { filter: state(State::Dead), ..order(Action::Rerun) };
    assert_eq!(steered(&bed, &[], dead).await, moved(2, 0));
    assert_eq!(bed.get("dead").await.summary.tasks[0].run, 1);
});

store_test!(a_burial_is_for_pending_tasks_and_held_lanes, |bed: Bed| async move {
    one_of_each(&bed).await;
    assert_eq!(steered(&bed, &[], order(Action::Bury)).await, moved(4, 0));
    assert_eq!(bed.store.counts().await.unwrap().dead, 5);
    assert_eq!(steered(&bed, &[], order(Action::Bury)).await, moved(0, 0));
});

store_test!(what_had_no_task_gets_those_of_the_routes_that_take_it, |bed: Bed| async move {
    one_of_each(&bed).await;
    bed.insert([new("other").routes(&[]).source("other")]).await;
    bed.insert([new("torn").routes(&[]).unreadable()]).await;
    let route = |name: &str, kind: &str| Route {
        sources: Some(vec!["whatsapp".to_owned()]),
        kinds: Some(vec![kind.to_owned()]),
        order: Order::None,
        max_attempts: 7,
        ..Route::new(name)
    };
    let routes = [route("texts", "message.*"), route("statuses", "status.*")];
    let only = Filter { route: Some("statuses".to_owned()), ..Filter::default() };
    let only = Steer { filter: only, ..order(Action::Assign) };
    assert_eq!(steered(&bed, &routes, only).await, moved(1, 0));
    assert_eq!(steered(&bed, &routes, order(Action::Assign)).await, moved(1, 0));
    let recorded = bed.get("recorded").await.summary.tasks;
    let shown: Vec<_> = recorded.iter().map(|t| (&*t.route, t.max_attempts)).collect();
    assert_eq!(shown, [("texts", 7)]);
    assert_eq!(steered(&bed, &routes, order(Action::Assign)).await, moved(0, 0));
});

store_test!(tasks_become_those_of_another_route, |bed: Bed| async move {
    one_of_each(&bed).await;
    bed.insert([new("two").routes(&["a", "b"]), new("has").routes(&["a", "to"])]).await;
    let to = [Route::new("to")];
    let reroute = order(Action::Reroute("to".into()));
    // One of `two`'s, and none of `has`'s.
    assert_eq!(steered(&bed, &to, reroute.clone()).await, moved(6, 2));
    let routes = |tasks: Vec<hookonce::task::Task>| {
        tasks.into_iter().map(|task| task.route).collect::<Vec<_>>()
    };
    assert_eq!(routes(bed.get("two").await.summary.tasks), ["b", "to"]);
    assert_eq!(routes(bed.get("has").await.summary.tasks), ["a", "to"]);
    assert_eq!(routes(bed.get("completed").await.summary.tasks), ["r"]);
    let nowhere = steer(&*bed.store, &[], &reroute, &mut |_| ()).await;
    assert!(matches!(nowhere, Err(StoreError::Unsupported(_))), "{nowhere:?}");
});

store_test!(every_task_of_an_event_that_is_named_is_meant, |bed: Bed| async move {
    one_of_each(&bed).await;
    let one = async |key: &str, route: Option<&str>, action: &Action, effect| {
        let routes = [Route::new("r"), Route::new("s")];
        steer_event(&*bed.store, &routes, id(key), route, action, effect).await.unwrap()
    };
    let cases = [
        ("completed", None, Action::Replay, Some(moved(0, 1))),
        ("completed", Some("s"), Action::Rerun, Some(moved(0, 0))),
        ("completed", None, Action::Rerun, Some(moved(1, 0))),
        ("dead", None, Action::Bury, Some(moved(0, 1))),
        ("dead", None, Action::Rerun, Some(moved(1, 0))),
        ("due", None, Action::Replay, Some(moved(0, 1))),
        ("due", None, Action::Assign, Some(moved(0, 1))),
        ("recorded", None, Action::Replay, Some(moved(0, 0))),
        ("recorded", Some("s"), Action::Assign, Some(moved(1, 0))),
        ("recorded", None, Action::Assign, Some(moved(0, 1))),
        ("retry", None, Action::Reroute("s".into()), Some(moved(1, 0))),
        ("unknown", None, Action::Replay, None),
    ];
    for (key, route, action, expected) in cases {
        assert_eq!(one(key, route, &action, Effect::DryRun).await, expected, "{key} {action:?}");
        assert_eq!(one(key, route, &action, Effect::Real).await, expected, "{key} {action:?}");
    }
});

store_test!(no_more_are_moved_than_the_limit_and_the_oldest_first, |bed: Bed| async move {
    for n in 0..5 {
        bed.insert([new(&format!("k{n}"))]).await;
    }
    let bury = |limit| Steer { limit: Some(limit), ..order(Action::Bury) };
    assert_eq!(steered(&bed, &[], bury(0)).await, moved(0, 0));
    assert_eq!(steered(&bed, &[], bury(2)).await, moved(2, 0));
    assert_eq!(states(&bed).await[1..3], ["k1 dead", "k2 pending"]);
    // What is left counts nothing towards it.
    let dead = Filter { state: Some(StateFilter::Movable), ..Filter::default() };
    assert_eq!(steered(&bed, &[], Steer { filter: dead, ..bury(2) }).await, moved(2, 0));
});

store_test!(what_is_pruned_is_left, |bed: Bed| async move {
    bed.insert([new("a"), new("b").routes(&[])]).await;
    bed.store.bury(&[task_id("a")]).await.unwrap();
    bed.drop_payloads(&["a", "b"]);
    let routes: Arc<[Route]> = Arc::from([Route::new("to")]);
    for action in [Action::Replay, Action::Reroute("to".into()), Action::Assign] {
        assert_eq!(steered(&bed, &routes, order(action)).await, moved(0, 1));
    }
});
