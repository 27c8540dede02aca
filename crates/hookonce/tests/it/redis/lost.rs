//! Replies that are lost on their way.

use std::time::Duration;

use hookonce::store::redis::{RedisOptions, RedisStore};
use hookonce::store::{AuditEntry, ClaimOrder, Filter, Release, Retention, Store, StoreError};
use hookonce::task::{DeadLane, NewTask, Outcome, StepState, Token};

use super::{ask, proxied};
use crate::bed::redis_server::Server;
use crate::bed::{LEASE, TestClock, for_route, id, new, order, task_id};

/// Does everything that a store can, and tells what each call gave and what there is in the end.
async fn everything(store: &dyn Store, clock: &TestClock) -> Vec<String> {
    let mut said = Vec::new();
    macro_rules! note {
        ($call:expr) => {{
            let answer = $call.await;
            said.push(format!("{answer:?}"));
            answer.unwrap()
        }};
    }
    // One that is dated is dead where data seems to be gone.
    let at = |event: crate::bed::New| event.sent_at(clock.now()).at(clock.now());
    note!(store.mirror(&[], &[]));
    let events = ["1", "2", "3", "4"].map(|key| at(new(key).lane("l"))).to_vec();
    note!(store.insert(events));
    note!(store.insert(vec![at(new("1").lane("l")), at(new("2").lane("l").payload("{}"))]));
    note!(store.insert(vec![at(new("u").routes(&[]))]));
    let claim = async |route: &str| {
        let routes = vec![for_route(route, LEASE)];
        store.claim(ClaimOrder { routes, ..order(10) }).await.unwrap()
    };
    let first = claim("r").await.remove(0);
    note!(store.extend(&first, LEASE * 2));
    note!(store.record_step(&first, "s", StepState::Done, Some("1")));
    note!(store.release(&first, Release::NotYet { after: Duration::ZERO, error: "e".into() }));
    let first = claim("r").await.remove(0);
    note!(store.finish(&first, &Outcome::Retry { after: Duration::ZERO, error: "e".into() }));
    let first = claim("r").await.remove(0);
    clock.advance(LEASE);
    let reaped = store.reap(Token::draw(), LEASE, 10).await.unwrap().remove(0);
    assert!(matches!(store.finish(&first, &Outcome::Completed).await, Err(StoreError::Lost)));
    let dead = Outcome::Dead { error: "e".into(), lane: DeadLane::Hold };
    note!(store.finish(&reaped, &dead));
    note!(store.replay(&[task_id("1")]));
    let first = claim("r").await.remove(0);
    note!(store.finish(&first, &Outcome::Completed));
    note!(store.rerun(&[task_id("1")]));
    note!(store.bury(&[task_id("2"), task_id("3")]));
    let to = NewTask { route: "to".into(), max_attempts: 3, ordered: true };
    note!(store.reroute(&[task_id("2"), task_id("3")], &to));
    note!(store.assign(&[(id("u"), to)]));
    let moved = claim("to").await;
    said.push(format!("{:?}", moved.iter().map(|claim| &claim.event.key).collect::<Vec<_>>()));
    note!(store.finish(&moved[0], &Outcome::Completed));
    let entry = AuditEntry { who: "w".into(), action: "a".into(), details: "{}".into() };
    note!(store.audit(&entry));
    clock.advance(LEASE * 60 * 24 * 40);
    note!(store.prune(&Retention::default(), 10));
    note!(store.fold(10));
    said.push(format!("{:?} {:?}", store.counts().await, store.routes().await));
    for event in store.walk(&Filter::default(), 10).await.unwrap().events {
        let mut details = store.get(event.event.id).await.unwrap().unwrap();
        details.summary.event.seq = 0;
        said.push(format!("{details:?}"));
    }
    said
}

/// What the guide tells to let a user do is enough for all of it.
#[tokio::test]
async fn the_rights_in_the_guide_are_enough() {
    let guide = include_str!("../../../../../docs/guides/redis.md");
    let rights = guide.lines().find_map(|line| line.strip_prefix("ACL SETUSER hookonce on >… "));
    let rights: Vec<&str> = rights.unwrap().split(' ').collect();
    let user = ["--user", "hookonce", "on", ">s3cret"];
    let server = Server::start(&[&["--user", "default", "off"], &user[..], &rights].concat());
    let clock = TestClock::new();
    let url = format!("redis://hookonce:s3cret@127.0.0.1:{}", server.port());
    let options = RedisOptions { clock: Some(clock.clock()), ..RedisOptions::new(&url) };
    let store = RedisStore::open(options).await.unwrap();
    everything(&store, &clock).await;
    store.ready().await.unwrap();
    store.now().await.unwrap();
    assert!(store.facts().await.unwrap().flushes.is_some());
    // Beside it nothing: another's keys are refused.
    let other = RedisOptions::new(format!("{url}?prefix=other"));
    let said = super::refusal(other).await;
    assert!(said.contains("doesn't let this user do what is needed"), "{said}");
}

#[tokio::test]
async fn whatever_reply_is_lost_nothing_is_lost_or_done_twice() {
    let mut undisturbed = None;
    // Each reply in turn; the first of a connection greet it.
    for n in -1.. {
        let server = Server::start(&[]);
        let proxy = proxied(&server).await;
        let clock = TestClock::new();
        let url = format!("redis://127.0.0.1:{}", proxy.port);
        let options = RedisOptions { clock: Some(clock.clock()), ..RedisOptions::new(url) };
        let store = RedisStore::open(options).await.unwrap();
        proxy.lose_after(n);
        let said = everything(&store, &clock).await;
        let audited: usize = ask(&server, &["ZCARD", "hookonce:all{hookonce}:audit"]);
        assert_eq!(audited, 1);
        match &undisturbed {
            None => undisturbed = Some(said),
            Some(undisturbed) => assert_eq!(undisturbed, &said, "the reply {n} was lost"),
        }
        if n >= 0 && !proxy.has_lost() {
            assert!(n > 30, "there are as many scripts");
            return;
        }
    }
}
