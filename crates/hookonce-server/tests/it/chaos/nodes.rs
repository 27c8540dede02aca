//! Nodes on a PostgreSQL server of the test's own.

use std::ops::{Deref, DerefMut};

use super::fleet::Fleet;
use crate::crash::sender::SECRET;
use crate::crash::wait_until;
use crate::engine::{Connection, Postgres};

/// The lease of a claim.
pub(super) const LEASE: &str = "2s";

/// The nodes and their server.
pub(super) struct Nodes {
    fleet: Fleet,
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
        let store = "postgres://postgres@127.0.0.1:PORT/postgres?sslmode=disable";
        let fleet = Fleet::new(&config(), variables, postgres.port, store);
        let nodes = Self { fleet, postgres };
        // It has no unique constraint, so that a doubled effect shows.
        nodes.sql().run(
            "create table ledger (entry bigint generated always as identity primary key, \
             event_id uuid, message text, sender text, attempt integer, at timestamptz)",
        );
        nodes.all_up();
        nodes
    }

    /// A connection of its own to the database, past the networks.
    pub(super) fn sql(&self) -> Connection {
        Connection::open(&self.postgres.url())
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

impl Deref for Nodes {
    type Target = Fleet;

    fn deref(&self) -> &Fleet {
        &self.fleet
    }
}

impl DerefMut for Nodes {
    fn deref_mut(&mut self) -> &mut Fleet {
        &mut self.fleet
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
