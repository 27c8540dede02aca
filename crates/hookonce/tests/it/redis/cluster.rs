//! A cluster that loses a primary, and servers that are not what the address says.

use std::time::{Duration, Instant};

use hookonce::event::{EventId, NewEvent};
use hookonce::store::redis::{RedisOptions, RedisStore};
use hookonce::store::{Arrival, Store as _, StoreError};
use hookonce::task::Outcome;
use tokio::task::JoinSet;

use super::{event, open, refusal};
use crate::bed::order;
use crate::bed::redis_cluster::{Cluster, ask};
use crate::bed::redis_server::Server;

/// How long a replica may take to take over, on a machine that is busy.
const LIMIT: Duration = Duration::from_secs(30);

/// Fails when an ack that waits for a replica is given by a primary that no replica follows.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn when_a_primary_is_lost_its_replica_goes_on_with_all_that_was_acked() {
    let cluster = Cluster::start(&["--cluster-node-timeout", "1000"]);
    let url = cluster.url();
    let options = RedisOptions { wait_replicas: 1, ..RedisOptions::new(&url) };
    let waiting = RedisStore::open(options.clone()).await.unwrap();
    for n in 0..50 {
        waiting.insert(vec![event(&format!("before{n}"))]).await.unwrap();
    }
    let claims = waiting.claim(order(10)).await.unwrap();
    cluster.kill_primary_of("hookonce:{whatsapp}");
    let refused = waiting.insert(vec![event("meanwhile")]).await.unwrap_err();
    assert!(matches!(refused, StoreError::Unavailable { .. }), "{refused:?}");

    // The same node goes on by itself, but for the replica that is missing now.
    let start = Instant::now();
    let said = loop {
        let said = waiting.insert(vec![event("after")]).await.unwrap_err().to_string();
        if said.contains("only 0 of the 1 replicas") {
            break said;
        }
        assert!(start.elapsed() < LIMIT, "{said}");
    };
    assert!(said.contains("`redis.wait_replicas`"), "{said}");
    let refused = refusal(options).await;
    assert!(refused.contains("asks for 1"), "{refused}");
    let store = RedisStore::open(RedisOptions::new(&url)).await.unwrap();
    store.insert(vec![event("after")]).await.unwrap();
    // Claims are as durable as the replication that did not wait for them.
    for claim in &claims {
        let finished = store.finish(claim, &Outcome::Completed).await;
        assert!(matches!(finished, Ok(()) | Err(StoreError::Lost)), "{finished:?}");
    }
    loop {
        let claims = store.claim(order(100)).await.unwrap();
        if claims.is_empty() {
            break;
        }
        for claim in claims {
            store.finish(&claim, &Outcome::Completed).await.unwrap();
        }
    }
    let counts = store.counts().await.unwrap();
    assert_eq!((counts.pending, counts.claimed), (0, 0));
    // `meanwhile` may be stored or not: nobody was told.
    assert!(matches!(counts.completed, 51 | 52), "{counts:?}");
}

/// An event of a scope of its own.
fn of_scope(scope: &str, key: &str) -> NewEvent {
    NewEvent { id: EventId::of(scope, key), scope: scope.into(), ..event(key) }
}

/// Fails when a scope waits for another one's server: at intake, where the three that can't be stored fill
/// what may be under way at once, or at claiming. The list of scopes is on the server that is lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shard_that_is_lost_keeps_no_other_waiting() {
    // Nobody takes over while the test runs.
    let never = ["--cluster-node-timeout", "600000", "--cluster-require-full-coverage", "no"];
    let cluster = Cluster::start(&never);
    let store = open(cluster.url()).await;
    for scope in ["whatsapp", "other"] {
        store.insert(vec![of_scope(scope, "before")]).await.unwrap();
    }
    cluster.kill_primary_of("hookonce:all{hookonce}:scopes");
    let mut lost = JoinSet::new();
    for key in ["a", "b", "c"] {
        let store = store.clone();
        lost.spawn(async move { store.insert(vec![of_scope("whatsapp", key)]).await });
    }
    tokio::task::yield_now().await;
    store.insert(vec![of_scope("other", "meanwhile")]).await.unwrap();
    let claims = store.claim(order(10)).await.unwrap();
    assert_eq!(claims.len(), 2);
    let open = store.progress(&[EventId::of("other", "before")]).await.unwrap()[0].open;
    assert_eq!(open, 1);
    for claim in &claims {
        store.finish(claim, &Outcome::Completed).await.unwrap();
    }
    assert!(lost.try_join_next().is_none(), "it has waited for them");
    store.ready().await.unwrap();
    for inserted in lost.join_all().await {
        let error = inserted.unwrap_err();
        assert!(matches!(error, StoreError::Unavailable { .. }), "{error:?}");
    }
}

/// Fails when a script names only keys that the server has that a slot is moved to: what is still on its way
/// would be new there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_a_slot_is_moved_to_another_server_nothing_is_taken_for_new() {
    let cluster = Cluster::start(&[]);
    let store = open(cluster.url()).await;
    store.insert(vec![event("a")]).await.unwrap();
    let scope = "hookonce:{whatsapp}";
    let (from, to) = (cluster.primary_of(scope), cluster.primary_of("hookonce:{other}"));
    let [from_id, to_id] = [&from, &to].map(|node| ask::<String>(node, &["CLUSTER", "MYID"]));
    let slot = ask::<u16>(&from, &["CLUSTER", "KEYSLOT", scope]).to_string();
    ask::<()>(&to, &["CLUSTER", "SETSLOT", &slot, "IMPORTING", &from_id]);
    ask::<()>(&from, &["CLUSTER", "SETSLOT", &slot, "MIGRATING", &to_id]);
    let (host, port) = to.split_once(':').unwrap();
    let migrate = |key: &str| {
        ask::<()>(&from, &["MIGRATE", host, port, key, "0", "5000"]);
    };
    migrate(scope);
    let error = store.insert(vec![event("a")]).await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable { .. }), "{error:?}");

    let left = || ask::<Vec<String>>(&from, &["CLUSTER", "GETKEYSINSLOT", &slot, "100"]);
    for key in left() {
        migrate(&key);
    }
    for node in [&to, &from] {
        ask::<()>(node, &["CLUSTER", "SETSLOT", &slot, "NODE", &to_id]);
    }
    assert_eq!(store.insert(vec![event("a")]).await.unwrap(), [Arrival::Duplicate]);
    let claims = store.claim(order(10)).await.unwrap();
    assert_eq!(claims.len(), 1);
    store.finish(&claims[0], &Outcome::Completed).await.unwrap();
}

#[tokio::test]
async fn an_address_that_takes_a_cluster_for_a_server_or_the_other_way_round_is_corrected() {
    let server = Server::start(&[]);
    let said = refusal(RedisOptions::new(server.url().replace("redis:", "redis+cluster:"))).await;
    assert!(said.contains("write `redis://HOST:PORT/0`"), "{said}");
    let node = Server::start(&["--cluster-enabled", "yes"]);
    let said = refusal(RedisOptions::new(node.url())).await;
    assert!(said.contains("write `redis+cluster://"), "{said}");
}
