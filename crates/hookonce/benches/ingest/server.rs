//! The server under load, as a process of its own.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use hookonce::listener::{self, ListenerOptions};
use hookonce::receiver::{Receiver, ReceiverOptions, Source};
use hookonce::route::{Order, Route};
use hookonce::scheme::meta::Meta;
use hookonce::scheme::{Proof, Secret};
use hookonce::store::Store;
use hookonce::store::postgres::{PostgresOptions, PostgresStore};
use hookonce::store::redis::{RedisOptions, RedisStore};
use hookonce::store::sqlite::{SqliteOptions, SqliteStore};

use crate::idle_store::IdleStore;
use crate::load::{Load, Measured};

/// What the load is signed with.
pub(crate) const SECRET: &str = "bench-app-secret";

/// Serves until standard input ends; says where on standard output. `store` is one of the parent's
/// stores and lives at `place`, `kind` is one of its kinds.
pub(crate) fn serve(store: &str, place: &str, kind: &str) {
    let routes: Arc<[Route]> = match kind {
        "recorded" => Arc::from([]),
        "task" => Arc::from([Route { order: Order::None, ..Route::new("all") }]),
        _ => Arc::from([Route::new("all")]),
    };
    let runtime = tokio::runtime::Runtime::new().expect("a runtime can be started");
    let store = runtime.block_on(open(store, place));
    let secrets = Secret::new(SECRET).into_iter().collect();
    let scheme = Arc::new(Meta::new(Proof::Secrets(secrets), None));
    let sources = vec![Source::new("meta", scheme)];
    let receiver = Receiver::new(store, sources, routes, ReceiverOptions::default());
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        println!("{}", listener.local_addr().expect("it is bound"));
        std::io::stdout().flush().expect("somebody reads");
        let parent_is_gone = tokio::task::spawn_blocking(|| {
            std::io::stdin().read_line(&mut String::new()).map(drop)
        });
        let until = async { drop(parent_is_gone.await) };
        listener::serve(listener, receiver.router(), ListenerOptions::default(), until).await;
    });
}

async fn open(store: &str, place: &str) -> Arc<dyn Store> {
    match store {
        "idle" => Arc::new(IdleStore),
        "postgres" => {
            let options = PostgresOptions::new(place);
            Arc::new(PostgresStore::open(options).await.expect("the store opens"))
        }
        "redis" => {
            let options = RedisOptions::new(place);
            Arc::new(RedisStore::open(options).await.expect("the store opens"))
        }
        _ => {
            let path = Path::new(place).join("bench.db");
            Arc::new(SqliteStore::open(&path, SqliteOptions::default()).expect("the store opens"))
        }
    }
}

/// A running server.
pub(crate) struct Child {
    process: std::process::Child,
    at: SocketAddr,
    /// Of the server itself, which a tracer may stand before.
    pid: u32,
}

impl Child {
    /// Starts the server and waits until it listens.
    pub(crate) fn start(mut command: Command) -> Self {
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let mut line = String::new();
        let output = process.stdout.as_mut().expect("its output is piped");
        BufReader::new(output).read_line(&mut line).expect("it says where it listens");
        let at = line.trim().parse().expect("it says an address");
        let own = process.id();
        let children = format!("/proc/{own}/task/{own}/children");
        let traced = std::fs::read_to_string(children).unwrap_or_default();
        let pid = traced.split_whitespace().next().and_then(|pid| pid.parse().ok()).unwrap_or(own);
        Self { process, at, pid }
    }

    /// Puts the load on it.
    pub(crate) fn measure(&self, load: &Load) -> Measured {
        let before = cpu_seconds(self.pid);
        let mut measured = load.run(self.at);
        measured.cpu = cpu_seconds(self.pid) - before;
        measured
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        self.process.wait().expect("the server ends");
    }
}

/// CPU time that a process has taken, by the kernel's clock of a hundred ticks a second.
fn cpu_seconds(pid: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}
