//! Rows and lanes that somebody else's open transaction has locked: only what wants the very same waits,
//! and it is told so soon.

use std::pin::pin;
use std::time::Duration;

use hookonce::event::NewEvent;
use hookonce::store::{Arrival, Moved, Release, Retention, StepDone, Store, StoreError};
use hookonce::task::{Claim, NewTask, Outcome, StepState};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use super::{message, open, soon};
use crate::bed::postgres::{Connection, Database};
use crate::bed::{Bed, LEASE, keys, new, statement, task_id};
use crate::working::until;

/// Well below the time for which anything waits for a lock.
const SOON: Duration = Duration::from_millis(400);
/// How long whatever wants the very same may wait until it is told so.
const TOLD: Duration = Duration::from_secs(3);

/// A store with two claimed tasks, the row of one of them locked by somebody else.
struct Bench {
    bed: Bed,
    locked: Claim,
    free: Claim,
    other: Connection,
    _database: Database,
}

impl Bench {
    async fn make() -> Self {
        let (bed, database) = Bed::postgres().await;
        bed.insert([new("a1").lane("a"), new("b1").lane("b"), new("b2").lane("b")]).await;
        let mut claims = bed.claim(2).await;
        let (free, locked) = (claims.remove(1), claims.remove(0));
        let other = Connection::open(&database.url);
        other.run("begin; select * from hookonce.tasks where state = 'claimed' order by seq limit 1 for update");
        Self { bed, locked, free, other, _database: database }
    }
}

/// Does something soon, or the test fails.
async fn quick<T>(work: impl Future<Output = T>) -> T {
    timeout(SOON, work).await.expect("nobody's lock is waited for")
}

/// Fails when `extend.sql` or `finish_tasks` waits for a row that is locked.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_locked_task_keeps_no_other_from_being_extended_and_finished() {
    let Bench { bed, locked, free, other, _database } = Bench::make().await;
    let store = &bed.store;
    let done = Outcome::Completed;
    let (stuck, kept) = tokio::join!(
        timeout(TOLD, store.extend(&locked, LEASE)),
        quick(store.extend(&free, LEASE))
    );
    kept.unwrap();
    assert!(message(stuck.unwrap()).contains("holds the task"));
    let (stuck, finished) = tokio::join!(
        timeout(TOLD, store.finish(&locked, &done)),
        quick(store.finish(&free, &done))
    );
    finished.unwrap();
    assert!(message(stuck.unwrap()).contains("holds the task"));
    assert_eq!(keys(&quick(bed.claim(10)).await), ["b2"]);
    other.run("commit");
    store.extend(&locked, LEASE).await.unwrap();
    store.finish(&locked, &done).await.unwrap();
    let again = store.finish(&locked, &done).await;
    assert!(matches!(again, Err(StoreError::Lost)), "{again:?}");
}

/// Fails when `record_step.sql`, `release.sql` or `holds.sql` waits for a row that is locked.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_wants_a_locked_task_is_told_soon_and_keeps_no_connection() {
    let Bench { bed, locked, free, other, _database } = Bench::make().await;
    let store = &bed.store;
    bed.sql.run("create table ledger (id text)");
    let effect = || statement(&locked, "insert into ledger values (:id)");
    let mut waiting = JoinSet::new();
    for n in 0..20 {
        let (store, locked, effect) = (store.clone(), locked.clone(), effect());
        waiting.spawn(async move {
            let after = Duration::ZERO;
            let told = async {
                match n % 3 {
                    0 => store.record_step(&locked, "s", StepState::Done, None).await,
                    1 => store.release(&locked, Release::Unstarted { after, error: None }).await,
                    _ => store.finish_with(&locked, StepDone::Step("s"), effect).await,
                }
            };
            message(timeout(TOLD, told).await.expect("it is told soon"))
        });
    }
    for n in 0..20 {
        let begun = Instant::now();
        let key = format!("c{n}");
        assert_eq!(bed.insert([new(&key).lane("a")]).await, [Arrival::New]);
        store.extend(&free, LEASE).await.unwrap();
        assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    }
    while let Some(told) = waiting.join_next().await {
        let told = told.unwrap();
        assert!(told.contains("lock"), "{told}");
    }
    other.run("commit");
    store.finish_with(&locked, StepDone::Task, effect()).await.unwrap();
    assert_eq!(bed.sql.count("ledger"), 1);
}

