//! A transaction of a worker that is held open holds nobody up but whoever wants the very same.

use std::time::{Duration, Instant};

use hookonce::store::{Arrival, ClaimOrder};
use hookonce::task::Outcome;
use tokio::time::timeout;

use super::worker::{Place, claim, keys};
use crate::bed::{LEASE, for_route, new, order};

/// Well below the limit under which an insert waits for a lock.
const SOON: Duration = Duration::from_millis(400);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_held_open_keeps_its_own_lanes_alone() {
    let place = Place::make().await;
    for key in ["a1", "a2", "b1", "b2", "c1"] {
        place.receive(key, &key[..1]);
    }
    place.bed.insert([new("free")]).await;
    let careless = place.another();
    careless.run("begin");
    assert_eq!(keys(&claim(&careless, "r", 1)), ["free"]);
    assert_eq!(keys(&claim(&careless, "r", 1)), ["a1"]);
    for worker in [&place.worker, &place.another()] {
        worker.run("set lock_timeout = '300ms'");
    }
    let start = Instant::now();
    assert_eq!(
        place.bed.insert([new("a3").lane("a"), new("b3").lane("b")]).await,
        [Arrival::New; 2]
    );
    place.receive("a4", "a");
    assert_eq!(keys(&place.claim(1)), ["b1"]);
    assert_eq!(keys(&place.claim(10)), ["c1"]);
    place
        .worker
        .run("update hookonce.tasks set lease_until = hookonce.clock() where state = 'claimed'");
    assert!(place.claim(10).is_empty());
    assert!(start.elapsed() < SOON * 3, "{:?}", start.elapsed());
    place.bed.clock.advance(Duration::from_secs(5));
    let again = place.bed.claim(10).await;
    assert_eq!(again.len(), 2, "the server has the other lanes");
    careless.run("commit");
    for claim in &again {
        place.bed.store.finish(claim, &Outcome::Completed).await.unwrap();
    }
    assert_eq!(keys(&place.claim(10)), ["b2"]);
}

/// Fails without the widening of `take.sql`: all that it looks at first is held.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_behind_very_many_tasks_that_are_held_is_found() {
    let place = Place::make().await;
    for (key, lane) in [("'free' || n", "null"), ("'laned' || n", "'l' || n")] {
        place.worker.run(&format!(
            "select hookonce.receive('whatsapp', {key}, 'message.text', {lane}, '{{}}') \
             from generate_series(1, 300) n"
        ));
        let careless = place.another();
        careless.run("begin");
        assert_eq!(claim(&careless, "r", 300).len(), 300);
        place.worker.run(&format!(
            "select hookonce.receive('whatsapp', {key}, 'message.text', lane, '{{}}') \
             from (values (301, null), (302, 'behind')) as v (n, lane)"
        ));
        let found = place.claim(10);
        assert_eq!(found.len(), 2, "{lane}: {:?}", keys(&found));
        for claim in found {
            place.worker.run(&claim.call("finish", ""));
        }
        careless.run("commit");
    }
}

/// Fails when `claim` drains the list where it is long, and when `drain_wakes` waits for wakes that an
/// open claim has trimmed, or looks at them again and again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_held_open_keeps_its_own_lanes_alone_where_very_many_are_woken() {
    let place = Place::make().await;
    for (kind, lane) in [("own.x", "o"), ("message.text", "m")] {
        place.worker.run(&format!(
            "select hookonce.receive('whatsapp', '{lane}' || n, '{kind}', '{lane}' || n, '{{}}') \
             from generate_series(1, 1500) n"
        ));
    }
    // These have a head, so that their wakes are trimmed.
    place.worker.run(
        "with heads as (update hookonce.tasks set due_at = hookonce.clock() where seq % 10 = 0 \
         returning lane_id) insert into hookonce.wakes select lane_id from heads",
    );
    let careless = place.another();
    careless.run("begin");
    // Wherever it looks at the list: at all of it.
    for _ in 0..8 {
        assert_eq!(claim(&careless, "r", 1).len(), 1);
    }
    let routes = ["r", "own"].map(|name| for_route(name, LEASE));
    let mut got = 0;
    while got < 2992 {
        let order = ClaimOrder { routes: routes.to_vec(), ..order(500) };
        let claims = timeout(SOON * 5, place.bed.store.claim(order)).await.unwrap().unwrap();
        assert!(!claims.is_empty(), "no more than {got} of the tasks are free");
        got += claims.len();
    }
    assert_eq!(got, 2992);
    careless.run("commit");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_finish_held_open_keeps_its_own_lane_alone() {
    let place = Place::make().await;
    for key in ["a1", "a2", "b1", "b2"] {
        place.receive(key, &key[..1]);
    }
    let claims = place.claim(10);
    let careless = place.another();
    careless.run(&format!("begin; {}", claims[0].call("finish", "")));
    place.worker.run("set lock_timeout = '300ms'");
    let start = Instant::now();
    assert_eq!(
        place.bed.insert([new("a3").lane("a"), new("b3").lane("b")]).await,
        [Arrival::New; 2]
    );
    place.receive("a4", "a");
    place.worker.run(&claims[1].call("finish", ""));
    assert_eq!(place.bed.claim(1).await[0].event.key, "b2");
    assert!(place.claim(10).is_empty());
    place.bed.clock.advance(Duration::from_secs(60));
    assert!(place.bed.claim(10).await.is_empty());
    assert!(start.elapsed() < SOON * 3, "{:?}", start.elapsed());
    careless.run("commit");
    assert_eq!(keys(&place.claim(1)), ["a2"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receive_held_open_keeps_its_own_key_alone() {
    let place = Place::make().await;
    let careless = place.another();
    careless.run(
        "begin; select hookonce.receive('whatsapp', 'a1', 'message.text', 'a', '{\"key\":\"a1\"}')",
    );
    let start = Instant::now();
    assert_eq!(
        place.bed.insert([new("a2").lane("a"), new("b1").lane("b")]).await,
        [Arrival::New; 2]
    );
    place.worker.run("set lock_timeout = '300ms'");
    place.receive("a3", "a");
    assert_eq!(keys(&place.claim(10)), ["a2", "b1"]);
    assert!(start.elapsed() < SOON * 2, "{:?}", start.elapsed());
    assert!(place.bed.store.insert(vec![new("a1").at(place.bed.clock.now())]).await.is_err());
    careless.run("commit");
    assert_eq!(place.bed.insert([new("a1")]).await, [Arrival::Duplicate]);
}
