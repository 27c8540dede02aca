//! Thousands of tasks at once, while work goes on.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use hookonce::event::NewEvent;
use hookonce::steer::{Action, Effect, Steer, steer};
use hookonce::store::{Filter, Moved};
use hookonce::task::Outcome;
use tokio::sync::watch;

use super::order;
use crate::bed::{Bed, keys, new, store_test};
use crate::working::{route, told, worker};

const LANES: usize = 100;
const EACH: usize = 100;

/// Dead on arrival: `LANES` lanes of `EACH` tasks, an event of each lane in turn.
async fn dead_tasks(bed: &Bed) {
    for n in 0..EACH {
        let event = |lane: usize| {
            let event = new(&format!("{lane}-{n}")).lane(&format!("l{lane}")).unreadable();
            event.at(bed.clock.now())
        };
        let events: Vec<NewEvent> = (0..LANES).map(event).collect();
        bed.store.insert(events).await.unwrap();
    }
}

/// Each lane's events, in the order in which they were handled.
fn by_lane(handled: &[String]) -> BTreeMap<usize, Vec<usize>> {
    let mut lanes = BTreeMap::<usize, Vec<usize>>::new();
    for key in handled {
        let (lane, n) = key.strip_suffix("/one").unwrap().split_once('-').unwrap();
        lanes.entry(lane.parse().unwrap()).or_default().push(n.parse().unwrap());
    }
    lanes
}

store_test!(
    /// Fails when `state = 'dead'` becomes `true` in the predicate of `replay.sql`: then two replays
    /// move one task twice, and one that is completed or claimed.
    two_replays_of_ten_thousand_move_each_once_and_in_order_while_a_worker_runs,
    |bed: Bed| async move {
        bed.insert([new("done1"), new("done2")]).await;
        for claim in bed.claim(2).await {
            bed.store.finish(&claim, &Outcome::Completed).await.unwrap();
        }
        dead_tasks(&bed).await;
        let replay = order(Action::Replay);
        let dry = Steer { effect: Effect::DryRun, ..replay.clone() };
        let would_be = steer(&*bed.store, &[], &dry, &mut |_| ()).await.unwrap();
        assert_eq!(would_be, Moved { moved: LANES * EACH, left: 0 });

        let handled = Arc::<Mutex<Vec<String>>>::default();
        let worker = worker(&bed, route(vec![("one", told(&handled, |_| Ok(())))]));
        let (stop, mut stopped) = watch::channel(false);
        let replay_all = async || steer(&*bed.store, &[], &replay, &mut |_| ()).await.unwrap();
        let replays = async {
            let both = tokio::join!(replay_all(), replay_all());
            stop.send_replace(true);
            both
        };
        // On a busy machine what is due may be found a little later, beyond a look that finds nothing.
        let is_left = async || bed.store.counts().await.unwrap().pending > 0;
        let work = async {
            while worker.turn().await > 0 || !*stopped.borrow_and_update() || is_left().await {
                tokio::task::yield_now().await;
            }
        };
        let ((first, second), ()) = tokio::join!(replays, work);
        assert_eq!(first.moved + second.moved, LANES * EACH);

        let lanes = by_lane(&handled.lock().unwrap());
        assert_eq!(lanes.len(), LANES);
        let in_order: Vec<usize> = (0..EACH).collect();
        assert!(lanes.values().all(|lane| *lane == in_order));
        let counts = bed.store.counts().await.unwrap();
        assert_eq!((counts.dead, counts.pending, counts.completed), (0, 0, 10_002));
        assert_eq!(replay_all().await, Moved::default());
    }
);

store_test!(a_rerun_in_bulk_is_the_next_run_of_each_in_order, |bed: Bed| async move {
    for n in 0..250 {
        bed.insert([new(&format!("k{n}")).lane("l")]).await;
    }
    for _ in 0..250 {
        bed.store.finish(&bed.claim_one().await, &Outcome::Completed).await.unwrap();
    }
    let lane = Filter { lane: Some("l".to_owned()), ..Filter::default() };
    let rerun = Steer { filter: lane, limit: Some(230), ..order(Action::Rerun) };
    let mut batches = Vec::new();
    steer(&*bed.store, &[], &rerun, &mut |so_far| batches.push(so_far.moved)).await.unwrap();
    assert_eq!(batches, [100, 200, 230]);
    for n in 0..230 {
        let claims = bed.claim(10).await;
        assert_eq!((keys(&claims), claims[0].run), (vec![&*format!("k{n}")], 2));
        bed.store.finish(&claims[0], &Outcome::Completed).await.unwrap();
    }
    assert!(bed.claim(10).await.is_empty());
});

store_test!(
    /// Fails when `take_while` and the comparison with the newest are taken out of `steer`.
    a_walk_ends_though_more_dies_meanwhile,
    |bed: Bed| async move {
        for n in 0..150 {
            bed.insert([new(&format!("k{n}")).unreadable()]).await;
        }
        let (store, now, mut batches) = (bed.store.clone(), bed.clock.now(), 0);
        let mut note = |_| {
            batches += 1;
            assert!(batches < 10, "it chases what arrives");
            let late = new(&format!("late{batches}")).unreadable().at(now);
            let late = store.insert(vec![late]);
            tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(late))
                .unwrap();
        };
        let moved = steer(&*bed.store, &[], &order(Action::Replay), &mut note).await.unwrap();
        assert_eq!((moved.moved, batches), (150, 2));
        assert_eq!(bed.store.counts().await.unwrap().dead, 2);
    }
);
