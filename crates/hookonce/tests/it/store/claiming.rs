//! A task is handled by one worker at a time, in order, and none is forgotten.

use std::collections::HashSet;
use std::time::Duration;

use futures_util::future::join_all;
use hookonce::event::Priority;
use hookonce::store::{ClaimOrder, ClaimRoute, StoreError};
use hookonce::task::{DeadLane, Outcome, StepState, TaskId, Token};

use crate::bed::{Bed, LEASE, for_route, keys, new, order, store_test, task_id};

fn retry(secs: u64) -> Outcome {
    Outcome::Retry { after: Duration::from_secs(secs), error: "e".to_owned() }
}

store_test!(a_claim_raises_attempt_and_epoch_and_carries_the_event, |bed: Bed| async move {
    bed.insert([new("a")]).await;
    let claim = bed.claim_one().await;
    assert_eq!((claim.attempt, claim.epoch, claim.run, claim.max_attempts), (1, 1, 1, 3));
    assert_eq!(claim.event.payload.as_deref(), Some(r#"{"key":"a"}"#));
    assert_eq!(bed.task("a").await, ("claimed", 1, 1));
    assert!(bed.claim(10).await.is_empty());
});

store_test!(
    /// Fails when `state = 'pending' and due_at is not null` is taken out of `claim.sql`.
    no_two_workers_get_one_task and pgbouncer,
    |bed: Bed| async move {
        for n in 0..200 {
            bed.insert([new(&format!("k{n}"))]).await;
        }
        let claims = join_all((0..40).map(|_| bed.claim(10))).await.concat();
        let distinct: HashSet<_> = claims.iter().map(|claim| claim.event.id).collect();
        assert_eq!((claims.len(), distinct.len()), (200, 200));
    }
);

store_test!(a_call_repeated_with_its_token_gives_the_same_claims and pgbouncer, |bed: Bed| async move {
    bed.insert([new("a"), new("b"), new("c")]).await;
    let order = order(2);
    let first = bed.store.claim(order.clone()).await.unwrap();
    let again = bed.store.claim(order).await.unwrap();
    assert_eq!(keys(&first), keys(&again));
    assert_eq!(again[0].attempt, 1);
    assert_eq!(bed.claim_one().await.event.key, "c");
});

store_test!(a_lane_has_one_claim_at_a_time_in_order_of_arrival and pgbouncer, |bed: Bed| async move {
    bed.insert([new("1").lane("l"), new("2").lane("l"), new("3").lane("l"), new("x").lane("m")])
        .await;
    for expected in ["1", "2", "3"] {
        let claims = bed.claim(10).await;
        let claim = claims.iter().find(|claim| claim.event.key == expected).unwrap();
        assert!(claims.len() == if expected == "1" { 2 } else { 1 });
        assert!(bed.claim(10).await.is_empty());
        bed.store.finish(claim, &Outcome::Completed).await.unwrap();
    }
});

store_test!(the_order_within_a_request_is_kept and pgbouncer, |bed: Bed| async move {
    let batch = ["z", "m", "a"].map(|key| new(key).lane("l").at(bed.clock.now())).to_vec();
    bed.store.insert(batch).await.unwrap();
    for expected in ["z", "m", "a"] {
        let claim = bed.claim_one().await;
        assert_eq!(claim.event.key, expected);
        bed.store.finish(&claim, &Outcome::Completed).await.unwrap();
    }
});

store_test!(a_head_that_is_retried_keeps_its_lane_waiting, |bed: Bed| async move {
    bed.insert([new("1").lane("l"), new("2").lane("l"), new("x").lane("m")]).await;
    let claims = bed.claim(10).await;
    bed.store.finish(&claims[0], &retry(5)).await.unwrap();
    bed.store.finish(&claims[1], &Outcome::Completed).await.unwrap();
    assert!(bed.claim(10).await.is_empty());
    bed.clock.advance(Duration::from_secs(6));
    assert_eq!(keys(&bed.claim(10).await), ["1"]);
});

store_test!(a_dead_head_passes_its_lane_or_holds_it, |bed: Bed| async move {
    let dead = |lane| Outcome::Dead { error: "e".to_owned(), lane };
    bed.insert([
        new("p1").lane("p"),
        new("p2").lane("p"),
        new("h1").lane("h"),
        new("h2").lane("h"),
    ])
    .await;
    let claims = bed.claim(10).await;
    assert_eq!(keys(&claims), ["p1", "h1"]);
    bed.store.finish(&claims[0], &dead(DeadLane::Pass)).await.unwrap();
    bed.store.finish(&claims[1], &dead(DeadLane::Hold)).await.unwrap();
    assert_eq!(keys(&bed.claim(10).await), ["p2"]);
    // What arrives behind a lane that is held waits too.
    bed.insert([new("h3").lane("h")]).await;
    assert!(bed.claim(10).await.is_empty());
});

store_test!(two_routes_of_one_event_are_independent, |bed: Bed| async move {
    bed.insert([new("a").lane("l").routes(&["r", "s"]), new("b").lane("l").routes(&["r", "s"])])
        .await;
    let by = |route: &str| ClaimOrder { routes: vec![for_route(route, LEASE)], ..order(10) };
    let r = bed.store.claim(by("r")).await.unwrap();
    let s = bed.store.claim(by("s")).await.unwrap();
    assert_eq!((keys(&r), keys(&s)), (vec!["a"], vec!["a"]));
    bed.store.finish(&s[0], &Outcome::Completed).await.unwrap();
    assert_eq!(keys(&bed.store.claim(by("s")).await.unwrap()), ["b"]);
    assert_eq!(bed.task("a").await, ("claimed", 1, 1));
});

store_test!(the_urgent_come_first_but_some_of_a_batch_is_reserved, |bed: Bed| async move {
    for n in 0..20 {
        bed.insert([
            new(&format!("h{n}")).priority(Priority::History),
            new(&format!("s{n}")).priority(Priority::Normal),
            new(&format!("m{n}")),
        ])
        .await;
    }
    let urgent = bed.claim(4).await;
    assert_eq!(keys(&urgent), ["m0", "m1", "m2", "m3"]);
    let with_reserve = ClaimOrder { reserve: 4, ..order(10) };
    let mixed = bed.store.claim(with_reserve).await.unwrap();
    assert_eq!(keys(&mixed), ["m4", "m5", "m6", "m7", "m8", "m9", "s0", "s1", "s2", "s3"]);
    // Of those that are not urgent, every eighth is of the least urgent.
    let with_reserve = ClaimOrder { reserve: 4, ..order(4) };
    let mixed = bed.store.claim(with_reserve).await.unwrap();
    assert_eq!(keys(&mixed), ["s4", "s5", "s6", "h0"]);
    // Where only one of them is due it gets all.
    let with_reserve = ClaimOrder { reserve: 2, ..order(60) };
    assert_eq!(bed.store.claim(with_reserve).await.unwrap().len(), 42);
});

store_test!(sources_take_turns_whichever_has_more_waiting, |bed: Bed| async move {
    for n in 0..50 {
        bed.insert([new(&format!("a{n}")).source("a")]).await;
    }
    bed.clock.advance(Duration::from_secs(60));
    bed.insert([new("b0").source("b"), new("b1").source("b")]).await;
    assert_eq!(keys(&bed.claim(4).await), ["a0", "b0", "a1", "b1"]);
    bed.insert([new("b2").source("b")]).await;
    // One at a time, neither source waits for the other's backlog.
    let two = [bed.claim(1).await, bed.claim(1).await].concat();
    assert!(keys(&two).contains(&"b2"), "{:?}", keys(&two));
});

store_test!(a_retry_is_due_after_its_delay_and_not_before, |bed: Bed| async move {
    bed.insert([new("a")]).await;
    bed.store.finish(&bed.claim_one().await, &retry(30)).await.unwrap();
    bed.clock.advance(Duration::from_secs(29));
    assert!(bed.claim(10).await.is_empty());
    bed.clock.advance(Duration::from_secs(1));
    let claim = bed.claim_one().await;
    assert_eq!((claim.attempt, claim.epoch), (2, 2));
});

store_test!(other_routes_are_not_claimed, |bed: Bed| async move {
    bed.insert([new("a").routes(&["other"])]).await;
    assert!(bed.claim(10).await.is_empty());
});

store_test!(
    /// Fails when `lease_until > :now` is taken out of `extend.sql`.
    an_ended_lease_is_not_extended and pgbouncer,
    |bed: Bed| async move {
        bed.insert([new("a")]).await;
        let claim = bed.claim_one().await;
        bed.clock.advance(LEASE / 2);
        bed.store.extend(&claim, LEASE).await.unwrap();
        bed.clock.advance(LEASE * 59 / 60);
        bed.store.extend(&claim, LEASE).await.unwrap();
        bed.clock.advance(LEASE);
        assert!(matches!(bed.store.extend(&claim, LEASE).await, Err(StoreError::Lost)));
    }
);

store_test!(only_what_lapsed_is_taken_over and pgbouncer, |bed: Bed| async move {
    bed.insert([new("a"), new("b")]).await;
    let claims = bed.claim(10).await;
    bed.clock.advance(LEASE / 2);
    bed.store.extend(&claims[1], LEASE).await.unwrap();
    assert!(bed.store.reap(Token::draw(), LEASE, 10).await.unwrap().is_empty());
    bed.clock.advance(LEASE / 2);
    let reaped = bed.store.reap(Token::draw(), LEASE, 10).await.unwrap();
    assert_eq!(keys(&reaped), ["a"]);
    assert_eq!((reaped[0].attempt, reaped[0].epoch), (1, 2));
    assert!(bed.store.reap(Token::draw(), LEASE, 10).await.unwrap().is_empty());
});

store_test!(a_lapse_is_one_attempt_in_the_history, |bed: Bed| async move {
    bed.insert([new("a")]).await;
    bed.claim_one().await;
    bed.clock.advance(LEASE);
    // Whoever takes it over may be lost too: that is no attempt.
    bed.store.reap(Token::draw(), LEASE, 10).await.unwrap();
    bed.clock.advance(LEASE);
    let reaped = bed.store.reap(Token::draw(), LEASE, 10).await.unwrap();
    bed.store.finish(&reaped[0], &retry(1)).await.unwrap();
    let details = bed.get("a").await;
    let history: Vec<_> =
        details.attempts.iter().map(|a| (a.epoch, a.attempt, a.outcome.as_str())).collect();
    assert_eq!(history, [(1, 1, "lapsed")]);
    bed.clock.advance(Duration::from_secs(1));
    assert_eq!(bed.claim_one().await.attempt, 2);
});

store_test!(a_task_that_loses_every_worker_dies, |bed: Bed| async move {
    bed.insert([new("poison").lane("l"), new("next").lane("l")]).await;
    for _ in 0..3 {
        assert_eq!(bed.claim_one().await.event.key, "poison");
        bed.clock.advance(LEASE);
        let claim = bed.store.reap(Token::draw(), LEASE, 10).await.unwrap().remove(0);
        let policy = hookonce::retry::RetryPolicy::default();
        let failure = hookonce::step::Failure::transient("worker lost");
        let (attempt, max_attempts) = (claim.attempt, claim.max_attempts);
        let trial = hookonce::retry::Trial { attempt, max_attempts, age: LEASE };
        let outcome = hookonce::retry::outcome(&policy, trial, failure, 1.0);
        bed.store.finish(&claim, &outcome).await.unwrap();
        bed.clock.advance(Duration::from_secs(60));
    }
    assert_eq!(bed.task("poison").await.0, "dead");
    assert_eq!(bed.claim_one().await.event.key, "next");
});

store_test!(a_token_gives_its_claim_and_another_gives_none and pgbouncer, |bed: Bed| async move {
    bed.insert([new("a"), new("b")]).await;
    let claims = bed.claim(2).await;
    let claim = &claims[0];
    bed.store.record_step(claim, "one", StepState::Done, Some("1")).await.unwrap();
    let held = bed.store.claimed(&task_id("a"), claim.token).await.unwrap();
    assert_eq!((held.attempt, held.epoch, held.run, held.reaped), (1, 1, 1, false));
    assert_eq!(held.event.payload.as_deref(), Some(r#"{"key":"a"}"#));
    assert_eq!(held.steps["one"], (StepState::Done, Some("1".to_owned())));
    assert_eq!(held.lease_until, claim.lease_until);
    let other = TaskId { route: "s".into(), ..task_id("a") };
    // Both claims have one token, and it proves either.
    bed.store.claimed(&task_id("b"), claim.token).await.unwrap();
    for (task, token) in
        [(task_id("a"), Token::draw()), (other, claim.token), (task_id("unknown"), claim.token)]
    {
        let none = bed.store.claimed(&task, token).await;
        assert!(matches!(none, Err(StoreError::Lost)), "{task:?}");
    }
    bed.store.finish(&held, &Outcome::Completed).await.unwrap();
    let none = bed.store.claimed(&task_id("a"), claim.token).await;
    assert!(matches!(none, Err(StoreError::Lost)));
});

store_test!(a_route_of_few_places_keeps_some_for_what_is_not_urgent, |bed: Bed| async move {
    for n in 0..20 {
        bed.insert([new(&format!("m{n}")), new(&format!("s{n}")).priority(Priority::Normal)]).await;
    }
    let narrow = ClaimRoute { limit: 4, reserve: 1, ..for_route("r", LEASE) };
    let narrow = |limit| ClaimOrder { routes: vec![narrow.clone()], ..order(limit) };
    assert_eq!(keys(&bed.store.claim(narrow(64)).await.unwrap()), ["m0", "m1", "m2", "s0"]);
    // Where there is room for one, the one that is kept goes first: it was passed over so far.
    assert_eq!(keys(&bed.store.claim(narrow(1)).await.unwrap()), ["s1"]);
});

store_test!(
    /// Fails when `in_turn` begins with the first source, whichever was served last.
    a_route_of_few_places_serves_its_sources_in_turn,
    |bed: Bed| async move {
        for n in 0..10 {
            for source in ["a", "b", "c"] {
                bed.insert([new(&format!("{source}{n}")).source(source)]).await;
            }
        }
        let narrow = ClaimRoute { limit: 3, ..for_route("r", LEASE) };
        let narrow = || ClaimOrder { routes: vec![narrow.clone()], ..order(64) };
        assert_eq!(keys(&bed.store.claim(narrow()).await.unwrap()), ["a0", "b0", "c0"]);
        let one = ClaimRoute { limit: 1, ..for_route("r", LEASE) };
        let one = || ClaimOrder { routes: vec![one.clone()], ..order(64) };
        for next in ["a1", "b1", "c1", "a2"] {
            assert_eq!(keys(&bed.store.claim(one()).await.unwrap()), [next]);
        }
    }
);
