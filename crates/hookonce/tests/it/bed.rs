//! What a test of a store stands on: a store of its own, a clock of its own, events made to order.

pub(crate) mod authority;
pub(crate) mod postgres;
pub(crate) mod proxy;
pub(crate) mod scheme;
pub(crate) mod server;
pub(crate) mod writer;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use hookonce::event::{EventId, Key, Kind, Lane, NewEvent, Priority};
use hookonce::store::postgres::{PostgresOptions, PostgresStore};
use hookonce::store::sqlite::{SqliteOptions, SqliteStore};
use hookonce::store::{Arrival, ClaimOrder, ClaimRoute, Clock, EventDetails, Statement, Store};
use hookonce::task::{Claim, NewTask, TaskId, Token};
use jiff::Timestamp;
use sha2::{Digest as _, Sha256};

pub(crate) use postgres::{Connection, Database};

/// Makes a test of each store from one body: `store_test!(name, |bed| async move { … })`; of those
/// marked `name and pgbouncer` one more, since a pooler in between sees other connections.
macro_rules! store_test {
    ($(#[$doc:meta])* $name:ident, $body:expr) => {
        mod $name {
            use super::*;

            crate::bed::store_test!(@ $(#[$doc])* sqlite, $body);
            crate::bed::store_test!(@ $(#[$doc])* postgres, $body);
        }
    };
    ($(#[$doc:meta])* $name:ident and pgbouncer, $body:expr) => {
        mod $name {
            use super::*;

            crate::bed::store_test!(@ $(#[$doc])* sqlite, $body);
            crate::bed::store_test!(@ $(#[$doc])* postgres, $body);
            crate::bed::store_test!(@ $(#[$doc])* pgbouncer, $body);
        }
    };
    (@ $(#[$doc:meta])* $store:ident, $body:expr) => {
        $(#[$doc])*
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $store() {
            let body = $body;
            let (bed, kept) = crate::bed::Bed::$store().await;
            body(bed).await;
            drop(kept);
        }
    };
}
/// Makes a test of SQLite alone, of what no other store has.
macro_rules! sqlite_test {
    ($(#[$doc:meta])* $name:ident, $body:expr) => {
        $(#[$doc])*
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $name() {
            let body = $body;
            let (bed, dir) = crate::bed::Bed::sqlite().await;
            body(bed).await;
            drop(dir);
        }
    };
}
pub(crate) use sqlite_test;
pub(crate) use store_test;

/// A store with its clock.
pub(crate) struct Bed {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: TestClock,
    /// Runs SQL that the test itself needs, in the application's own tables.
    pub(crate) sql: Sql,
}

/// A clock that goes only when it is told to.
#[derive(Clone)]
pub(crate) struct TestClock(Arc<AtomicI64>, Option<Arc<Connection>>);

impl TestClock {
    pub(crate) fn new() -> Self {
        Self(Arc::new(AtomicI64::new(1_790_000_000_000)), None)
    }

    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::from_millisecond(self.0.load(Ordering::SeqCst)).unwrap()
    }

    pub(crate) fn advance(&self, by: Duration) {
        self.0.fetch_add(i64::try_from(by.as_millis()).unwrap(), Ordering::SeqCst);
        if let Some(connection) = &self.1 {
            connection.run(&format!("update test_clock set at = '{}'", self.now()));
        }
    }

    pub(crate) fn clock(&self) -> Clock {
        let clock = self.clone();
        Clock::new(move || clock.now())
    }
}

/// The application's own connection to the database that the store is in. Tests name our tables as
/// SQLite has them.
pub(crate) enum Sql {
    Sqlite(rusqlite::Connection),
    Postgres(Connection),
}

impl Sql {
    pub(crate) fn run(&self, sql: &str) {
        match self {
            Self::Sqlite(connection) => connection.execute_batch(sql).unwrap(),
            Self::Postgres(connection) => connection.run(&sql.replace("hookonce_", "hookonce.")),
        }
    }

    /// Runs what each engine says in words of its own.
    pub(crate) fn run_either(&self, sqlite: &str, postgres: &str) {
        self.run(match self {
            Self::Sqlite(_) => sqlite,
            Self::Postgres(_) => postgres,
        });
    }

    pub(crate) fn count(&self, table: &str) -> i64 {
        let sql = format!("select count(*) from {table}");
        match self {
            Self::Sqlite(connection) => connection.query_row(&sql, (), |row| row.get(0)).unwrap(),
            Self::Postgres(_) => self.text(&sql).parse().unwrap(),
        }
    }

    pub(crate) fn text(&self, sql: &str) -> String {
        match self {
            Self::Sqlite(connection) => connection.query_row(sql, (), |row| row.get(0)).unwrap(),
            Self::Postgres(connection) => {
                connection.texts(&sql.replace("hookonce_", "hookonce.")).remove(0)
            }
        }
    }
}

impl Bed {
    #[expect(clippy::unused_async, reason = "all stores are made alike")]
    pub(crate) async fn sqlite() -> (Self, tempfile::TempDir) {
        let (bed, _, dir) = Self::sqlite_itself();
        (bed, dir)
    }

    /// With the store as what it is, for what is SQLite's alone.
    pub(crate) fn sqlite_itself() -> (Self, Arc<SqliteStore>, tempfile::TempDir) {
        let dir = tempfile::tempdir().unwrap();
        let clock = TestClock::new();
        let path = dir.path().join("test.db");
        let options = SqliteOptions { clock: clock.clock(), min_free_disk: 0 };
        let store = Arc::new(SqliteStore::open(&path, options).unwrap());
        let sql = Sql::Sqlite(rusqlite::Connection::open(&path).unwrap());
        (Self { store: store.clone(), clock, sql }, store, dir)
    }

    pub(crate) async fn postgres() -> (Self, Database) {
        let database = Database::make();
        let url = database.url.clone();
        (Self::postgres_at(&url, &database, TestClock::new()).await, database)
    }

    /// On a database that is there, under the time that `clock` tells.
    pub(crate) async fn postgres_in(database: &Database, clock: TestClock) -> Self {
        Self::postgres_at(&database.url, database, clock).await
    }

    pub(crate) async fn pgbouncer() -> (Self, Database) {
        let database = Database::make();
        let url = database.pooled_url();
        (Self::postgres_at(&url, &database, TestClock::new()).await, database)
    }

    async fn postgres_at(url: &str, database: &Database, clock: TestClock) -> Self {
        let store = PostgresStore::open(PostgresOptions::new(url)).await.unwrap();
        let connection = Arc::new(Connection::open(&database.url));
        let clock = TestClock(clock.0, Some(connection.clone()));
        // The store's clock is the server's; here it is the test's.
        connection.run(&format!(
            "create table test_clock (at timestamptz); insert into test_clock values ('{}'); \
             create or replace function hookonce.clock() returns timestamptz \
             language sql volatile as 'select at from public.test_clock'",
            clock.now()
        ));
        let sql = Sql::Postgres(Connection::open(&database.url));
        Self { store: Arc::new(store), clock, sql }
    }

    /// Stores events, each as a request of its own, and says what became of each.
    pub(crate) async fn insert<const N: usize>(&self, events: [New; N]) -> Vec<Arrival> {
        let mut arrivals = Vec::new();
        for event in events {
            arrivals.extend(self.store.insert(vec![event.at(self.clock.now())]).await.unwrap());
        }
        arrivals
    }

    /// Claims for the route `r`.
    pub(crate) async fn claim(&self, limit: usize) -> Vec<Claim> {
        self.store.claim(order(limit)).await.unwrap()
    }

    /// Claims the one task that is due.
    pub(crate) async fn claim_one(&self) -> Claim {
        let mut claims = self.claim(10).await;
        assert_eq!(claims.len(), 1, "one task is due");
        claims.remove(0)
    }

    pub(crate) async fn get(&self, key: &str) -> EventDetails {
        self.store.get(id(key)).await.unwrap().unwrap()
    }

    /// State, attempt and epoch of the task for the route `r`.
    pub(crate) async fn task(&self, key: &str) -> (&'static str, u32, u32) {
        let details = self.get(key).await;
        let task = details.summary.tasks.iter().find(|task| task.route == "r").unwrap();
        (task.state.as_str(), task.attempt, task.epoch)
    }
}

pub(crate) const LEASE: Duration = Duration::from_secs(60);

/// An order for the route `r` under a lease of a minute.
pub(crate) fn order(limit: usize) -> ClaimOrder {
    ClaimOrder {
        token: Token::draw(),
        worker: "tester".into(),
        routes: vec![for_route("r", LEASE)],
        limit,
        reserve: 0,
    }
}

/// What a worker asks for that handles this route alone.
pub(crate) fn for_route(name: &str, lease: Duration) -> ClaimRoute {
    ClaimRoute { name: name.into(), lease, limit: usize::MAX, reserve: 0 }
}

/// The id of the event with this key, as [`new`] makes it.
pub(crate) fn id(key: &str) -> EventId {
    EventId::of("whatsapp", key)
}

/// The task of the route `r` for the event with this key.
pub(crate) fn task_id(key: &str) -> TaskId {
    TaskId { event_id: id(key), route: "r".into() }
}

/// The keys of claimed events, in the order in which they were given.
pub(crate) fn keys(claims: &[Claim]) -> Vec<&str> {
    claims.iter().map(|claim| claim.event.key.as_str()).collect()
}

/// A statement without parameters but the event's id.
pub(crate) fn statement(claim: &Claim, sql: &str) -> Statement {
    let id = hookonce::store::Parameter::Text(claim.event.id.to_string());
    Statement { sql: sql.into(), parameters: vec![("id", id)], timeout: LEASE }
}

/// An event to be inserted, with a task for the route `r` unless it says otherwise.
#[derive(Clone)]
pub(crate) struct New(NewEvent);

pub(crate) fn new(key: &str) -> New {
    let payload = format!(r#"{{"key":"{key}"}}"#);
    New(NewEvent {
        id: id(key),
        source: "whatsapp".into(),
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
        received_at: Timestamp::UNIX_EPOCH,
        unreadable: None,
        tasks: Vec::new(),
    })
    .routes(&["r"])
}

impl New {
    pub(crate) fn lane(mut self, lane: &str) -> Self {
        self.0.lane = Some(Lane::of(&[lane]));
        self
    }

    pub(crate) fn routes(mut self, routes: &[&str]) -> Self {
        self.0.tasks = routes
            .iter()
            .map(|route| NewTask { route: (*route).into(), max_attempts: 3, ordered: true })
            .collect();
        self
    }

    pub(crate) fn source(mut self, source: &str) -> Self {
        self.0.source = source.into();
        self
    }

    pub(crate) fn priority(mut self, priority: Priority) -> Self {
        self.0.priority = priority;
        self
    }

    pub(crate) fn unreadable(mut self) -> Self {
        self.0.unreadable = Some("not JSON");
        self.0.kind = Kind::unreadable();
        self
    }

    pub(crate) fn sent_at(mut self, at: Timestamp) -> Self {
        self.0.sent_at = Some(at);
        self
    }

    /// Another element under the same key.
    pub(crate) fn payload(mut self, payload: &str) -> Self {
        payload.clone_into(&mut self.0.payload);
        self.0.digest = Sha256::digest(payload.as_bytes()).into();
        self
    }

    /// The event as received at `now`.
    pub(crate) fn at(mut self, now: Timestamp) -> NewEvent {
        self.0.received_at = now;
        self.0
    }
}
