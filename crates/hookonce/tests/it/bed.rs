//! What a test of a store stands on: a store of its own, a clock of its own, events made to order.

pub(crate) mod authority;
pub(crate) mod keys;
pub(crate) mod killed;
pub(crate) mod port;
pub(crate) mod postgres;
pub(crate) mod proxy;
pub(crate) mod redis_cluster;
pub(crate) mod redis_server;
pub(crate) mod scheme;
pub(crate) mod server;
mod suite;
pub(crate) mod writer;

pub(crate) use suite::{sql_test, sqlite_test, store_test};

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use hookonce::event::{EventId, Key, Kind, Lane, NewEvent, Priority};
use hookonce::store::postgres::{PostgresOptions, PostgresStore};
use hookonce::store::redis::{RedisOptions, RedisStore};
use hookonce::store::sqlite::{SqliteOptions, SqliteStore};
use hookonce::store::{
    Arrival, ClaimOrder, ClaimRoute, Clock, EventDetails, Statement, StepDone, Store, StoreError,
};
use hookonce::task::{Claim, NewTask, TaskId, Token};
use jiff::Timestamp;
use sha2::{Digest as _, Sha256};

pub(crate) use postgres::{Connection, Database};

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
    /// The store has none.
    None(keys::Keys),
}

impl Sql {
    pub(crate) fn run(&self, sql: &str) {
        match self {
            Self::Sqlite(connection) => connection.execute_batch(sql).unwrap(),
            Self::Postgres(connection) => connection.run(&sql.replace("hookonce_", "hookonce.")),
            Self::None(_) => panic!("this store speaks no SQL: {sql}"),
        }
    }

    /// Runs what each engine says in words of its own.
    pub(crate) fn run_either(&self, sqlite: &str, postgres: &str) {
        self.run(match self {
            Self::Sqlite(_) => sqlite,
            Self::Postgres(_) => postgres,
            Self::None(_) => panic!("this store speaks no SQL: {sqlite}"),
        });
    }

    pub(crate) fn count(&self, table: &str) -> i64 {
        let sql = format!("select count(*) from {table}");
        match self {
            Self::Sqlite(connection) => connection.query_row(&sql, (), |row| row.get(0)).unwrap(),
            Self::Postgres(_) => self.text(&sql).parse().unwrap(),
            Self::None(_) => panic!("this store speaks no SQL: {sql}"),
        }
    }

    pub(crate) fn text(&self, sql: &str) -> String {
        match self {
            Self::Sqlite(connection) => connection.query_row(sql, (), |row| row.get(0)).unwrap(),
            Self::Postgres(connection) => {
                connection.texts(&sql.replace("hookonce_", "hookonce.")).remove(0)
            }
            Self::None(_) => panic!("this store speaks no SQL: {sql}"),
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

    pub(crate) async fn redis() -> (Self, redis_server::Server) {
        let server = redis_server::Server::start(&[]);
        (Self::redis_on(&server).await, server)
    }

    /// On a cluster, which others use, too; with its address.
    pub(crate) async fn redis_cluster() -> (Self, String) {
        let (keys, url) = keys::Keys::in_cluster();
        (Self::redis_at(url.clone(), keys).await.0, url)
    }

    /// On a server that is killed before each of the first calls, and comes back with its own file.
    pub(crate) async fn redis_killed() -> (Self, Arc<redis_server::Server>) {
        let server = Arc::new(redis_server::Server::start(&redis_server::EACH_TO_DISK));
        let (bed, store) = Self::redis_at(server.url(), keys::Keys::on(&server)).await;
        let store = Arc::new(killed::Killed::new(store, server.clone()));
        (Self { store, ..bed }, server)
    }

    /// On a server that is there.
    pub(crate) async fn redis_on(server: &redis_server::Server) -> Self {
        Self::redis_at(server.url(), keys::Keys::on(server)).await.0
    }

    async fn redis_at(url: String, keys: keys::Keys) -> (Self, Arc<RedisStore>) {
        let clock = TestClock::new();
        let options = RedisOptions { clock: Some(clock.clock()), ..RedisOptions::new(url) };
        let store = Arc::new(RedisStore::open(options).await.unwrap());
        (Self { store: store.clone(), clock, sql: Sql::None(keys) }, store)
    }

    /// Takes the payloads of these events away, as pruning does.
    pub(crate) fn drop_payloads(&self, keys: &[&str]) {
        for key in keys {
            match &self.sql {
                Sql::None(keys) => keys.delete_payload(id(key)),
                sql => sql
                    .run(&format!("update hookonce_events set payload = null where key = '{key}'")),
            }
        }
    }

    /// Makes the table that [`Bed::effects_of`] writes to, where the store speaks SQL.
    pub(crate) fn make_ledger(&self) {
        if !matches!(self.sql, Sql::None(_)) {
            self.sql.run("create table ledger (id text)");
        }
    }

    /// How many rows are in that table.
    pub(crate) fn ledger(&self) -> i64 {
        if matches!(self.sql, Sql::None(_)) { 0 } else { self.sql.count("ledger") }
    }

    /// What becomes of effects in one transaction with a claim's step and task, where the store speaks
    /// SQL.
    pub(crate) async fn effects_of(&self, claim: &Claim) -> Vec<Result<(), StoreError>> {
        if matches!(self.sql, Sql::None(_)) {
            return Vec::new();
        }
        let insert = || statement(claim, "insert into ledger values (:id)");
        vec![
            self.store.finish_with(claim, StepDone::Task, insert()).await,
            self.store.finish_with(claim, StepDone::Step("s"), insert()).await,
        ]
    }

    /// How many rows or keys are left of tasks and arrivals.
    pub(crate) fn left(&self) -> i64 {
        match &self.sql {
            Sql::None(keys) => keys.count("{whatsapp}:event:*"),
            sql => sql.count("hookonce_tasks") + sql.count("hookonce_arrivals"),
        }
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
        scope: "whatsapp".into(),
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
