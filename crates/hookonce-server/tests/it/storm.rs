//! The storm, at handlers in Node of which one is wrong, and at this program on each store.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

use crate::crash::wait_until;
use crate::engine::{Database, Redis, Sql, port};
use crate::program::{Place, Said, root};

const SECRET: &str = "storm-secret-0001";

/// A server that `restart.sh` kills, if it runs, and starts again at the same port. Gone when dropped.
struct Restarted {
    place: Place,
    url: String,
}

impl Restarted {
    /// Starts it: a line of shell with the port in `PORT`, that says something once it listens.
    fn start(place: Place, port: u16, path: &str, line: &str) -> Self {
        // What reads standard input for its end has it until the test's. The port is free once the old one
        // is gone, which a signal doesn't wait for.
        let script = format!(
            "[ ! -f pid ] || kill -9 \"$(cat pid)\" || exit 1\n\
             while [ -f pid ] && [ -e \"/proc/$(cat pid)/exe\" ]; do sleep 0.02; done\n\
             [ ! -f pid ] || sleep 0.2\n\
             tail --pid={} -f /dev/null 2>/dev/null | PORT={port} {line} >>said 2>&1 &\n\
             echo $! >pid\n",
            std::process::id()
        );
        place.write("restart.sh", &script);
        place.write("said", "");
        place.shell("sh restart.sh").ok();
        let restarted = Self { place, url: format!("http://127.0.0.1:{port}{path}") };
        wait_until("it listens", || !restarted.place.read("said").is_empty());
        restarted
    }

    fn storm(&self, arguments: &[&str]) -> Said {
        // A shell finds Node by it.
        let path = std::env::var_os("PATH").unwrap();
        let mut command = self.place.command(&[&["storm", &self.url], arguments].concat());
        Said::from(command.env("PATH", path).output().unwrap())
    }
}

impl Drop for Restarted {
    fn drop(&mut self) {
        self.place.shell("kill -9 \"$(cat pid)\"");
    }
}

/// A handler of `bench/peers/handlers` with a ledger of its own.
struct Handler {
    server: Restarted,
    database: Database,
}

impl Handler {
    fn start(name: &str) -> Self {
        let made = std::process::Command::new(root().join("scripts/examples.sh")).output().unwrap();
        assert!(made.status.success(), "{}", Said::from(made).stderr);
        let database = Database::make();
        let script = root().join("target/examples/handlers").join(format!("{name}.js"));
        let line = format!(
            "DATABASE_URL='{}' APP_SECRET={SECRET} node '{}'",
            database.url,
            script.display()
        );
        let server = Restarted::start(Place::new(), port::free(), "/webhook", &line);
        Self { server, database }
    }

    fn storm(&self, more: &[&str]) -> (Said, Value) {
        let count = ["--count-sql", "select id from ledger", "--database", &self.database.url];
        let sender = ["--scheme", "meta", "--secret", SECRET, "--json"];
        let said = self.server.storm(&[&count[..], &sender, more].concat());
        let report = serde_json::from_str(&said.stdout)
            .unwrap_or_else(|_| panic!("{}{}", said.stdout, said.stderr));
        (said, report)
    }

    /// How often each id is in the ledger.
    fn ledger(&self) -> BTreeMap<String, u64> {
        Sql::of(&self.database)
            .numbers("select id, count(*) from ledger group by id")
            .into_iter()
            .collect()
    }
}

fn ids(report: &Value, what: &str) -> BTreeSet<String> {
    let of = |row: &Value| row.as_str().or(row["id"].as_str()).unwrap().to_owned();
    report[what].as_array().unwrap().iter().map(of).collect()
}

#[test]
fn a_handler_that_is_right_is_found_right_though_it_is_killed_in_the_middle() {
    let handler = Handler::start("careful");
    let more = ["--events", "300", "--midway", "sh restart.sh", "--still", "3"];
    let (said, report) = handler.storm(&more);
    assert_eq!(said.code, 0, "{report}");
    assert_eq!((&report["exactly_once"], &report["effects"]), (&true.into(), &300.into()));
    let ledger = handler.ledger();
    assert_eq!((ledger.len(), ledger.values().max()), (300, Some(&1)));
    assert!(report["answers"]["no connection"].as_u64() > Some(0), "it was not killed: {report}");
}

#[test]
fn a_number_alone_is_no_proof() {
    let handler = Handler::start("careful");
    let count = ["--count-sql", "select count(*) from ledger", "--database", &handler.database.url];
    let sender = ["--scheme", "meta", "--secret", SECRET, "--events", "20"];
    let said = handler.server.storm(&[&count[..], &sender].concat());
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert!(
        said.stdout.contains("20 effects: as many as there are events, which is no proof"),
        "{}",
        said.stdout
    );
}

