//! Nodes of the real program on a PostgreSQL server of the test's own, each behind a network of its own.

use std::process::Command;
use std::sync::Mutex;

use super::network::Network;
use crate::crash::sender::SECRET;
use crate::crash::wait_until;
use crate::engine::{Connection, Postgres};
use crate::program::{Place, Server};

/// The lease of a claim.
pub(super) const LEASE: &str = "2s";

/// The nodes, their server and their configuration.
pub(super) struct Nodes {
    place: Place,
    pub(super) networks: Vec<Network>,
    /// Those that run.
    pub(super) running: Vec<Mutex<Option<Server>>>,
    /// What each process is started with, such as a clock that is wrong.
    variables: Vec<Vec<(String, String)>>,
    /// Last: the server ends after its nodes.
    pub(super) postgres: Postgres,
}

impl Nodes {
    /// Starts as many nodes, on a server with these settings.
    pub(super) fn start(n: usize, settings: &str) -> Self {
        Self::with(vec![vec![]; n], settings)
    }

    /// Starts nodes with these variables each.
    pub(super) fn with(variables: Vec<Vec<(String, String)>>, settings: &str) -> Self {
        let postgres = Postgres::start(&format!("max_connections = 200\n{settings}"));
        let place = Place::new();
        place.write("hookonce.toml", &config());
        let networks = variables.iter().map(|_| Network::to(postgres.port)).collect();
        let running = variables.iter().map(|_| Mutex::default()).collect();
        let nodes = Self { place, networks, running, variables, postgres };
        // It has no unique constraint, so that a doubled effect shows.
        nodes.sql().run(
            "create table ledger (entry bigint generated always as identity primary key, \
             event_id uuid, message text, sender text, attempt integer, at timestamptz)",
        );
        for node in 0..nodes.running.len() {
            nodes.up(node);
        }
        nodes
    }

    /// A connection of its own to the database, past the networks.
    pub(super) fn sql(&self) -> Connection {
        Connection::open(&self.postgres.url())
    }

    /// Starts a node and waits until it listens; whether it can store is another thing.
    pub(super) fn up(&self, node: usize) {
        let url = format!(
            "postgres://postgres@127.0.0.1:{}/postgres?sslmode=disable",
            self.networks[node].port
        );
        let mut command = self.command(&url);
        command.envs(self.variables[node].iter().map(|(name, value)| (name, value)));
        *self.running[node].lock().unwrap() = Some(Server::listening(&mut command));
    }

    /// Another node that reaches the database so.
    pub(super) fn command(&self, url: &str) -> Command {
        let mut command = self.place.command(&["serve"]);
        command.env("HOOKONCE_STORE", url);
        command
    }

    /// `kill -9`.
    pub(super) fn kill(&self, node: usize) {
        drop(self.running[node].lock().unwrap().take());
    }

    /// Where a node listens, if it runs.
    pub(super) fn url(&self, node: usize) -> Option<String> {
        self.running[node].lock().unwrap().as_ref().map(|server| server.url.clone())
    }

    /// Waits until nothing is left to do.
    pub(super) fn wait_until_done(&self) {
        let sql = self.sql();
        wait_until("no task is pending or claimed", || {
            let open = "select count(*) from hookonce.tasks where state in ('pending', 'claimed')";
            sql.texts(open) == ["0"]
        });
    }
}

fn config() -> String {
    format!(
        r#"
[server]
listen = "127.0.0.1:0"
[worker]
poll = "100ms"
[sources.whatsapp]
scheme = "meta"
secrets = ["{SECRET}"]
[[routes]]
name = "books"
kinds = ["message.*"]
steps = ["ledger"]
lease = "{LEASE}"
max_attempts = 1000
retry_min = "50ms"
retry_max = "200ms"
[[routes]]
name = "outside"
kinds = ["outside.*"]
worker = "external"
[sinks.ledger]
type = "sql"
statement = """
insert into ledger (event_id, message, sender, attempt, at)
values (:id, (:element)::jsonb ->> 'id', (:element)::jsonb ->> 'from', :attempt, clock_timestamp())
"""
"#
    )
}
