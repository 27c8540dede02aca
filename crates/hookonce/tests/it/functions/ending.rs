//! What is written after a claim, only while its token holds.

use std::time::Duration;

use hookonce::store::Release;
use hookonce::task::{DeadLane, Outcome};

use super::worker::{Claimed, Place, claim};
use crate::bed::{id, new, task_id};

const MINUTE: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_effect_and_the_finish_are_one_transaction() {
    let place = Place::make().await;
    place.receive("a", "l");
    let claim = place.claim_one();
    let effect = "begin; insert into ledger values ('a');";
    place.worker.run(&[effect, &claim.call("finish", ""), "rollback;"].concat());
    assert_eq!(place.task("a"), "claimed 1 1");
    place.worker.run(&[effect, &claim.call("finish", ""), "commit;"].concat());
    assert_eq!(place.task("a"), "completed 1 1");
    assert_eq!(place.text("select count(*) from ledger"), "1");
}

/// The calls that a worker makes after a claim.
fn writes(claim: &Claimed) -> [String; 6] {
    [
        claim.call("finish", ""),
        claim.call("retry", ", 'error'"),
        claim.call("bury", ", 'error'"),
        claim.call("release", ", '0'"),
        claim.call("extend", ", '60s'"),
        claim.call("record_step", ", 'step', '1'"),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_claim_raises_and_the_effect_rolls_back() {
    let place = Place::make().await;
    place.receive("a", "l");
    let lost = place.claim_one();
    place.bed.clock.advance(MINUTE);
    assert!(place.claim(1).is_empty());
    place.bed.clock.advance(MINUTE);
    let held = place.claim_one();
    for call in writes(&lost) {
        let error = place.error(&format!("begin; insert into ledger values ('a'); {call} commit;"));
        assert!(error.contains("HK001") && error.contains("is lost"), "{call}: {error}");
        assert!(error.contains("Roll back"), "{call}: {error}");
        // What drivers do.
        place.worker.run("rollback");
    }
    for call in ["finish(null, null, null)", "finish(gen_random_uuid(), 'r', gen_random_uuid())"] {
        assert!(place.error(&format!("select hookonce.{call}")).contains("HK001"), "{call}");
    }
    assert_eq!(place.text("select count(*) from ledger"), "0");
    assert_eq!(place.task("a"), "claimed 2 3 worker lost: its lease ended before it finished");
    assert_eq!(place.text("select count(*) from hookonce.steps"), "0");
    place.worker.run(&held.call("finish", ""));
    for call in writes(&held) {
        assert!(place.error(&call).contains("HK001"), "{call}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_that_ended_still_finishes_until_it_is_taken_over_but_is_not_extended() {
    let place = Place::make().await;
    place.receive("a", "");
    let claim = place.claim_one();
    place.worker.run(&claim.call("extend", ", '2 minutes'"));
    place.bed.clock.advance(MINUTE);
    place.worker.run(&claim.call("extend", ", '60s'"));
    place.bed.clock.advance(MINUTE);
    let error = place.error(&claim.call("extend", ", '60s'"));
    assert!(error.contains("HK001") && error.contains("its lease has ended"), "{error}");
    assert!(place.error(&claim.call("extend", ", '0s'")).contains("HK004"));
    place.worker.run(&claim.call("finish", ""));
    assert_eq!(place.task("a"), "completed 1 1");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_retry_waits_by_the_policy_or_as_long_as_is_asked_and_the_last_one_is_dead() {
    let place = Place::make().await;
    place.receive("a", "");
    let waits = |from: &str, to: &str| {
        let due = format!(
            "select due_at - hookonce.clock() between '{from}' and '{to}' from hookonce.tasks"
        );
        assert_eq!(place.text(&due), "t");
    };
    let first = place.claim_one();
    for wrong in [", 'error', '-1s'", ", 'error', '31 days'"] {
        assert!(place.error(&first.call("retry", wrong)).contains("HK004"), "{wrong}");
    }
    place.worker.run(&first.call("retry", ", 'first'"));
    assert_eq!(place.task("a"), "pending 1 1 first");
    waits("2.5s", "5s");
    place.bed.clock.advance(Duration::from_secs(5));
    place.worker.run(&place.claim_one().call("retry", ", 'second', '1 hour'"));
    waits("1h", "1h");
    place.bed.clock.advance(MINUTE * 60);
    // Cut between characters.
    place.worker.run(&place.claim_one().call("retry", ", 'x' || repeat('é', 2000), '1 hour'"));
    assert_eq!(place.text("select state from hookonce.tasks"), "dead");
    let kept = "select octet_length(error) || right(error, 1) from hookonce.tasks";
    assert_eq!(place.text(kept), "2047é");
    assert_eq!(place.text("select count(*) from hookonce.attempts"), "3");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_buried_task_lets_its_lane_go_on_or_holds_it_as_the_route_says() {
    let place = Place::make().await;
    for key in ["h1", "h2"] {
        place.receive_kind(key, "hold.x", "l");
    }
    let first = claim(&place.worker, "hold", 1).remove(0);
    place.worker.run(&first.call("bury", ", 'never'"));
    assert_eq!(place.task("h1"), "dead 1 1 never");
    assert!(claim(&place.worker, "hold", 10).is_empty(), "the lane is held");
    let h1 = hookonce::task::TaskId { event_id: id("h1"), route: "hold".into() };
    place.bed.store.bury(&[h1]).await.unwrap();
    assert_eq!(claim(&place.worker, "hold", 10)[0].get("key"), "h2");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_release_does_not_count_and_writes_no_attempt() {
    let place = Place::make().await;
    place.receive("a", "l");
    let claim = place.claim_one();
    assert!(place.error(&claim.call("release", ", '-1s'")).contains("HK004"));
    place.worker.run(&claim.call("release", ", '10s'"));
    assert_eq!(place.task("a"), "pending 0 1");
    assert!(place.claim(1).is_empty());
    place.bed.clock.advance(Duration::from_secs(10));
    place.worker.run(&place.claim_one().call("release", ", null"));
    assert_eq!(place.claim_one().0["attempt"], 1);
    assert_eq!(place.text("select count(*) from hookonce.attempts"), "0");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_step_is_remembered_with_its_effect_and_within_limits() {
    let place = Place::make().await;
    place.receive("a", "");
    let claim = place.claim_one();
    let step = |rest: &str| claim.call("record_step", rest);
    for wrong in ["'', null", "null, null", "repeat('x', 129), null", "E'a\\nb', null"] {
        assert!(place.error(&step(&format!(", {wrong}"))).contains("HK004"), "{wrong}");
    }
    assert!(place.error(&step(", 'a', to_jsonb(repeat('x', 20000))")).contains("16 KiB"));
    let booked = step(r#", 'book', '{"n": 7}'"#);
    place.worker.run(&["begin; insert into ledger values ('a');", &booked, "commit;"].concat());
    place.worker.run(&step(", 'none', null"));
    place.worker.run(&step(", 'book', '8'"));
    for n in 2..64 {
        place.worker.run(&step(&format!(", 's{n}', null")));
    }
    assert!(place.error(&step(", 's64', null")).contains("remembers 64 steps"));
    place.worker.run(&step(", 'book', '9'"));
    place.worker.run(&claim.call("retry", ", 'again', '0'"));
    let steps = &place.claim_one().0["steps"];
    assert_eq!((&steps["book"], &steps["none"]), (&9.into(), &serde_json::Value::Null));
}

/// What is left of an event's task, its attempts and counts, but for numbers and ids.
fn left(place: &Place, key: &str) -> Vec<String> {
    place.rows(&format!(
        "select (to_jsonb(t) - '{{seq,event_id,lane_id,token}}'::text[])::text from hookonce.tasks t \
           join hookonce.events e using (seq) where e.key = '{key}' \
         union all select (to_jsonb(a) - 'seq')::text from hookonce.attempts a \
           join hookonce.events e using (seq) where e.key = '{key}' \
         union all select s.state || s.name from hookonce.steps s \
           join hookonce.events e using (seq) where e.key = '{key}' \
         union all select 'wakes ' || count(*) from hookonce.wakes w \
           join hookonce.tasks t using (lane_id) join hookonce.events e using (seq) where e.key = '{key}'"
    ))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sql_leaves_what_the_store_leaves() {
    let place = Place::make().await;
    let dead = Outcome::Dead { error: "e".into(), lane: DeadLane::Pass };
    let retry = Outcome::Retry { after: MINUTE, error: "e".into() };
    let cases = [
        ("finish", "", Some(Outcome::Completed)),
        ("retry", ", 'e', '1 minute'", Some(retry)),
        ("bury", ", 'e'", Some(dead)),
        ("release", ", '0'", None),
    ];
    for (n, (function, rest, outcome)) in cases.into_iter().enumerate() {
        let [by_sql, by_store] = ["sql", "store"].map(|who| format!("{who}{n}"));
        place.bed.insert([new(&by_sql).lane(&by_sql), new(&by_store).lane(&by_store)]).await;
        let claims = place.bed.claim(2).await;
        let begun = hookonce::task::StepState::Begun;
        for claim in &claims {
            place.bed.store.record_step(claim, "s", begun, None).await.unwrap();
        }
        let [sql, store] = [&by_sql, &by_store]
            .map(|key| claims.iter().find(|claim| claim.event.key == *key).unwrap());
        let (task, token) = (
            task_id(&by_sql).event_id,
            place.text(&format!(
                "select token from hookonce.tasks where event_id = '{}'",
                sql.event.id
            )),
        );
        place.worker.run(&format!("select hookonce.{function}('{task}', 'r', '{token}'{rest})"));
        match outcome {
            Some(outcome) => place.bed.store.finish(store, &outcome).await.unwrap(),
            None => place.bed.store.release(store, Release::at_once()).await.unwrap(),
        }
        assert_eq!(left(&place, &by_sql), left(&place, &by_store), "{function}");
    }
    let counts = place.bed.store.counts().await.unwrap();
    assert_eq!((counts.completed, counts.dead), (2, 2));
}