/// A second effect is there two seconds after the first.
#[test]
fn a_second_effect_that_comes_late_is_counted() {
    let handler = Handler::start("careful");
    let sql = Sql::of(&handler.database);
    sql.run(
        "alter table ledger add column at timestamptz not null default clock_timestamp(); \
         create view effects as select id, \
         case when clock_timestamp() > at + interval '2 s' then 2 else 1 end as n from ledger",
    );
    let query = "select id, n from effects";
    let count = ["--count-sql", query, "--database", &handler.database.url];
    let sender = ["--scheme", "meta", "--secret", SECRET, "--events", "1", "--json"];
    let said = handler.server.storm(&[&count[..], &sender].concat());
    assert_eq!(said.code, 1, "{}{}", said.stdout, said.stderr);
    let report: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(ids(&report, "doubled").len(), 1, "{report}");
}

#[test]
fn a_handler_that_is_wrong_is_told_which_events_it_lost_and_which_it_doubled() {
    let handler = Handler::start("careless");
    let (said, report) = handler.storm(&["--events", "300", "--wait", "3"]);
    assert_eq!(said.code, 1, "{report}");
    let (lost, doubled) = (ids(&report, "lost"), ids(&report, "doubled"));
    let ledger = handler.ledger();
    // It takes the first message of a request, and looks before it inserts.
    assert!(!lost.is_empty() && !doubled.is_empty(), "{report}");
    assert!(lost.iter().all(|id| !ledger.contains_key(id)), "{lost:?}");
    assert_eq!(lost.len() + ledger.len(), 300);
    let twice = ledger.iter().filter(|(_, n)| **n > 1).map(|(id, _)| id.clone());
    assert_eq!(doubled, twice.collect());
}

/// Alone in its request, with no copy beside it, an event is lost only where the answer comes before the work.
#[test]
fn an_answer_before_the_work_loses_what_a_kill_cuts_off() {
    let handler = Handler::start("careless");
    // Its inserts wait for a lock, which it doesn't.
    let sql = Sql::of(&handler.database);
    sql.run("begin; lock table ledger in share row exclusive mode");
    let more = ["--batch", "1", "--events", "400", "--copies", "2", "--calm", "--wait", "3"];
    let said = std::thread::scope(|scope| {
        let storm = scope.spawn(|| {
            let midway = ["--midway", "sh restart.sh && touch killed", "--still", "2"];
            handler.storm(&[&more[..], &midway].concat())
        });
        wait_until("it is killed", || handler.server.place.path("killed").exists());
        sql.run("commit");
        storm.join().unwrap()
    });
    let (said, report) = said;
    assert_eq!(said.code, 1, "{report}");
    assert!(!ids(&report, "lost").is_empty(), "{report}");
}

/// This program, which is killed in the middle, and what its store counts as well as what `count` counts.
fn at_hookonce(store: &str, sink: &str, count: &[&str]) {
    let (place, port) = (Place::new(), port::free());
    let source = format!("[sources.meta]\nscheme = \"meta\"\nsecrets = [\"{SECRET}\"]\n");
    let route = "[[routes]]\nname = \"ledger\"\nsteps = [\"ledger\"]\nlease = \"2s\"\n";
    let head = format!(
        "store = \"{store}\"\n[server]\nlisten = \"127.0.0.1:{port}\"\nadmin_listen = \"127.0.0.1:0\"\nmin_free_disk = \"0B\"\n[worker]\npoll = \"100ms\"\n"
    );
    place.write("hookonce.toml", &[&head, &source, route, sink].concat());
    let line = format!("'{}' serve", env!("CARGO_BIN_EXE_hookonce"));
    let server = Restarted::start(place, port, "/webhooks/meta", &line);
    let more = ["--source", "meta", "--events", "200", "--midway", "sh restart.sh"];
    let before = server.place.read("pid");
    // Longer than the lease of what was killed.
    let more = [&more[..], &["--still", "4"]].concat();
    let said = server.storm(&[&more[..], count].concat());
    assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
    assert!(said.stdout.contains("200 effects: exactly once"), "{}", said.stdout);
    assert_ne!(server.place.read("pid"), before, "it was not started again");
}

const LEDGER: &str =
    "[sinks.ledger]\ntype = \"sql\"\nstatement = \"insert into ledger (key) values (:key)\"\n";
const LOG: &str = "[sinks.ledger]\ntype = \"log\"\n";

#[test]
fn on_sqlite_each_event_is_in_the_ledger_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("hookonce.db");
    let file = file.to_str().unwrap();
    rusqlite::Connection::open(Path::new(file))
        .unwrap()
        .execute_batch("create table ledger (key text not null)")
        .unwrap();
    let count =
        ["--count-sql", "select key, count(*) from ledger group by key", "--database", file];
    at_hookonce(&format!("sqlite:{file}"), LEDGER, &count);
}

