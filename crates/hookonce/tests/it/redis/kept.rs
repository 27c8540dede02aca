//! How long the server keeps what it deletes by itself, and a connection to one that takes nothing any more.

use std::collections::BTreeSet;
use std::time::Duration;

use hookonce::event::{EventId, NewEvent};
use hookonce::store::{Arrival, Retention, Store, StoreError};
use hookonce::task::Outcome;

use super::{ask, event, open};
use crate::bed::redis_server::Server;
use crate::bed::{TestClock, new, order};

async fn prune(store: &dyn Store, payload: Duration) {
    let key = Duration::from_secs(90 * 24 * 3600);
    while store.prune(&Retention { payload, key, dead: key }, 2).await.unwrap().more {}
}

/// Fails when a payload still goes when it was to go before the retention was raised.
#[tokio::test]
async fn a_longer_retention_is_that_of_payloads_stored_before_too() {
    let (server, hour) = (Server::start(&[]), Duration::from_secs(3600));
    let store = open(server.url()).await;
    let keys = ["a", "b", "c", "d", "e"];
    store.insert(keys.map(event).to_vec()).await.unwrap();
    prune(&*store, hour).await;
    for claim in store.claim(order(10)).await.unwrap() {
        store.finish(&claim, &Outcome::Completed).await.unwrap();
    }
    let lives = || {
        let of = |key: &str| {
            let id = event(key).id.to_string().replace('-', "");
            ask::<i64>(&server, &["PTTL", &format!("hookonce:{{whatsapp}}:payload:{id}")])
        };
        keys.map(of)
    };
    let hour_ms = 3_600_000;
    assert!(lives().iter().all(|ms| (1..=hour_ms).contains(ms)), "{:?}", lives());
    prune(&*store, 3 * hour).await;
    assert!(lives().iter().all(|ms| (2 * hour_ms..=3 * hour_ms).contains(ms)), "{:?}", lives());
    // A shorter one is the janitor's: it deletes what is too old.
    prune(&*store, Duration::ZERO).await;
    assert_eq!(lives(), [-2; 5]);
}

/// Fails when a day is not folded to its end that has more minutes than a scan looks at, or what is left
/// of one is looked for in vain.
#[tokio::test]
async fn a_day_of_very_many_counts_is_folded_to_its_end() {
    let server = Server::start(&[]);
    let store = open(server.url()).await;
    store.insert(vec![event("a")]).await.unwrap();
    // Longer ago than counts are kept by the minute.
    let (day, mut words) = (20_000, vec!["HSET".to_owned()]);
    let minutes = format!("hookonce:{{whatsapp}}:minutes:{day}");
    words.push(minutes.clone());
    for n in 0..15_000 {
        let (minute, source) = (day * 1440 + n % 1440, n / 1440);
        words.extend([format!("{minute}:new:s{source}"), "1".to_owned()]);
    }
    ask::<usize>(&server, &words.iter().map(String::as_str).collect::<Vec<_>>());
    ask::<usize>(&server, &["SADD", "hookonce:{whatsapp}:days", &day.to_string()]);
    let mut calls = 0;
    while !store.fold(500).await.unwrap() {
        calls += 1;
        assert!(calls < 200, "it comes to no end");
    }
    assert_eq!(ask::<usize>(&server, &["EXISTS", &minutes]), 0);
    let folded = "hookonce:{whatsapp}:minutes:folded";
    let of_source = format!("{day}:new:s3");
    assert_eq!(ask::<usize>(&server, &["HGET", folded, &of_source]), 1440);
}

/// Fails when an insert that comes to nothing leaves a head, a name or an event behind, or claiming stops
/// at one.
#[tokio::test]
async fn an_insert_that_fails_in_its_middle_leaves_nothing() {
    let server = Server::start(&[]);
    let store = open(server.url()).await;
    let queue = "hookonce:{whatsapp}:due:[0,\"r\",\"whatsapp\"]";
    store.ready().await.unwrap();
    ask::<()>(&server, &["SET", queue, "somebody else's"]);
    let events = || ["a", "b"].map(|key| new(key).lane("l").at(TestClock::new().now())).to_vec();
    let error = store.insert(events()).await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable { .. }), "{error:?}");
    for left in ["event:*", "payload:*", "heads", "ids", "lane:*"] {
        let left = format!("hookonce:{{whatsapp}}:{left}");
        assert_eq!(ask::<Vec<String>>(&server, &["KEYS", &left]), [""; 0]);
    }
    ask::<()>(&server, &["DEL", queue]);
    assert_eq!(store.insert(events()).await.unwrap(), [Arrival::New; 2]);
    // What is no task of any event is no obstacle.
    ask::<()>(&server, &["ZADD", queue, "1", &format!("{:016}:{}:r", 1, "0".repeat(32))]);
    let mut claims = store.claim(order(2)).await.unwrap();
    claims.extend(store.claim(order(2)).await.unwrap());
    assert_eq!(claims.len(), 1);
    store.finish(&claims[0], &Outcome::Completed).await.unwrap();
    assert_eq!(store.claim(order(2)).await.unwrap().len(), 1);
    let counts = store.counts().await.unwrap();
    assert_eq!((counts.events, counts.pending, counts.claimed), (2, 0, 1));
}

/// Fails when the connection stays, to a server that another one has taken over from: what the address
/// names now is found on the next.
#[tokio::test]
async fn a_connection_to_what_became_a_replica_is_left() {
    let server = Server::start(&[]);
    let store = open(server.url()).await;
    store.insert(vec![event("a")]).await.unwrap();
    let connections = || -> BTreeSet<String> {
        let list = ask::<String>(&server, &["CLIENT", "LIST"]);
        list.lines().map(|line| line.split(' ').next().unwrap().to_owned()).collect()
    };
    let before = connections();
    ask::<()>(&server, &["REPLICAOF", "127.0.0.1", "1"]);
    let error = store.insert(vec![event("b")]).await.unwrap_err();
    assert!(error.to_string().contains("is a replica"), "{error}");
    // Of the two, and the one that asked, the one that listens is left.
    assert_eq!(before.intersection(&connections()).count(), 1);
    ask::<()>(&server, &["REPLICAOF", "NO", "ONE"]);
    store.insert(vec![event("b")]).await.unwrap();
}

/// Fails when each scope has as much memory to itself as the program has for all.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_waits_to_be_stored_is_bounded_over_all_scopes() {
    let server = Server::start(&[]);
    let store = open(server.url()).await;
    let large = |scope: &str, bytes: usize| {
        let payload = format!("\"{}\"", "x".repeat(bytes));
        let id = EventId::of(scope, "a");
        vec![NewEvent { id, scope: scope.into(), payload, ..event("a") }]
    };
    for scope in ["one", "other"] {
        store.insert(large(scope, 1)).await.unwrap();
    }
    drop(server);
    let (one, other) =
        tokio::join!(store.insert(large("one", 40 << 20)), store.insert(large("other", 40 << 20)));
    assert!(!one.unwrap_err().to_string().contains("memory"));
    let said = other.unwrap_err().to_string();
    assert!(
        said.contains("more events are waiting to be stored than memory is kept for"),
        "{said}"
    );
}