/// Fails when `drain_wakes` waits for the task that it makes a head.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_locked_task_whose_turn_it_is_keeps_its_own_lane_alone() {
    let (bed, database) = Bed::postgres().await;
    bed.insert([new("a1").lane("a"), new("a2").lane("a")]).await;
    let first = bed.claim_one().await;
    let other = Connection::open(&database.url);
    other.run("begin; select * from hookonce.tasks where state = 'pending' for update");
    bed.store.finish(&first, &Outcome::Completed).await.unwrap();
    bed.insert([new("b1").lane("b"), new("free")]).await;
    let mut claims = quick(bed.claim(10)).await;
    claims.sort_by_key(|claim| claim.event.seq);
    assert_eq!(keys(&claims), ["b1", "free"]);
    for claim in &claims {
        quick(bed.store.finish(claim, &Outcome::Completed)).await.unwrap();
    }
    assert!(quick(bed.claim(10)).await.is_empty());
    other.run("commit");
    assert_eq!(keys(&bed.claim(10).await), ["a2"]);
}

/// Fails when `bury.sql`, `replay.sql`, `rerun.sql` or `reroute.sql` waits for a row that is locked.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_locked_task_is_left_by_what_a_person_does_to_many() {
    let (bed, database) = Bed::postgres().await;
    let store = &bed.store;
    bed.insert(["a", "b", "c", "d"].map(new)).await;
    let (first, all) = (["a", "b"].map(task_id), ["a", "b", "c", "d"].map(task_id));
    let other = Connection::open(&database.url);
    let lock = || {
        other.run("begin; select * from hookonce.tasks where seq in (select min(seq) from hookonce.events) for update");
    };
    let some = |moved, left| Moved { moved, left };
    lock();
    assert_eq!(soon(store.bury(&first)).await.unwrap(), some(1, 1));
    other.run("commit");
    assert_eq!(store.bury(&all).await.unwrap(), some(3, 1));
    lock();
    assert_eq!(soon(store.replay(&all)).await.unwrap(), some(3, 1));
    let to = NewTask { route: "other".into(), max_attempts: 3, ordered: true };
    assert_eq!(soon(store.reroute(&first, &to)).await.unwrap(), some(1, 1));
    other.run("commit");
    assert_eq!(store.replay(&first).await.unwrap(), some(1, 1));
    for claim in bed.claim(10).await {
        store.finish(&claim, &Outcome::Completed).await.unwrap();
    }
    lock();
    assert_eq!(soon(store.rerun(&all)).await.unwrap(), some(2, 2));
    // A moment is waited for, as a claim on another node takes it.
    let mut rerun = pin!(store.rerun(&first));
    assert!(timeout(SOON / 4, &mut rerun).await.is_err());
    other.run("commit");
    assert_eq!(rerun.await.unwrap(), some(1, 1));
}

/// Fails when the janitor waits for rows that it would fold or prune.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_locked_event_keeps_the_janitor_no_longer_than_a_moment() {
    let (bed, database) = Bed::postgres().await;
    bed.insert([new("a"), new("a"), new("a")]).await;
    let claim = bed.claim_one().await;
    bed.store.finish(&claim, &Outcome::Completed).await.unwrap();
    bed.clock.advance(Duration::from_secs(90 * 24 * 3600));
    let other = Connection::open(&database.url);
    other.run("begin; select * from hookonce.events for update; select * from hookonce.arrivals for update; select * from hookonce.minutes for update");
    let told = message(soon(bed.store.fold(100)).await);
    assert!(told.contains("lock"), "{told}");
    let told = message(soon(bed.store.prune(&Retention::default(), 100)).await);
    assert!(told.contains("lock"), "{told}");
    other.run("commit");
    while !bed.store.fold(100).await.unwrap() {}
    assert_eq!(bed.store.prune(&Retention::default(), 100).await.unwrap().payloads, 1);
}

