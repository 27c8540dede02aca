//! REDIS, and DUP where it is Redis's: what a server that is the only memory forgets, refuses or lacks.

use futures_util::future::join_all;
use hookonce::event::{EventId, NewEvent};
use hookonce::store::redis::RedisOptions;
use hookonce::store::{Arrival, StoreError};
use hookonce::task::Outcome;

use crate::bed::redis_server::Server;
use crate::bed::{Bed, Sql, id, new, order};
use crate::redis::{ask, event, open, proxied, refusal};
use crate::working::until;

#[tokio::test]
async fn redis_01_a_server_that_evicts_is_refused() {
    for policy in ["allkeys-lru", "volatile-ttl"] {
        let server = Server::start(&["--maxmemory", "10mb", "--maxmemory-policy", policy]);
        let said = refusal(RedisOptions::new(server.url())).await;
        assert!(
            said.contains(policy) && said.contains("set `maxmemory-policy noeviction`"),
            "{said}"
        );
    }
}

#[tokio::test]
async fn redis_01_a_full_server_takes_nothing_new_and_lets_work_end() {
    let server = Server::start(&["--maxmemory", "100mb"]);
    let bed = Bed::redis_on(&server).await;
    bed.insert([new("before")]).await;
    ask::<()>(&server, &["CONFIG", "SET", "maxmemory", "1"]);
    let event = new("after").at(bed.clock.now());
    let keys: Vec<String> = ask(&server, &["KEYS", "*"]);
    let full = bed.store.insert(vec![event.clone()]).await.unwrap_err();
    assert!(matches!(full, StoreError::Unavailable { .. }), "{full:?}");
    assert!(full.to_string().contains("no memory left"), "{full}");
    assert!(bed.store.ready().await.is_err());
    assert_eq!(
        ask::<Vec<String>>(&server, &["KEYS", "*"]).len(),
        keys.len(),
        "nothing is half-written"
    );
    bed.store.finish(&bed.claim_one().await, &Outcome::Completed).await.unwrap();
    assert_eq!(bed.task("before").await.0, "completed");
    ask::<()>(&server, &["CONFIG", "SET", "maxmemory", "100mb"]);
    bed.store.ready().await.unwrap();
    assert_eq!(bed.store.insert(vec![event]).await.unwrap(), [Arrival::New]);
}

#[tokio::test]
async fn redis_02_no_proof_of_a_call_outlives_its_use() {
    let (bed, server) = Bed::redis().await;
    bed.insert([new("a").lane("l"), new("b").lane("l")]).await;
    bed.store.finish(&bed.claim_one().await, &Outcome::Completed).await.unwrap();
    bed.claim_one().await;
    let keys: Vec<String> = ask(&server, &["KEYS", "hookonce:*"]);
    let proofs = |key: &&String| key.contains(":claims:") || key.contains(":call:");
    let proofs: Vec<_> = keys.iter().filter(proofs).collect();
    assert!(proofs.len() > 3, "{keys:?}");
    for key in proofs {
        assert!(ask::<i64>(&server, &["TTL", key]) > 0, "{key} stays for ever");
    }
}

#[tokio::test]
async fn dup_13_one_of_fifty_racers_owns_the_event_though_a_reply_is_lost() {
    let server = Server::start(&[]);
    let proxy = proxied(&server).await;
    let through = open(format!("redis://127.0.0.1:{}", proxy.port)).await;
    let beside = open(server.url()).await;
    proxy.lose_after(1);
    let stores = (0..50).map(|n| if n % 2 == 0 { &through } else { &beside });
    let arrivals = join_all(stores.map(|store| store.insert(vec![event("a")]))).await;
    assert!(proxy.has_lost());
    let new = arrivals.iter().filter(|arrival| *arrival.as_ref().unwrap() == [Arrival::New]);
    assert_eq!(new.count(), 1);
    let details = beside.get(id("a")).await.unwrap().unwrap();
    assert_eq!(details.summary.copies, 50);
}

#[tokio::test]
async fn redis_04_a_replica_that_lacks_the_last_writes_goes_on_unharmed() {
    let primary = Server::start(&[]);
    let replica = Server::start(&["--replicaof", &format!("127.0.0.1 {}", primary.port())]);
    let before = open(primary.url()).await;
    before.insert(vec![event("known"), event("claimed")]).await.unwrap();
    let claims = before.claim(order(1)).await.unwrap();
    let has_both = || {
        let claimed: usize = ask(&replica, &["ZCARD", "hookonce:{whatsapp}:leases"]);
        claimed == 1
    };
    until(async || has_both()).await;
    // What is written from here on the replica never hears of.
    ask::<()>(&replica, &["REPLICAOF", "NO", "ONE"]);
    before.insert(vec![event("lost")]).await.unwrap();
    before.finish(&claims[0], &Outcome::Completed).await.unwrap();
    drop(primary);

    let after = open(replica.url()).await;
    // The limit that the documents tell of: it is new again.
    assert_eq!(after.insert(vec![event("lost")]).await.unwrap(), [Arrival::New]);
    let taken = after.claim(order(10)).await.unwrap();
    assert_eq!(taken.len(), 2);
    for claim in &taken {
        assert_ne!(claim.token, claims[0].token);
        after.finish(claim, &Outcome::Completed).await.unwrap();
    }
    // The zombie's completion was lost with the primary; its claim stands, and is its own to finish.
    let task = claims[0].task();
    assert!(after.claimed(&task, claims[0].token).await.is_ok());
    after.finish(&claims[0], &Outcome::Completed).await.unwrap();
    let counts = after.counts().await.unwrap();
    assert_eq!((counts.pending, counts.claimed, counts.completed), (0, 0, 3));
}

/// Fails when a script touches a key outside of its scope's slot: the cluster would not run it.
#[tokio::test]
async fn redis_05_what_comes_together_is_in_one_slot_of_a_cluster() {
    let (bed, _) = Bed::redis_cluster().await;
    let request = ["a", "b"].map(|key| new(key).lane(key).at(bed.clock.now())).to_vec();
    let id = EventId::of("other", "c");
    let other = NewEvent { id, scope: "other".into(), ..new("c").at(bed.clock.now()) };
    assert_eq!(bed.store.insert(request).await.unwrap(), [Arrival::New; 2]);
    bed.store.insert(vec![other]).await.unwrap();
    let claims = bed.claim(10).await;
    assert_eq!(claims.len(), 3);
    for claim in &claims {
        bed.store.finish(claim, &Outcome::Completed).await.unwrap();
    }
    let Sql::None(keys) = &bed.sql else { unreachable!("it is Redis") };
    let slots = ["{whatsapp}*", "{other}*", "all*"].map(|pattern| keys.slots(pattern));
    assert!(slots.iter().all(|slots| slots.len() == 1), "{slots:?}");
    assert_ne!(slots[0], slots[1], "scopes may be spread");
}
