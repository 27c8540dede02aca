//! `claim`: what is due, in which order, and what has lapsed.

use std::time::Duration;

use hookonce::event::Priority;
use hookonce::task::{Outcome, StepState};

use super::worker::{Claimed, Place, claim, keys};
use crate::bed::{Connection, id, new};

const MINUTE: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_carries_the_event_and_the_steps_that_are_done() {
    let place = Place::make().await;
    place.bed.insert([new("a").lane("l")]).await;
    let first = &place.bed.claim(1).await[0];
    let steps = [("text", Some("42 \\u0000 \"")), ("json", Some(r#"{"n":[1]}"#)), ("none", None)];
    for (name, result) in steps.into_iter().chain([("odd", Some(r#""\u0000""#))]) {
        place.bed.store.record_step(first, name, StepState::Done, result).await.unwrap();
    }
    place.bed.store.record_step(first, "begun", StepState::Begun, None).await.unwrap();
    place.bed.clock.advance(MINUTE);
    assert!(place.claim(1).is_empty(), "it has lapsed, and waits for its retry");
    place.bed.clock.advance(MINUTE);
    let claim = place.claim_one();
    let expected = serde_json::json!({
        "id": id("a").to_string(), "route": "r", "token": claim.get("token"), "epoch": 3, "attempt": 2,
        "lease_until": claim.get("lease_until"), "source": "whatsapp", "key": "a",
        "kind": "message.text", "lane": "l", "content_type": "application/json",
        "payload": r#"{"key":"a"}"#, "element": "",
        "steps": {"text": "42 \\u0000 \"", "json": {"n": [1]}, "none": null, "odd": r#""\u0000""#},
    });
    assert_eq!(claim.0, expected);
    let left = place.text("select lease_until - hookonce.clock() from hookonce.tasks");
    assert_eq!(left, "00:01:00");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_come_by_priority_and_age() {
    let place = Place::make().await;
    for (key, priority) in [("2", 2), ("1", 1), ("0", 0), ("1b", 1)] {
        for lane in ["null", "'l'"] {
            place.worker.run(&format!(
                "select hookonce.receive('whatsapp', '{key}' || coalesce({lane}, ''), 'message.text', \
                 {lane} || '{key}', '', priority => {priority})"
            ));
        }
        place.bed.clock.advance(Duration::from_millis(1));
    }
    assert_eq!(keys(&place.claim(3)), ["0", "0l", "1"]);
    assert_eq!(keys(&place.claim(10)), ["1l", "1b", "1bl", "2", "2l"]);
    assert!(place.claim(10).is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_task_of_a_lane_is_claimed_at_a_time_in_order() {
    let place = Place::make().await;
    for key in ["a1", "a2", "b1", "a3"] {
        place.receive(key, &key[..1]);
    }
    let first = place.claim(10);
    assert_eq!(keys(&first), ["a1", "b1"]);
    assert!(place.claim(10).is_empty());
    place.worker.run(&first[0].call("retry", ", 'again', '1 second'"));
    assert!(place.claim(10).is_empty(), "the lane waits for the retry");
    place.bed.clock.advance(Duration::from_secs(1));
    let again = place.claim_one();
    assert_eq!(again.get("key"), "a1");
    place.worker.run(&again.call("finish", ""));
    let second = place.claim_one();
    assert_eq!(second.get("key"), "a2");
    place.worker.run(&second.call("bury", ", 'never'"));
    assert_eq!(place.claim_one().get("key"), "a3");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_poisonous_event_dies_after_its_attempts_and_its_lane_goes_on() {
    let place = Place::make().await;
    place.receive("poison", "l");
    place.receive("next", "l");
    for attempt in 1..=3 {
        let claim = place.claim_one();
        assert_eq!((claim.get("key"), claim.0["attempt"].as_i64()), ("poison", Some(attempt)));
        place.bed.clock.advance(MINUTE);
        if attempt < 3 {
            assert!(place.claim(10).is_empty(), "reaped, it waits for its retry");
            assert!(place.error(&claim.call("finish", "")).contains("HK001"));
            place.bed.clock.advance(MINUTE);
        }
    }
    assert_eq!(place.claim_one().get("key"), "next");
    assert_eq!(place.task("poison"), "dead 3 6 worker lost: its lease ended before it finished");
    let attempts = place.rows(
        "select concat_ws(' ', epoch, attempt, worker, outcome) from hookonce.attempts order by epoch",
    );
    assert_eq!(attempts, ["1 1 tester lapsed", "3 2 tester lapsed", "5 3 tester lapsed"]);
    assert_eq!(place.bed.store.counts().await.unwrap().dead, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_that_cannot_be_meant_is_refused_by_a_code() {
    let place = Place::make().await;
    place.receive("a", "");
    for (arguments, code, says) in [
        ("'w', '{own}', '60s', 1", "HK002", "`own`"),
        ("'w', '{r,nowhere}', '60s', 1", "HK002", "`nowhere`"),
        ("'w', '{}', '60s', 1", "HK004", "routes"),
        ("'w', null, '60s', 1", "HK004", "routes"),
        ("'w', '{r,null}', '60s', 1", "HK004", "routes"),
        ("'w', '{r}', '60s', 0", "HK004", "1 to 1000"),
        ("'w', '{r}', '60s', 1001", "HK004", "1 to 1000"),
        ("'w', '{r}', '60s', null", "HK004", "1 to 1000"),
        ("'w', '{r}', '0s', 1", "HK004", "lease"),
        ("'w', '{r}', '-1s', 1", "HK004", "lease"),
        ("'w', '{r}', '1000000 years', 1", "HK004", "lease"),
        ("'w', '{r}', null, 1", "HK004", "lease"),
        ("'', '{r}', '60s', 1", "HK004", "worker"),
        ("null, '{r}', '60s', 1", "HK004", "worker"),
    ] {
        let error = place.error(&format!("select hookonce.claim({arguments})"));
        assert!(error.contains(code) && error.contains(says), "{arguments}: {error}");
    }
    for level in ["repeatable read", "serializable"] {
        let call = "select hookonce.claim('w', '{r}', '60s', 1)";
        let error = place.error(&format!("begin isolation level {level}; {call}"));
        assert!(error.contains("HK003") && error.contains("of its own"), "{error}");
        place.worker.run("rollback");
    }
    assert_eq!(place.claim(1000).len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lane_whose_wake_was_lost_is_found() {
    let place = Place::make().await;
    place.receive("a", "l");
    place.receive("b", "m");
    place.worker.run("delete from hookonce.wakes");
    let mut found = place.claim(10);
    found.sort_by_key(|claim| claim.get("key").to_owned());
    assert_eq!(keys(&found), ["a", "b"]);
    assert!(place.claim(10).is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wakes_of_lanes_that_are_done_do_not_add_up() {
    let place = Place::make().await;
    place
        .worker
        .run("insert into hookonce.wakes select gen_random_uuid() from generate_series(1, 2500)");
    place.receive_kind("other", "hold.x", "l");
    place.receive("a", "l");
    let kept = "select count(*) < 2048 from hookonce.wakes";
    assert_eq!(keys(&place.claim(1)), ["a"]);
    for _ in 0..2 {
        place.claim(1);
    }
    assert_eq!(place.text(kept), "t");
    assert_eq!(keys(&claim(&place.worker, "hold", 1)), ["other"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_server_and_sql_work_on_the_same_tasks() {
    let place = Place::make().await;
    place.bed.insert([new("a").lane("l"), new("b").lane("l")]).await;
    place.receive("c", "l");
    let first = place.claim_one();
    assert_eq!(first.get("key"), "a");
    assert!(place.bed.claim(10).await.is_empty());
    place.worker.run(&first.call("finish", ""));
    let second = place.bed.claim_one().await;
    assert_eq!(second.event.key, "b");
    assert!(place.claim(10).is_empty());
    place.bed.store.finish(&second, &Outcome::Completed).await.unwrap();
    let third = place.bed.claim_one().await;
    assert_eq!((&*third.event.key, third.event.priority), ("c", Priority::Normal));
    place.bed.store.finish(&third, &Outcome::Completed).await.unwrap();
    let counts = place.bed.store.counts().await.unwrap();
    assert_eq!((counts.events, counts.completed, counts.pending), (3, 3, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_workers_book_each_event_once_and_each_lane_in_order() {
    const LANES: usize = 10;
    const EVENTS: usize = 200;
    let place = Place::make().await;
    place.worker.run("create table booked (n bigserial, key text unique, lane text)");
    place.worker.run(&format!(
        "select hookonce.receive('whatsapp', lpad(n::text, 4, '0'), 'message.text', \
         'l' || n % {LANES}, '{{}}') from generate_series(1, {EVENTS}) n"
    ));
    let book = |worker: &Connection, claim: &Claimed| {
        let (key, lane) = (claim.get("key"), claim.get("lane"));
        let effect = format!("insert into booked (key, lane) values ('{key}', '{lane}');");
        worker.run(&["begin;", &effect, &claim.call("finish", ""), "commit;"].concat());
    };
    std::thread::scope(|scope| {
        for worker in (0..4).map(|_| place.another()) {
            scope.spawn(move || {
                while worker.texts("select count(*) from booked")[0] != EVENTS.to_string() {
                    for claim in claim(&worker, "r", 3) {
                        book(&worker, &claim);
                    }
                }
            });
        }
    });
    let out_of_order = "select count(*) from (select key < lag(key) over (partition by lane order by n) \
                        as late from booked) b where late";
    assert_eq!(place.text(out_of_order), "0");
    assert_eq!(place.bed.store.counts().await.unwrap().completed, EVENTS as u64);
}
