//! `receive`: an event is stored once, by whomever, and gets the tasks that the server would give it.

use std::time::Duration;

use hookonce::event::{EventId, Key, Kind, Lane};
use hookonce::route::glob_matches;
use hookonce::store::{Arrival, Retention};

use super::worker::{Place, keys};
use crate::bed::{id, new};

fn receive(key: &str, payload: &str) -> String {
    format!(
        "select is_new from hookonce.receive('whatsapp', '{key}', 'message.text', 'l', '{payload}')"
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_is_stored_once_and_its_copies_are_noted() {
    let place = Place::make().await;
    assert_eq!(place.text(&receive("a", "{}")), "t");
    assert_eq!(place.text(&receive("a", "{}")), "f");
    for n in 0..5 {
        assert_eq!(place.text(&receive("a", &format!("[{n}]"))), "f");
    }
    let details = place.bed.get("a").await;
    assert_eq!((details.summary.copies, details.summary.mismatches), (7, 5));
    let kept: Vec<_> = details.arrivals.iter().filter_map(|a| a.element.as_deref()).collect();
    assert_eq!(kept, ["[0]", "[1]", "[2]"]);
    assert_eq!(details.summary.tasks.len(), 1);
    let counts = place.bed.store.counts().await.unwrap();
    assert_eq!((counts.events, counts.duplicates, counts.pending), (1, 6, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_is_the_same_whoever_stores_it() {
    let place = Place::make().await;
    let payload = r#"{"key":"a"}"#;
    assert_eq!(place.bed.insert([new("a").lane("l")]).await, [Arrival::New]);
    assert_eq!(place.text(&receive("a", payload)), "f");
    assert_eq!(place.text(&receive("b", r#"{"key":"b"}"#)), "t");
    assert_eq!(place.bed.insert([new("b").lane("l")]).await, [Arrival::Duplicate]);
    let lanes = "select count(distinct lane_id) from hookonce.tasks";
    assert_eq!(place.text(lanes), "1", "they are in one lane");
    let seconds = "select id from hookonce.receive('second', 'a', 'message.text', null, '{}')";
    assert_eq!(place.text(seconds), id("a").to_string(), "sources of one scope share events");
    let unknown = "select id from hookonce.receive('unknown', 'a', 'message.text', null, '{}')";
    assert_eq!(place.text(unknown), EventId::of("unknown", "a").to_string());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ids_keys_lanes_and_kinds_are_those_of_the_library() {
    let place = Place::make().await;
    let vector = "select hookonce.event_id('whatsapp', 'message:200000000000001:wamid.TEST0001')";
    assert_eq!(place.text(vector), "c0fa7022-8b40-85d9-86c1-3f71bb80f8c7");
    let seed = fastrand::u64(..);
    let mut random = fastrand::Rng::with_seed(seed);
    let letters =
        ['a', 'Z', '9', '_', '.', ' ', 'é', '𝄞', '\u{1}', '\u{7f}', '\u{85}', '\u{fffd}', '\n'];
    for n in 0..300 {
        // Mostly printable ones, and some of every length around the limits.
        let few = if n % 3 == 0 { letters.len() } else { 8 };
        let length = if n % 2 == 0 { random.usize(1..9) } else { random.usize(100..600) };
        let text: String = (0..length).map(|_| letters[random.usize(..few)]).collect();
        let sql = format!(
            "with k (t) as (values ('{text}')) select concat_ws('|', hookonce.event_id('s', \
             hookonce.plain_text(t, 512)), hookonce.plain_text(t, 512), hookonce.plain_text(t, 256), \
             hookonce.kind_of(t)) from k"
        );
        let (key, lane) = (Key::of(&[&text]), Lane::of(&[&text]));
        let (key, lane, kind) = (key.as_str(), lane.as_str(), Kind::of("", Some(&text)));
        let expected = format!("{}|{key}|{lane}|{}", EventId::of("s", key), kind.as_str());
        assert_eq!(place.text(&sql), expected, "{text:?}, seed {seed}");
    }
    assert_eq!(place.text("select hookonce.kind_of(null)"), "unknown");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn routes_take_by_source_and_globs_as_the_library_does() {
    let place = Place::make().await;
    let globs = [
        "*",
        "message.*",
        "*.text",
        "m*.t*t",
        "",
        "m_ssage.text",
        "%",
        "mess*age*",
        "*.tex",
        "m*x*x",
    ];
    for glob in globs {
        for kind in ["message.text", "message", "message.text.x", "a.b"] {
            let sql = place.text(&format!("select hookonce.glob_matches('{glob}', '{kind}')"));
            assert_eq!(sql == "t", glob_matches(glob, kind), "{glob} {kind}");
        }
    }
    place.worker.run(
        "insert into hookonce.routes select 'second-only', '{second}', null, 9, retry_min, retry_max, \
         on_dead, 'none', worker from hookonce.routes where name = 'r'",
    );
    place.worker.run("select hookonce.receive('second', 'a', 'Message.TEXT', 'l', '{}')");
    let tasks = place.rows(
        "select concat_ws(' ', route, max_attempts, lane_id is null, due_at is null) from hookonce.tasks \
         order by route",
    );
    assert_eq!(tasks, ["r 3 f t", "second-only 9 t f"]);
    place.receive_kind("nobody", "other", "");
    let counts = place.bed.store.counts().await.unwrap();
    assert_eq!((counts.unrouted, counts.events), (1, 2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_duplicate_aborts_nothing_and_a_rollback_stores_nothing() {
    let place = Place::make().await;
    place.receive("a", "l");
    place.worker.run("begin; insert into ledger values ('x');");
    assert_eq!(place.text(&receive("a", "{}")), "f");
    assert_eq!(place.text(&receive("b", "{}")), "t");
    assert_eq!(place.text(&receive("b", "{}")), "f");
    place.worker.run("commit");
    assert_eq!(place.text("select count(*) from ledger"), "1");
    place.worker.run("begin");
    assert_eq!(place.text(&receive("c", "{}")), "t");
    place.worker.run("rollback");
    assert_eq!(place.text(&receive("c", "{}")), "t");
    assert_eq!(place.bed.store.counts().await.unwrap().events, 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_at_once_the_second_waits_for_the_first_and_is_not_new() {
    let place = Place::make().await;
    for (end, expected) in [("commit", "f"), ("rollback", "t")] {
        let (first, second) = (place.another(), place.another());
        first.run("begin");
        assert_eq!(first.texts(&receive(end, "{}")), ["t"]);
        let said = std::thread::scope(|scope| {
            let said = scope.spawn(|| second.texts(&receive(end, "{}")));
            place.until(
                "select count(*) > 0 from pg_stat_activity where wait_event = 'transactionid'",
            );
            // Only that key: others are stored meanwhile.
            place.receive(&format!("other-{end}"), "l");
            first.run(end);
            said.join().unwrap()
        });
        assert_eq!(said, [expected], "{end}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn above_read_committed_the_error_says_what_to_do() {
    let place = Place::make().await;
    place.receive("known", "l");
    for level in ["repeatable read", "serializable"] {
        let other = place.another();
        place.worker.run(&format!("begin isolation level {level}; select count(*) from ledger"));
        assert_eq!(place.text(&receive("known", "{}")), "f");
        assert_eq!(place.text(&receive(&format!("new-{level}"), "{}")), "t");
        other.run(&receive(level, "{}"));
        let error = place.error(&receive(level, "{}"));
        assert!(error.contains("40001") && error.contains("whole transaction again"), "{error}");
        place.worker.run("rollback");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_too_old_to_be_proven_new_is_dead() {
    let place = Place::make().await;
    let day = Duration::from_secs(24 * 3600);
    place.bed.insert([new("pruned").routes(&[]).sent_at(place.bed.clock.now())]).await;
    place.bed.clock.advance(day * 3);
    let retention = Retention { payload: day, key: day, dead: day };
    while place.bed.store.prune(&retention, 100).await.unwrap().more {}
    place.bed.store.prune(&retention, 100).await.unwrap();
    let pruned_until = place.text("select value from hookonce.meta");
    for (key, priority, sent_at) in [
        ("old", 0, format!("'{pruned_until}'")),
        ("history", 2, format!("'{pruned_until}'")),
        ("young", 0, format!("'{pruned_until}'::timestamptz + interval '1 ms'")),
        ("odd", 0, "'infinity'".to_owned()),
    ] {
        place.worker.run(&format!(
            "select hookonce.receive('whatsapp', '{key}', 'message.text', 'l', '{{}}', \
             priority => {priority}, sent_at => {sent_at})"
        ));
    }
    assert!(place.task("old").starts_with("dead 0 0 too old to be proven new"));
    let claimed = place.claim(10);
    assert_eq!(keys(&claimed), ["history"], "the lane goes on without it");
    assert!(place.bed.get("odd").await.summary.event.sent_at.is_none());
    assert_eq!(place.bed.store.counts().await.unwrap().dead, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_meant_is_refused() {
    let place = Place::make().await;
    for (arguments, says) in [
        ("null, 'k', 'x', null, '{}'", "source"),
        ("'', 'k', 'x', null, '{}'", "source"),
        ("'s', null, 'x', null, '{}'", "key"),
        ("'s', '', 'x', null, '{}'", "key"),
        ("'s', 'k', 'x', null, null", "payload"),
        ("'s', 'k', 'x', null, '{}', priority => 3", "priority"),
        ("'s', 'k', 'x', null, '{}', priority => null", "priority"),
    ] {
        let error = place.error(&format!("select hookonce.receive({arguments})"));
        assert!(error.contains("HK004") && error.contains(says), "{arguments}: {error}");
    }
    assert_eq!(place.bed.store.counts().await.unwrap().events, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_received_is_durable_even_where_the_caller_would_not_wait() {
    let place = Place::make().await;
    place.worker.run("begin; set local synchronous_commit = off;");
    place.worker.run(&receive("a", "{}"));
    assert_eq!(place.text("show synchronous_commit"), "on");
    place.worker.run("rollback");
}
