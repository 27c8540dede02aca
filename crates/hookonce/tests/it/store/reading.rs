//! What people see.

use std::time::Duration;

use hookonce::event::{EventId, NewEvent};
use hookonce::store::{Filter, MirrorSource, Page, Progress, Release, RouteCounts, StateFilter};
use hookonce::task::{DeadLane, Outcome, State, TaskId, Token};

use crate::bed::{Bed, LEASE, id, new, sql_test, store_test, task_id};

fn shown(page: &Page) -> Vec<&str> {
    page.events.iter().map(|event| event.event.key.as_str()).collect()
}

store_test!(pages_run_newest_first_and_miss_nothing and pgbouncer, |bed: Bed| async move {
    for n in 0..25 {
        bed.insert([new(&format!("k{n}"))]).await;
    }
    let (mut filter, mut seen) = (Filter::default(), Vec::new());
    loop {
        let page = bed.store.list(&filter, 10).await.unwrap();
        seen.extend(shown(&page).into_iter().map(str::to_owned));
        filter.after = page.next;
        // Whatever arrives meanwhile is newer than the pages to come.
        bed.insert([new(&format!("new{}", seen.len()))]).await;
        if filter.after.is_none() {
            break;
        }
    }
    let expected: Vec<_> = (0..25).rev().map(|n| format!("k{n}")).collect();
    assert_eq!(seen, expected);
});

