//! A transaction of a worker that is held open holds nobody up but whoever wants the very same.

use std::time::{Duration, Instant};

use hookonce::store::Arrival;
use hookonce::task::Outcome;

use super::worker::{Place, claim, keys};
use crate::bed::new;

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
