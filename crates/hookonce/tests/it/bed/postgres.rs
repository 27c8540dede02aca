//! A database of its own for each test, on the server that the test command starts.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;

use tokio_postgres::{NoTls, SimpleQueryMessage};

/// Where the tests' server is; `scripts/servers.sh` starts it and says so.
const SERVER: &str = "HOOKONCE_TEST_POSTGRES";
/// And the `PgBouncer` in front of it, in transaction mode.
const BOUNCER: &str = "HOOKONCE_TEST_PGBOUNCER";

/// A database that goes when it is dropped.
pub(crate) struct Database {
    pub(crate) url: String,
    name: String,
    server: String,
}

impl Database {
    pub(crate) fn make() -> Self {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let server = address(SERVER);
        let name = format!("t{}_{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        Connection::open(&server).run(&format!("create database {name}"));
        Self { url: format!("{server}/{name}"), name, server }
    }

    /// Its address through `PgBouncer`.
    pub(crate) fn pooled_url(&self) -> String {
        format!("{}/{}", address(BOUNCER), self.name)
    }
}

/// What the test command says under this name.
#[expect(clippy::disallowed_methods, reason = "the servers are started outside")]
pub(crate) fn address(variable: &str) -> String {
    std::env::var(variable).unwrap_or_else(|_| {
        panic!("`{variable}` is not set: run `scripts/servers.sh cargo test …`")
    })
}

impl Drop for Database {
    fn drop(&mut self) {
        let drop = format!("drop database {} with (force)", self.name);
        Connection::open(&self.server).run(&drop);
    }
}

/// A connection that can be used from anywhere, since it waits on a thread of its own.
pub(crate) struct Connection(mpsc::Sender<Asked>);

/// A statement, and where its answer goes.
type Asked = (String, mpsc::Sender<Result<Vec<String>, String>>);

impl Connection {
    pub(crate) fn open(url: &str) -> Self {
        let (asks, asked) = mpsc::channel();
        let url =
            if url.matches('/').count() == 2 { format!("{url}/postgres") } else { url.to_owned() };
        std::thread::spawn(move || serve(&url, &asked));
        Self(asks)
    }

    pub(crate) fn run(&self, sql: &str) {
        self.try_run(sql).unwrap();
    }

    /// The first column of each row.
    pub(crate) fn texts(&self, sql: &str) -> Vec<String> {
        self.try_run(sql).unwrap()
    }

    pub(crate) fn try_run(&self, sql: &str) -> Result<Vec<String>, String> {
        let (reply, answer) = mpsc::channel();
        self.0.send((sql.to_owned(), reply)).unwrap();
        answer.recv().unwrap()
    }
}

fn serve(url: &str, asked: &mpsc::Receiver<Asked>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
        let mut running = tokio::task::JoinSet::new();
        running.spawn(connection);
        while let Ok((sql, reply)) = asked.recv() {
            let said = client.simple_query(&sql).await.map_err(|error| format!("{error:?}"));
            let texts = said.map(|said| {
                let rows = said.into_iter().filter_map(|message| match message {
                    SimpleQueryMessage::Row(row) => Some(row.get(0).unwrap_or_default().to_owned()),
                    _ => None,
                });
                rows.collect()
            });
            let _ = reply.send(texts);
        }
    });
}