store_test!(a_filter_shows_what_it_says, |bed: Bed| async move {
    bed.store
        .mirror(&[MirrorSource { name: "whatsapp".into(), scope: "whatsapp".into() }], &[])
        .await
        .unwrap();
    bed.insert([new("dead"), new("completed"), new("claimed")]).await;
    let claims = bed.claim(3).await;
    let dead = Outcome::Dead { error: "e".to_owned(), lane: DeadLane::Pass };
    bed.store.finish(&claims[0], &dead).await.unwrap();
    bed.store.finish(&claims[1], &Outcome::Completed).await.unwrap();
    bed.insert([
        new("pending").lane("l").source("other").routes(&["s"]),
        new("recorded").routes(&[]),
    ])
    .await;
    let list = async |filter: Filter| {
        let page = bed.store.list(&filter, 10).await.unwrap();
        shown(&page).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let any = Filter::default;
    let text = |text: &str| Some(text.to_owned());
    for state in State::ALL {
        let filter = Filter { state: Some(StateFilter::Task(state)), ..any() };
        assert_eq!(list(filter).await, [state.as_str()]);
    }
    assert_eq!(list(Filter { state: Some(StateFilter::Recorded), ..any() }).await, ["recorded"]);
    assert_eq!(list(Filter { source: text("other"), ..any() }).await, ["pending"]);
    assert_eq!(list(Filter { route: text("s"), ..any() }).await, ["pending"]);
    assert_eq!(list(Filter { lane: text("l"), ..any() }).await, ["pending"]);
    assert_eq!(list(Filter { kind: text("message.*"), ..any() }).await.len(), 5);
    for glob in ["*", "message.text", "m*s*e.t*xt", "*message*text*", "**.*"] {
        assert_eq!(list(Filter { kind: text(glob), ..any() }).await.len(), 5, "{glob}");
    }
    for glob in ["status.*", "message", "*message", "message.text*t", "*x*e*", "m%a*", ""] {
        assert_eq!(list(Filter { kind: text(glob), ..any() }).await.len(), 0, "{glob}");
    }
    assert_eq!(list(Filter { key: text("claimed"), ..any() }).await, ["claimed"]);
    let none = Filter { key: text("claimed"), source: text("other"), ..any() };
    assert_eq!(list(none).await.len(), 0);
});

store_test!(events_of_two_scopes_are_met_once_whatever_a_page_holds, |bed: Bed| async move {
    // Fails when a page ends between two events of one number.
    let of_scope = |scope: &str, key: &str| NewEvent {
        id: EventId::of(scope, key),
        scope: scope.into(),
        ..new(key).at(bed.clock.now())
    };
    let request = ["a", "b", "c"].map(|key| of_scope("whatsapp", key)).to_vec();
    bed.store.insert(request).await.unwrap();
    let request = ["d", "e"].map(|key| of_scope("other", key)).to_vec();
    bed.store.insert(request).await.unwrap();
    for limit in 1..5 {
        let (mut filter, mut seen) = (Filter::default(), Vec::new());
        loop {
            let page = bed.store.list(&filter, limit).await.unwrap();
            seen.extend(shown(&page).into_iter().map(str::to_owned));
            filter.after = page.next;
            if page.next.is_none() {
                break;
            }
        }
        seen.sort();
        assert_eq!(seen, ["a", "b", "c", "d", "e"], "{limit} at once");
    }
});

store_test!(counts_are_exact_at_once and pgbouncer, |bed: Bed| async move {
    bed.insert([new("a"), new("b"), new("c").lane("l"), new("d").lane("l"), new("a")]).await;
    let claims = bed.claim(2).await;
    bed.store.finish(&claims[0], &Outcome::Completed).await.unwrap();
    let dead = Outcome::Dead { error: "e".to_owned(), lane: DeadLane::Pass };
    bed.store.finish(&claims[1], &dead).await.unwrap();
    let counts = bed.store.counts().await.unwrap();
    assert_eq!((counts.events, counts.duplicates), (4, 1));
    assert_eq!((counts.pending, counts.claimed, counts.completed, counts.dead), (2, 0, 1, 1));
    assert_eq!(counts.oldest_due_at, Some(bed.clock.now()));
});

store_test!(a_walk_meets_every_event_once_the_oldest_first, |bed: Bed| async move {
    for n in 0..25 {
        bed.insert([new(&format!("k{n}")).lane("l")]).await;
    }
    bed.store.bury(&[task_id("k3"), task_id("k20")]).await.unwrap();
    let walk = async |filter: Filter, limit| {
        let (mut filter, mut seen) = (filter, Vec::new());
        loop {
            let page = bed.store.walk(&filter, limit).await.unwrap();
            seen.extend(shown(&page).into_iter().map(str::to_owned));
            // Whatever arrives meanwhile is newer, and met at the end.
            if seen.len() == 10 {
                bed.insert([new("late")]).await;
            }
            filter.after = page.next;
            if page.next.is_none() {
                return seen;
            }
        }
    };
    let mut expected: Vec<_> = (0..25).map(|n| format!("k{n}")).collect();
    expected.push("late".to_owned());
    assert_eq!(walk(Filter::default(), 5).await, expected);
    let dead = Filter { state: Some(StateFilter::Task(State::Dead)), ..Filter::default() };
    assert_eq!(walk(dead.clone(), 1).await, ["k3", "k20"]);
    assert_eq!(walk(Filter { lane: Some("l".to_owned()), ..dead }, 100).await, ["k3", "k20"]);
    let movable = Filter { state: Some(StateFilter::Movable), ..Filter::default() };
    assert_eq!(walk(movable, 7).await, expected);
    let nothing = Filter { source: Some("other".to_owned()), ..Filter::default() };
    assert!(walk(nothing, 5).await.is_empty());
});

store_test!(a_page_tells_whether_a_payload_is_there, |bed: Bed| async move {
    bed.insert([new("a"), new("b")]).await;
    bed.drop_payloads(&["a"]);
    let has = |page: Page| page.events.iter().map(|event| event.has_payload).collect::<Vec<_>>();
    assert_eq!(has(bed.store.walk(&Filter::default(), 10).await.unwrap()), [false, true]);
    assert_eq!(has(bed.store.list(&Filter::default(), 10).await.unwrap()), [true, false]);
    assert!(!bed.get("a").await.summary.has_payload && bed.get("b").await.summary.has_payload);
});

store_test!(progress_is_what_is_open_and_what_has_failed, |bed: Bed| async move {
    let progress = async |key: &str| {
        let all = bed.store.progress(&[id("unknown"), id(key)]).await.unwrap();
        assert_eq!(all[0], Progress::default());
        (all[1].open, all[1].failures)
    };
    bed.insert([new("a").routes(&["r", "s"]), new("recorded").routes(&[])]).await;
    assert_eq!((progress("a").await, progress("recorded").await), ((2, 0), (0, 0)));
    let retry = Outcome::Retry { after: LEASE, error: "e".to_owned() };
    bed.store.finish(&bed.claim_one().await, &retry).await.unwrap();
    assert_eq!(progress("a").await, (2, 1));
    bed.clock.advance(LEASE);
    let not_yet = Release::NotYet { after: Duration::ZERO, error: "e".to_owned() };
    bed.store.release(&bed.claim_one().await, not_yet).await.unwrap();
    assert_eq!(progress("a").await, (2, 2));
    bed.claim_one().await;
    bed.clock.advance(LEASE);
    let lapsed = bed.store.reap(Token::draw(), LEASE, 10).await.unwrap().remove(0);
    assert_eq!(progress("a").await, (2, 3));
    bed.store.finish(&lapsed, &Outcome::Completed).await.unwrap();
    bed.store.bury(&[TaskId { route: "s".into(), ..task_id("a") }]).await.unwrap();
    assert_eq!(progress("a").await, (0, 3));
});

store_test!(live_tasks_are_counted_by_route_known_or_not, |bed: Bed| async move {
    bed.store.mirror(&[], &[]).await.unwrap();
    bed.insert([new("a").lane("l").routes(&["r", "gone"])]).await;
    bed.insert([new("b").lane("l").routes(&["r", "gone"]), new("c")]).await;
    let claims = bed.claim(2).await;
    bed.store.finish(&claims[1], &Outcome::Completed).await.unwrap();
    bed.store.bury(&[TaskId { route: "gone".into(), ..task_id("a") }]).await.unwrap();
    let of = |route: &str, [pending, claimed, dead]: [u64; 3]| RouteCounts {
        route: route.to_owned(),
        pending,
        claimed,
        dead,
    };
    let counts = bed.store.routes().await.unwrap();
    assert_eq!(counts, [of("gone", [1, 0, 1]), of("r", [1, 1, 0])]);
});

store_test!(a_store_tells_its_own_time, |bed: Bed| async move {
    let at = bed.store.now().await.unwrap();
    assert_eq!(at, bed.clock.now());
});

sql_test!(readiness_is_red_once_the_tables_are_newer, |bed: Bed| async move {
    bed.store.ready().await.unwrap();
    bed.sql.run_either(
        "insert into hookonce_migrations (version, at) values (99, 0)",
        "insert into hookonce_migrations (version, at) values (99, now())",
    );
    let red = bed.store.ready().await.unwrap_err().to_string();
    assert!(red.contains("version 99") && red.contains("use the newer hookonce"), "{red}");
});
