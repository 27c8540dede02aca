//! An event is stored once.

use std::time::Duration;

use futures_util::future::join_all;
use hookonce::store::Arrival::{Duplicate, Mismatch, New as Fresh};

use crate::bed::{Bed, id, new, sql_test, store_test};

store_test!(an_event_is_new_once_and_a_duplicate_ever_after and pgbouncer, |bed: Bed| async move {
    assert_eq!(bed.insert([new("a"), new("b"), new("a")]).await, [Fresh, Fresh, Duplicate]);
    bed.clock.advance(Duration::from_secs(23 * 3600));
    assert_eq!(bed.insert([new("a")]).await, [Duplicate]);
    assert_eq!(bed.get("a").await.summary.copies, 3);
    assert_eq!(bed.get("b").await.summary.copies, 1);
});

store_test!(the_same_key_twice_in_one_request_is_one_event, |bed: Bed| async move {
    let events = ["a", "b", "a", "a"].map(|key| new(key).at(bed.clock.now())).to_vec();
    let arrivals = bed.store.insert(events).await.unwrap();
    assert_eq!(arrivals, [Fresh, Fresh, Duplicate, Duplicate]);
    assert_eq!(bed.get("a").await.summary.copies, 3);
});

store_test!(
    a_differing_element_is_kept_beside_the_first_up_to_three_times and pgbouncer,
    |bed: Bed| async move {
        bed.insert([new("a")]).await;
        for n in 0..5 {
            let other = new("a").payload(&format!("{{\"n\":{n}}}"));
            assert_eq!(bed.insert([other]).await, [Mismatch]);
        }
        let a = bed.get("a").await;
        assert_eq!((a.summary.copies, a.summary.mismatches), (6, 5));
        assert_eq!(a.payload.as_deref(), Some(r#"{"key":"a"}"#));
        let kept: Vec<_> =
            a.arrivals.iter().filter_map(|arrival| arrival.element.as_deref()).collect();
        assert_eq!(kept, [r#"{"n":0}"#, r#"{"n":1}"#, r#"{"n":2}"#]);
    }
);

store_test!(
    /// Fails when `on conflict (id) do nothing` of `insert_event.sql` is replaced by a look before.
    fifty_copies_at_once_are_one_event and pgbouncer,
    |bed: Bed| async move {
        let copies = (0..50).map(|_| bed.store.insert(vec![new("a").at(bed.clock.now())]));
        let arrivals: Vec<_> = join_all(copies).await.into_iter().flat_map(Result::unwrap).collect();
        assert_eq!(arrivals.iter().filter(|arrival| **arrival == Fresh).count(), 1);
        assert_eq!(bed.get("a").await.summary.copies, 50);
        assert_eq!(bed.claim(10).await.len(), 1);
    }
);

store_test!(overlapping_batches_in_any_order_all_succeed and pgbouncer, |bed: Bed| async move {
    let keys: Vec<String> = (0..40).map(|n| format!("k{n}")).collect();
    let mut random = fastrand::Rng::with_seed(4);
    let batches: Vec<_> = (0..100)
        .map(|_| {
            let mut keys = keys.clone();
            random.shuffle(&mut keys);
            keys.truncate(20);
            keys.iter().map(|key| new(key).at(bed.clock.now())).collect::<Vec<_>>()
        })
        .collect();
    let inserted = join_all(batches.into_iter().map(|batch| bed.store.insert(batch))).await;
    let arrivals: Vec<_> = inserted.into_iter().flat_map(Result::unwrap).collect();
    assert_eq!(arrivals.len(), 2000);
    assert_eq!(arrivals.iter().filter(|arrival| **arrival == Fresh).count(), 40);
});

store_test!(what_cannot_be_read_is_dead_on_arrival, |bed: Bed| async move {
    bed.insert([new("a").lane("l").unreadable(), new("b").lane("l")]).await;
    let a = bed.get("a").await.summary;
    assert_eq!((a.state, a.tasks[0].error.as_deref()), ("dead", Some("not JSON")));
    // It holds no lane, and is not handled.
    assert_eq!(bed.claim_one().await.event.key, "b");
});

store_test!(an_event_that_no_route_took_is_recorded, |bed: Bed| async move {
    bed.insert([new("a").routes(&[])]).await;
    assert_eq!(bed.get("a").await.summary.state, "recorded");
    let counts = bed.store.counts().await.unwrap();
    assert_eq!((counts.events, counts.unrouted, counts.pending), (1, 1, 0));
});

store_test!(a_payload_comes_back_byte_for_byte, |bed: Bed| async move {
    let payload = "{\"t\":\"\\u0000 \\ud83d é 👍 \u{202e}\",\"n\":9007199254740993, \"f\":1.50}";
    bed.insert([new("a").payload(payload)]).await;
    assert_eq!(bed.get("a").await.payload.as_deref(), Some(payload));
    assert_eq!(bed.claim_one().await.event.payload.as_deref(), Some(payload));
    assert!(bed.store.get(id("unknown")).await.unwrap().is_none());
});

sql_test!(
    an_event_that_the_database_refuses_is_kept_dead_and_its_siblings_live and pgbouncer,
    |bed: Bed| async move {
        bed.sql.run_either(
            "create trigger picky before insert on hookonce_events when new.payload like '%bad%'
             begin select raise(abort, 'not this one'); end",
            "alter table hookonce_events add check (payload not like '%bad%')",
        );
        let events = [new("a"), new("b").payload(r#"{"bad":1}"#), new("c")];
        let events = events.map(|event| event.at(bed.clock.now())).to_vec();
        assert_eq!(bed.store.insert(events.clone()).await.unwrap(), [Fresh; 3]);
        let b = bed.get("b").await;
        assert_eq!((b.summary.state, b.summary.event.kind.as_str()), ("dead", "unreadable"));
        assert_eq!(b.payload.as_deref(), Some("eyJiYWQiOjF9"));
        assert_eq!(bed.claim(10).await.len(), 2);
        assert_eq!(bed.store.insert(events).await.unwrap(), [Duplicate; 3]);
    }
);

store_test!(
    /// Fails when `insert_arrival.sql` counts all arrivals again: the last copies then cost many
    /// times what the first ones did.
    a_copy_costs_the_same_however_many_came,
    |bed: Bed| async move {
        bed.insert([new("a")]).await;
        let copies = |n| vec![new("a").at(bed.clock.now()); n];
        let mut times = Vec::new();
        for _ in 0..12 {
            let start = std::time::Instant::now();
            bed.store.insert(copies(1500)).await.unwrap();
            times.push(start.elapsed());
        }
        let (first, last) = (times[..4].iter().min().unwrap(), times[8..].iter().min().unwrap());
        assert!(*last < *first * 4, "{times:?}");
    }
);
