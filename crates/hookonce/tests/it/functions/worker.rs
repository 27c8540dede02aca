//! A worker that speaks SQL, and the database that it works in.

use std::time::{Duration, Instant};

use hookonce::store::{MirrorRoute, MirrorSource};
use serde_json::Value;

use crate::bed::{Bed, Connection, Database};

/// How long anything that is waited for may take.
const LIMIT: Duration = Duration::from_secs(20);

/// A store with its mirror, and a connection of a worker.
pub(super) struct Place {
    pub(super) bed: Bed,
    pub(super) worker: Connection,
    pub(super) database: Database,
}

/// A claim as the function gives it.
#[derive(Debug)]
pub(super) struct Claimed(pub(super) Value);

impl Place {
    /// With routes `r` for messages, `hold` that holds its lanes, `free` without order, and `own` of the
    /// server.
    pub(super) async fn make() -> Self {
        let (bed, database) = Bed::postgres().await;
        let source = |name: &str| MirrorSource { name: name.into(), scope: "whatsapp".into() };
        let routes = [
            route("r", "message.*"),
            MirrorRoute { holds: true, ..route("hold", "hold.*") },
            MirrorRoute { ordered: false, ..route("free", "free.*") },
            MirrorRoute { external: false, ..route("own", "own.*") },
        ];
        let sources = [source("whatsapp"), source("second")];
        bed.store.mirror(&sources, &routes).await.unwrap();
        let worker = Connection::open(&database.url);
        worker.run("create table ledger (id text)");
        Self { bed, worker, database }
    }

    /// Another connection.
    pub(super) fn another(&self) -> Connection {
        Connection::open(&self.database.url)
    }

    /// Receives a message of a lane.
    pub(super) fn receive(&self, key: &str, lane: &str) {
        self.receive_kind(key, "message.text", lane);
    }

    pub(super) fn receive_kind(&self, key: &str, kind: &str, lane: &str) {
        let lane = if lane.is_empty() { "null".to_owned() } else { format!("'{lane}'") };
        self.worker.run(&format!(
            "select hookonce.receive('whatsapp', '{key}', '{kind}', {lane}, '{{\"key\":\"{key}\"}}')"
        ));
    }

    pub(super) fn claim(&self, max: u32) -> Vec<Claimed> {
        claim(&self.worker, "r", max)
    }

    pub(super) fn claim_one(&self) -> Claimed {
        let mut claims = self.claim(10);
        assert_eq!(claims.len(), 1, "one task is due");
        claims.remove(0)
    }

    /// The rows of a query, each as text.
    pub(super) fn rows(&self, sql: &str) -> Vec<String> {
        self.worker.texts(sql)
    }

    /// The one value of a query.
    pub(super) fn text(&self, sql: &str) -> String {
        self.rows(sql).remove(0)
    }

    /// The error that a statement ends with; it names its code.
    pub(super) fn error(&self, sql: &str) -> String {
        self.worker.try_run(sql).unwrap_err()
    }

    /// What the table of tasks says of an event: state, attempt, epoch, error.
    pub(super) fn task(&self, key: &str) -> String {
        self.text(&format!(
            "select concat_ws(' ', t.state, t.attempt, t.epoch, t.error) from hookonce.tasks t \
             join hookonce.events e using (seq) where e.key = '{key}'"
        ))
    }

    /// Waits until a query says `t`.
    pub(super) fn until(&self, sql: &str) {
        let start = Instant::now();
        while self.text(sql) != "t" {
            assert!(start.elapsed() < LIMIT, "never came true: {sql}");
            std::thread::yield_now();
        }
    }
}

impl Claimed {
    pub(super) fn get(&self, column: &str) -> &str {
        self.0[column].as_str().unwrap()
    }

    /// The call of a function that is about this claim.
    pub(super) fn call(&self, function: &str, rest: &str) -> String {
        let [id, route, token] = ["id", "route", "token"].map(|name| self.get(name));
        format!("select hookonce.{function}('{id}', '{route}', '{token}'{rest});")
    }
}

/// Claims by this connection.
pub(super) fn claim(worker: &Connection, route: &str, max: u32) -> Vec<Claimed> {
    let sql = format!(
        "select row_to_json(c) from hookonce.claim('tester', '{{{route}}}', '60 seconds', {max}) c"
    );
    let found = worker.texts(&sql);
    found.iter().map(|row| Claimed(serde_json::from_str(row).unwrap())).collect()
}

/// Every call about a claim, each about a claim that `make` makes for a key and a lane of its own.
pub(super) fn writes_of(make: impl Fn(&str, &str) -> Claimed) -> Vec<String> {
    let calls = [
        ("finish", ""),
        ("retry", ", 'error'"),
        ("bury", ", 'error'"),
        ("release", ", '1 hour'"),
        ("extend", ", '60s'"),
        ("record_step", ", 'step', '1'"),
    ];
    let make = |(function, rest): (&str, &str)| make(function, function).call(function, rest);
    calls.into_iter().map(make).collect()
}

/// The keys of claimed events.
pub(super) fn keys(claims: &[Claimed]) -> Vec<&str> {
    claims.iter().map(|claim| claim.get("key")).collect()
}

fn route(name: &str, kinds: &str) -> MirrorRoute {
    MirrorRoute {
        name: name.into(),
        sources: None,
        kinds: Some(vec![kinds.to_owned()]),
        max_attempts: 3,
        retry_min: Duration::from_secs(5),
        retry_max: Duration::from_secs(7200),
        holds: false,
        ordered: true,
        external: true,
    }
}
