//! DB: what a database refuses, forgets or waits for.

use std::time::Duration;

use futures_util::future::join_all;
use hookonce::store::{Arrival, Pruned, Retention};
use hookonce::task::{DeadLane, Outcome};

use super::intake::{Intake, message, took};
use crate::bed::{Bed, for_route, new, order, store_test};

const DAY: Duration = Duration::from_secs(24 * 3600);

store_test!(
    db_12_prune_takes_nothing_that_is_still_needed_and_stops_nobody,
    |bed: Bed| async move {
        let retention = Retention { payload: DAY, key: DAY * 30, dead: DAY * 90 };
        let intake = Intake::of(&bed);
        let done = message("wamid.TESTDB12");
        assert_eq!(intake.send("DB-12").await, took(1, 0));
        bed.store.finish(&bed.claim_one().await, &Outcome::Completed).await.unwrap();
        bed.insert([new("dead")]).await;
        let dead = Outcome::Dead { error: "e".into(), lane: DeadLane::Pass };
        bed.store.finish(&bed.claim_one().await, &dead).await.unwrap();
        bed.insert([new("claimed")]).await;
        let long =
            hookonce::store::ClaimOrder { routes: vec![for_route("r", DAY * 1000)], ..order(1) };
        assert_eq!(bed.store.claim(long).await.unwrap().len(), 1);
        bed.insert([new("pending")]).await;
        bed.clock.advance(DAY * 20);

        // Under load: a little at a time, between others' inserts.
        let inserts = join_all((0..200).map(|n| {
            let event = new(&format!("k{n}")).at(bed.clock.now());
            bed.store.insert(vec![event])
        }));
        let pruning = join_all((0..20).map(|_| bed.store.prune(&retention, 3)));
        let (arrivals, pruned) = tokio::join!(inserts, pruning);
        assert!(arrivals.into_iter().all(|arrival| arrival.unwrap() == [Arrival::New]));
        let mut sum = Pruned::default();
        for some in pruned {
            let some = some.unwrap();
            sum.payloads += some.payloads;
            sum.events += some.events;
        }
        assert_eq!((sum.payloads, sum.events), (1, 0));
        assert_eq!(bed.get(&done).await.payload, None);
        for key in ["dead", "claimed", "pending"] {
            assert!(bed.get(key).await.payload.is_some(), "{key}");
        }
        // Its payload is gone, its key is not.
        assert_eq!(intake.send("DB-12").await, took(0, 1));
        assert_eq!(bed.task(&done).await, ("completed", 1, 1));
    }
);
