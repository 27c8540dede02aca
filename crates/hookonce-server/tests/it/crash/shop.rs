//! A shop that books each message once: a configuration, and a ledger in the store's database.

use std::collections::{BTreeMap, HashMap};

use rusqlite::Connection;
use serde_json::Value;

use super::sender::SECRET;
use super::wait_until;
use crate::engine::{Sql, either, member};
use crate::program::{Place, Server};

/// A place with a store whose events end in a ledger.
pub(super) struct Shop {
    /// The application's own connection to the database.
    pub(super) sql: Sql,
    /// Last, since its database goes with it.
    pub(super) place: Place,
}

/// What a test may want otherwise.
pub(super) struct Settings<'a> {
    /// Where events are posted before they are booked, if anywhere.
    pub(super) url: Option<&'a str>,
    /// What a shell runs before they are booked, if anything.
    pub(super) script: Option<&'a str>,
    pub(super) lease: &'a str,
    pub(super) max_attempts: u32,
    pub(super) grace: &'a str,
    pub(super) min_free_disk: &'a str,
}

impl Default for Settings<'_> {
    fn default() -> Self {
        Self {
            url: None,
            script: None,
            lease: "1s",
            max_attempts: 1000,
            grace: "30s",
            min_free_disk: "1MiB",
        }
    }
}

impl Settings<'_> {
    /// The configuration. The ledger has no unique constraint, so that a doubled effect shows.
    pub(super) fn config(&self) -> String {
        let Self { url, script, lease, max_attempts, grace, min_free_disk } = self;
        let reply = url.map(|url| {
            let keys = format!("type = \"http\"\nurl = \"{url}\"\nconcurrency = 64");
            ("reply", format!("[sinks.reply]\n{keys}\n"))
        });
        let script = script.map(|script| {
            let keys = format!("type = \"exec\"\ncommand = [\"sh\", \"-c\", '{script}']");
            ("script", format!("[sinks.script]\n{keys}\n"))
        });
        let (mut steps, sinks): (Vec<_>, String) = reply.into_iter().chain(script).unzip();
        steps.push("ledger");
        let [id, from] = ["id", "from"].map(|name| member(":element", &[name]));
        format!(
            r#"
[server]
listen = "127.0.0.1:0"
min_free_disk = "{min_free_disk}"
[worker]
poll = "100ms"
grace = "{grace}"
[sources.whatsapp]
scheme = "meta"
secrets = ["{SECRET}"]
[[routes]]
name = "books"
steps = {steps:?}
lease = "{lease}"
max_attempts = {max_attempts}
retry_min = "50ms"
retry_max = "200ms"
[sinks.ledger]
type = "sql"
statement = """
insert into ledger (event_id, message, sender) values (:id, {id}, {from})
"""
{sinks}"#
        )
    }
}

impl Shop {
    pub(super) fn new(settings: &Settings<'_>) -> Self {
        let place = Place::new();
        place.write("hookonce.toml", &settings.config());
        let sql = place.asks();
        let n = either("integer primary key", "bigint generated always as identity primary key");
        let rest = either("event_id, message, sender", "event_id text, message text, sender text");
        sql.run(&format!("create table ledger (entry {n}, {rest})"));
        Self { sql, place }
    }

    pub(super) fn serve(&self) -> Server {
        self.place.serve(&[])
    }

    pub(super) fn database(&self) -> Connection {
        Connection::open(self.place.path("hookonce.db")).unwrap()
    }

    /// How often each message is booked.
    pub(super) fn booked(&self) -> HashMap<String, u64> {
        self.numbers("select message, count(*) from ledger group by message")
    }

    /// A number for each word that a query gives.
    pub(super) fn numbers(&self, query: &str) -> HashMap<String, u64> {
        self.sql.numbers(query).into_iter().collect()
    }

    /// The one number that a query gives.
    pub(super) fn number(&self, query: &str) -> u64 {
        self.sql.number(query).try_into().unwrap()
    }

    /// What a command of the program answers.
    pub(super) fn ask(&self, arguments: &[&str]) -> Value {
        let arguments = [arguments, &["--json"]].concat();
        serde_json::from_str(&self.place.run(&arguments).ok()).unwrap()
    }

    /// The event of a message with all its details.
    pub(super) fn show(&self, message: &str) -> Value {
        let key = format!("message:106540352242922:{message}");
        let listed = self.ask(&["list", "--key", &key]);
        self.ask(&["show", listed["events"][0]["id"].as_str().unwrap()])
    }

    /// How many tasks are in each state.
    pub(super) fn states(&self) -> BTreeMap<String, u64> {
        let states = "select state, count(*) from hookonce_tasks group by state";
        self.numbers(states).into_iter().collect()
    }

    /// Waits until nothing is left to do.
    pub(super) fn wait_until_done(&self) {
        wait_until("no task is pending or claimed", || {
            let states = self.states();
            !states.contains_key("pending") && !states.contains_key("claimed")
        });
    }
}
