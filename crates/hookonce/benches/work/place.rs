//! Where a store is measured, and what it is filled with.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hookonce::event::{EventId, Key, Kind, Lane, NewEvent, Priority};
use hookonce::store::Store;
use hookonce::store::postgres::{PostgresOptions, PostgresStore};
use hookonce::store::redis::{RedisOptions, RedisStore};
use hookonce::store::sqlite::{SqliteOptions, SqliteStore};
use hookonce::task::NewTask;

use crate::bed;
use crate::redis_server::Server;

pub(crate) const BATCH: usize = 500;

/// A store in a place of its own.
pub(crate) struct Place {
    pub(crate) name: &'static str,
    pub(crate) store: Arc<dyn Store>,
    /// How an element's text is found in a statement, where the store speaks SQL.
    pub(crate) ledger: &'static str,
    /// The database's server, where there is one.
    pub(crate) url: Option<String>,
    /// The server, where it is Redis.
    pub(crate) redis: Option<Server>,
    _kept: Box<dyn std::any::Any>,
}

impl Place {
    pub(crate) async fn open(name: &'static str) -> Self {
        let ledger = "create table ledger (id text primary key, note text)";
        if name == "redis" {
            let server = Server::start(&["--appendonly", "yes"]);
            let options = RedisOptions::new(server.url());
            let store = RedisStore::open(options).await.expect("the store opens");
            let (store, redis) = (Arc::new(store), Some(server));
            return Self { name, store, ledger: "", url: None, redis, _kept: Box::new(()) };
        }
        if name == "postgres" {
            let database = bed::Database::make();
            bed::Connection::open(&database.url).run(ledger);
            let options = PostgresOptions::new(&database.url);
            let store = PostgresStore::open(options).await.expect("the store opens");
            let statement = "insert into ledger values (:id, (:element)::jsonb #>> '{text,body}')";
            return Self {
                name,
                store: Arc::new(store),
                ledger: statement,
                url: Some(database.url.clone()),
                redis: None,
                _kept: Box::new(database),
            };
        }
        let dir = tempfile::tempdir().expect("a temporary folder can be made");
        let path = dir.path().join("bench.db");
        let store = SqliteStore::open(&path, SqliteOptions::default()).expect("the store opens");
        rusqlite::Connection::open(&path)
            .and_then(|connection| connection.execute_batch(ledger))
            .expect("the ledger can be made");
        let statement = "insert into ledger values (:id, :element ->> '$.text.body')";
        let (store, kept) = (Arc::new(store), Box::new(dir));
        Self { name, store, ledger: statement, url: None, redis: None, _kept: kept }
    }
}

pub(crate) async fn fill(
    store: &dyn Store,
    events: usize,
    lane: impl Fn(usize) -> String,
) -> Duration {
    let start = Instant::now();
    for from in (0..events).step_by(BATCH) {
        let batch = (from..events.min(from + BATCH)).map(|n| event(n, &lane(n))).collect();
        store.insert(batch).await.expect("the store inserts");
    }
    start.elapsed()
}

pub(crate) fn event(n: usize, lane: &str) -> NewEvent {
    let key = Key::of(&["message", "200000000000001", &format!("wamid.BENCH{n:08}")]);
    let payload = format!(
        "{{\"object\":\"whatsapp_business_account\",\"entry\":[{{\"id\":\"100000000000001\",\
         \"changes\":[{{\"field\":\"messages\",\"value\":{{\"messaging_product\":\"whatsapp\",\
         \"metadata\":{{\"display_phone_number\":\"15550002222\",\"phone_number_id\":\
         \"200000000000001\"}},\"contacts\":[{{\"profile\":{{\"name\":\"Test\"}},\"wa_id\":\
         \"15550001111\"}}],\"messages\":[{{\"from\":\"15550001111\",\"id\":\"wamid.BENCH{n:08}\",\
         \"timestamp\":\"1760000000\",\"type\":\"text\",\"text\":{{\"body\":\"hello\"}}}}]}}}}]}}]}}"
    );
    NewEvent {
        id: EventId::of("whatsapp", key.as_str()),
        source: "whatsapp".into(),
        scope: "whatsapp".into(),
        key,
        kind: Kind::of("message", Some("text")),
        lane: Some(Lane::of(&[lane])),
        priority: Priority::Urgent,
        payload,
        content_type: "application/json",
        element: "/entry/0/changes/0/value/messages/0".to_owned(),
        digest: [0; 32],
        weak_key: false,
        sent_at: None,
        received_at: jiff::Timestamp::UNIX_EPOCH,
        unreadable: None,
        tasks: vec![NewTask { route: "r".into(), max_attempts: 24, ordered: true }],
    }
}