#[test]
fn on_postgres_each_event_is_in_the_ledger_once() {
    let database = Database::make();
    Sql::of(&database).run("create table ledger (key text not null)");
    let count = ["--count-sql", "select key from ledger", "--database", &database.url];
    at_hookonce(&database.url, LEDGER, &count);
}

#[test]
fn on_redis_each_event_is_completed_once() {
    let server = Redis::start(&["--appendonly", "yes"]);
    at_hookonce(&server.url(), LOG, &["--count-store"]);
}

#[test]
fn it_goes_nowhere_else_and_says_what_is_missing() {
    let place = Place::new();
    let sender = ["--scheme", "meta", "--secret", SECRET];
    let storm = |more: &[&str]| place.run(&[&["storm"], more].concat());
    let said = storm(&[&["http://192.0.2.1/x", "--count-cmd", "true"], &sender[..]].concat());
    assert_eq!(said.code, 1);
    assert!(said.stderr.contains("`192.0.2.1` is not on loopback"), "{}", said.stderr);
    assert!(said.stderr.contains("--yes-really"), "{}", said.stderr);
    for (arguments, says) in [
        (&["http://127.0.0.1:1/x", "--scheme", "meta", "--secret", SECRET][..], "--count-cmd"),
        (
            &["http://127.0.0.1:1/x", "--scheme", "meta", "--secret", SECRET, "--database", "x"],
            "--count-sql",
        ),
        (&["http://127.0.0.1:1/x", "--count-cmd", "true"], "--scheme"),
        (&["http://127.0.0.1:1/x", "--scheme", "meta", "--count-cmd", "true"], "--secret"),
    ] {
        let said = storm(arguments);
        assert_eq!(said.code, 2);
        assert!(said.stderr.contains(says), "{}", said.stderr);
    }
    // In vain, and at once.
    let nobody = ["http://127.0.0.1:1/x", "--count-cmd", "true"];
    let said = storm(&[&nobody[..], &sender].concat());
    assert_eq!(said.code, 1);
    assert!(said.stderr.contains("nothing listens at http://127.0.0.1:1/x"), "{}", said.stderr);
    for (arguments, says) in [
        (["--scheme", "mete", "--count-cmd", "true"], "did you mean"),
        (["--scheme", "meta", "--count-cmd", "echo no; exit 3"], "the command failed"),
    ] {
        let said = storm(&[&["http://127.0.0.1:1/x", "--secret", SECRET], &arguments[..]].concat());
        assert_eq!(said.code, 1);
        assert!(said.stderr.contains(says), "{}", said.stderr);
    }
}

#[test]
fn an_endpoint_that_refuses_the_signature_gets_no_more() {
    let place = Place::new();
    place.write(
        "hookonce.toml",
        &format!("[server]\nlisten = \"127.0.0.1:0\"\nmin_free_disk = \"0B\"\n[sources.meta]\nscheme = \"meta\"\nsecrets = [\"{SECRET}\"]\n"),
    );
    let server = place.serve(&[]);
    let url = format!("{}/webhooks/meta", server.url);
    let arguments =
        ["storm", &url, "--scheme", "meta", "--secret", "another", "--count-cmd", "true"];
    let said = place.run(&arguments);
    assert_eq!(said.code, 1, "{}", said.stdout);
    assert!(said.stderr.contains("401"), "{}", said.stderr);
    assert!(said.stderr.contains("is it signed with the right secret"), "{}", said.stderr);
    assert_eq!(place.sql().number("select count(*) from hookonce_events"), 0);
}

#[test]
fn the_demo_books_each_sale_once_and_leaves_nothing() {
    let place = Place::new();
    std::fs::create_dir(place.path("tmp")).unwrap();
    let mut command = place.command(&["demo", "--json"]);
    let said = Said::from(command.env("TMPDIR", place.path("tmp")).output().unwrap());
    let shown: Value = serde_json::from_str(&said.ok()).unwrap();
    assert_eq!(
        (&shown["storm"]["effects"], &shown["stored"]["events"]),
        (&1000.into(), &1000.into())
    );
    assert!(shown["stored"]["duplicates"].as_u64() > Some(3000), "{shown}");
    assert_eq!(
        shown["books"],
        serde_json::json!({ "cash": 360_000, "sales": 360_000, "expected": 360_000 })
    );
    assert!(shown["storm"]["answers"]["no connection"].as_u64() > Some(0), "not killed: {shown}");
    assert_eq!(std::fs::read_dir(place.path("tmp")).unwrap().count(), 0);
}
