//! Fills the store of a place, without a server.

use std::sync::Arc;
use std::time::Duration;

use hookonce::event::{EventId, Key, Kind, Lane, NewEvent, Priority};
use hookonce::store::postgres::{PostgresOptions, PostgresStore};
use hookonce::store::sqlite::{SqliteOptions, SqliteStore};
use hookonce::store::{ClaimOrder, ClaimRoute, Clock, Store};
use hookonce::task::{DeadLane, NewTask, Outcome, Token};
use jiff::Timestamp;
use sha2::{Digest as _, Sha256};
use tokio::runtime::Runtime;

use crate::engine::is_postgres;
use crate::program::Place;

/// A configuration with one route that takes messages.
pub(crate) const CONFIG: &str = r#"[sources.a]
scheme = "meta"
secrets = ["x"]
verify_token = "y"
[sinks.print]
type = "log"
[[routes]]
name = "books"
kinds = ["message.*"]
steps = ["print"]
"#;

/// A store with the test's own hand in it.
pub(crate) struct Stock {
    runtime: Runtime,
    store: Arc<dyn Store>,
}

impl Stock {
    /// Writes the configuration and makes its store.
    pub(crate) fn new(place: &Place) -> Self {
        place.write("hookonce.toml", CONFIG);
        let runtime = Runtime::new().unwrap();
        let store: Arc<dyn Store> = if is_postgres() {
            let options = PostgresOptions::new(place.store());
            Arc::new(runtime.block_on(PostgresStore::open(options)).unwrap())
        } else {
            let options = SqliteOptions { min_free_disk: 0, ..SqliteOptions::default() };
            Arc::new(SqliteStore::open(&place.path("hookonce.db"), options).unwrap())
        };
        Self { runtime, store }
    }

    /// Stores an event with a task for each of these routes.
    pub(crate) fn put(&self, key: &str, routes: &[&str]) {
        self.put_at(key, routes, Clock::system().now());
    }

    /// Stores an event that came at this time.
    pub(crate) fn put_at(&self, key: &str, routes: &[&str], received_at: Timestamp) {
        self.insert(vec![event(key, routes, received_at)]);
    }

    /// Stores events whose tasks are dead already, of one conversation.
    pub(crate) fn put_dead(&self, n: usize) {
        let dead = |n| NewEvent {
            unreadable: Some("of course"),
            lane: Some(Lane::of(&["one"])),
            ..event(&format!("k{n}"), &["books"], Clock::system().now())
        };
        self.insert((0..n).map(dead).collect());
    }

    /// Stores events that wait for each other, of one conversation.
    pub(crate) fn put_lane(&self, n: usize) {
        let one = |n| NewEvent {
            lane: Some(Lane::of(&["one"])),
            ..event(&format!("k{n}"), &["books"], Clock::system().now())
        };
        self.insert((0..n).map(one).collect());
    }

    fn insert(&self, events: Vec<NewEvent>) {
        self.runtime.block_on(self.store.insert(events)).unwrap();
    }

    /// Ends an attempt of every due task of a route.
    pub(crate) fn end(&self, route: &str, outcome: &Outcome) {
        let route = ClaimRoute {
            name: route.into(),
            lease: Duration::from_secs(60),
            limit: 1000,
            reserve: 0,
        };
        let order = ClaimOrder {
            token: Token::draw(),
            worker: "tester".into(),
            routes: vec![route],
            limit: 1000,
            reserve: 0,
        };
        self.runtime.block_on(async {
            for claim in self.store.claim(order).await.unwrap() {
                self.store.finish(&claim, outcome).await.unwrap();
            }
        });
    }

    /// How many tasks are pending and dead.
    pub(crate) fn waiting(&self) -> (u64, u64) {
        let counts = self.runtime.block_on(self.store.counts()).unwrap();
        (counts.pending, counts.dead)
    }
}

/// An event with a task for each of these routes.
fn event(key: &str, routes: &[&str], received_at: Timestamp) -> NewEvent {
    let payload = format!(r#"{{"key":"{key}"}}"#);
    let task = |route: &&str| NewTask { route: (*route).into(), max_attempts: 3, ordered: true };
    NewEvent {
        id: EventId::of("a", key),
        source: "a".into(),
        scope: "a".into(),
        key: Key::of(&[key]),
        kind: Kind::of("message", Some("text")),
        lane: None,
        priority: Priority::Urgent,
        digest: Sha256::digest(payload.as_bytes()).into(),
        payload,
        content_type: "application/json",
        element: String::new(),
        weak_key: false,
        sent_at: None,
        received_at,
        unreadable: None,
        tasks: routes.iter().map(task).collect(),
    }
}

/// The outcome of an attempt that nothing follows.
pub(crate) fn dead() -> Outcome {
    Outcome::Dead { error: "of course".to_owned(), lane: DeadLane::Pass }
}