/// Fails when `fold` drains nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_nobody_claims_the_janitor_keeps_the_list_of_woken_lanes_short() {
    let (bed, database) = Bed::postgres().await;
    let sql = Connection::open(&database.url);
    let lanes: [String; 20] = std::array::from_fn(|n| n.to_string());
    bed.insert(lanes.each_ref().map(|lane| new(lane).lane(lane))).await;
    sql.run("insert into hookonce.wakes select w.* from hookonce.wakes w, generate_series(1, 500)");
    sql.run("update hookonce.minutes set minute = minute - interval '5 minutes'");
    while !bed.store.fold(100).await.unwrap() {}
    assert!(bed.sql.count("hookonce_wakes") < 2048);
    assert_eq!(bed.sql.count("hookonce_tasks where due_at is not null"), 20);
    let places = || sql.texts("select ctid::text from hookonce.minutes order by 1");
    let folded = places();
    while !bed.store.fold(100).await.unwrap() {}
    assert_eq!(places(), folded, "what is folded stays");
}

/// An advisory lock of a lane is anybody's to take.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_locked_lane_keeps_itself_alone() {
    let (bed, database) = Bed::postgres().await;
    bed.insert([new("a1").lane("a")]).await;
    let other = Connection::open(&database.url);
    other.run("begin; select hookonce.lock_lane(lane_id) from hookonce.tasks");
    quick(bed.insert([new("a2").lane("a"), new("b1").lane("b")])).await;
    let claims = quick(bed.claim(10)).await;
    assert_eq!(keys(&claims), ["b1"]);
    quick(bed.store.finish(&claims[0], &Outcome::Completed)).await.unwrap();
    other.run("commit");
    assert_eq!(keys(&bed.claim(10).await), ["a1"]);
}

/// Fails when all that came with a key that somebody holds is stored only after it was waited for again
/// and again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_that_somebody_is_storing_keeps_nothing_up_that_came_with_it() {
    let database = Database::make();
    let store = std::sync::Arc::new(open(&database).await);
    let event = |key: String| super::event(&key);
    store.insert(vec![event("first".into())]).await.unwrap();
    let other = Connection::open(&database.url);
    let copy = "insert into hookonce.events select nextval('hookonce.seq'), ";
    let columns = "source, 'held', kind, lane, priority, content_type, element, digest, weak_key, \
                   sent_at, received_at, payload from hookonce.events";
    let names = "(seq, id, source, key, kind, lane, priority, content_type, element, digest, weak_key, \
                 sent_at, received_at, payload)";
    let ids: Vec<NewEvent> = (0..3).map(|n| event(format!("held{n}"))).collect();
    other.run("begin");
    for held in &ids {
        let copy = copy.replace("select", &format!("{names} select"));
        other.run(&format!("{copy} '{}', {columns} limit 1", held.id));
    }
    let mut stuck = JoinSet::new();
    for round in 0..40 {
        let mut asked = JoinSet::new();
        for n in 0..32 {
            let store = store.clone();
            // As the receiver does: nobody waits for longer.
            let ask = |event| async move { timeout(TOLD, store.insert(vec![event])).await };
            match n % 11 {
                0 => stuck.spawn(ask(ids[n / 11].clone())),
                _ => asked.spawn(ask(event(format!("{round}.{n}")))),
            };
        }
        let begun = Instant::now();
        while let Some(stored) = asked.join_next().await {
            assert_eq!(stored.unwrap().unwrap().unwrap(), [Arrival::New]);
        }
        assert!(begun.elapsed() < Duration::from_secs(1), "{:?} in {round}", begun.elapsed());
    }
    while let Some(refused) = stuck.join_next().await {
        assert!(!refused.unwrap().is_ok_and(|stored| stored.is_ok()));
    }
    other.run("rollback");
    until(async || store.insert(vec![ids[0].clone()]).await.is_ok()).await;
}
