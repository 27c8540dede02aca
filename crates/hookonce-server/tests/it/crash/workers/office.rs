//! An office: a real server whose events are left to workers outside, their ledger, and the workers.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Once;

use super::super::sender::SECRET;
use super::super::wait_until;
use crate::engine::Sql;
use crate::program::{Place, Said, Server, root, send};

/// What a worker is written in.
#[derive(Debug, Clone, Copy)]
pub(super) enum Language {
    Node,
    Python,
    Sqlx,
}

impl Language {
    /// The example's worker, without arguments; made if it is not there yet.
    fn worker(self) -> Command {
        static MADE: Once = Once::new();
        let root = root();
        MADE.call_once(|| {
            let made = Command::new(root.join("scripts/examples.sh")).output().unwrap();
            assert!(made.status.success(), "{}", Said::from(made).stderr);
        });
        let made = root.join("target/examples");
        let (program, script): (PathBuf, Option<PathBuf>) = match self {
            Self::Node => ("node".into(), Some(made.join("node/worker.js"))),
            Self::Python => {
                (made.join("python/bin/python"), Some(root.join("examples/python/worker.py")))
            }
            Self::Sqlx => (made.join("rust-sqlx/debug/hookonce-sqlx-worker"), None),
        };
        let mut command = Command::new(program);
        command.args(script).env("PYTHONDONTWRITEBYTECODE", "1");
        command
    }
}

/// A place whose messages are booked (route `books`) and whose orders are booked and printed (route
/// `receipts`).
pub(super) struct Office {
    pub(super) sql: Sql,
    language: Language,
    place: Place,
}

impl Office {
    /// The ledger has no unique constraint, so that a doubled effect shows. `on_entry` is what the
    /// database does before each entry; `command` the shell's lines that print a receipt of `$1`.
    pub(super) fn new(
        language: Language,
        max_attempts: u32,
        on_entry: &str,
        command: &str,
    ) -> Self {
        let place = Place::on_postgres();
        let route = |name: &str, kind: &str| {
            format!(
                "[[routes]]\nname = \"{name}\"\nkinds = [\"{kind}\"]\nworker = \"external\"\n\
                 max_attempts = {max_attempts}\nretry_min = \"50ms\"\nretry_max = \"200ms\"\n"
            )
        };
        let config = format!(
            "[server]\nlisten = \"127.0.0.1:0\"\n\
             [sources.whatsapp]\nscheme = \"meta\"\nsecrets = [\"{SECRET}\"]\n{}{}",
            route("books", "message.text"),
            route("receipts", "order.paid")
        );
        place.write("hookonce.toml", &config);
        place.write("print.txt", &format!("#!/bin/sh\ncd \"$(dirname \"$0\")\"\n{command}\n"));
        // Written by another process: a program that is open for writing here can't be run.
        place.shell("cat print.txt >print && chmod +x print").ok();
        place.run(&["migrate"]).ok();
        let sql = place.sql();
        // The role that the worker's is in is put together: `Sql` would take its name for a table's.
        sql.run(&format!(
            "create table ledger (event_id uuid, entry text, note text);
             create function before_entry() returns trigger language plpgsql as
             $$ begin {on_entry} return new; end $$;
             create trigger entry before insert on ledger
             for each row execute function before_entry();
             do $$ begin execute 'create role office_worker login in role hookonce' || '_worker';
             exception when duplicate_object or unique_violation then null; end $$;
             grant insert on ledger to office_worker"
        ));
        Self { sql, language, place }
    }

    pub(super) fn serve(&self) -> Server {
        self.place.serve(&[])
    }

    /// Starts a worker with a lease of a second, as a role that may do no more than it has to.
    pub(super) fn work(&self) -> Server {
        let url = self.place.store().replace("//postgres@", "//office_worker@");
        self.work_at(&url)
    }

    /// Starts one behind `PgBouncer`, which knows the one user only; of those that can: sqlx prepares
    /// each statement apart from running it.
    pub(super) fn work_pooled(&self) -> Server {
        match self.language {
            Language::Node | Language::Python => self.work_at(&self.place.pooled_store()),
            Language::Sqlx => self.work(),
        }
    }

    fn work_at(&self, url: &str) -> Server {
        let mut worker = self.language.worker();
        let print = self.place.path("print");
        Server::start(worker.args([url, "books", "receipts"]).arg(print).env("LEASE", "1"))
    }

    /// Stores an order by SQL alone, as urgent as a message.
    pub(super) fn order(&self, key: &str) {
        self.sql.texts(&format!(
            "select hookonce.receive('shop', '{key}', 'order.paid', '{key}', '{{}}', priority => 0)"
        ));
    }

    /// Lets the command of those go on that wait for this file.
    pub(super) fn touch(&self, file: &str) {
        self.place.write(file, "");
    }

    /// What the command has written to a file, line by line.
    pub(super) fn lines(&self, file: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.place.path(file)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// The entries of each event, `KEY: ENTRY NOTE`, without the notes of bookings.
    pub(super) fn ledger(&self) -> Vec<String> {
        self.sql.texts(
            "select e.key || ': ' || l.entry || case l.entry when 'printed' then ' ' || l.note else '' end
             from ledger l join hookonce_events e on e.id = l.event_id order by 1",
        )
    }

    /// The attempts of an event as they ended, such as `1 lapsed`.
    pub(super) fn attempts(&self, key: &str) -> Vec<String> {
        self.sql.texts(&format!(
            "select a.attempt || ' ' || a.outcome from hookonce_attempts a
             join hookonce_events e using (seq) where e.key = '{key}' order by a.epoch"
        ))
    }

    /// The numbers of the processes that have claims of events with such a key.
    pub(super) fn claimants(&self, key: &str) -> Vec<u32> {
        let workers = self.sql.texts(&format!(
            "select t.worker from hookonce_tasks t join hookonce_events e using (seq)
             where e.key like '{key}' and t.state = 'claimed'"
        ));
        // A server that takes a lapsed claim over has it for a moment.
        let pid = |name: &String| name.split_once(':').and_then(|(_, pid)| pid.parse().ok());
        workers.iter().filter_map(pid).collect()
    }

    /// How many tasks are in each state.
    pub(super) fn states(&self) -> Vec<(String, u64)> {
        self.sql.numbers("select state, count(*) from hookonce_tasks group by 1 order by 1")
    }

    pub(super) fn wait_until_done(&self) {
        wait_until("no task is pending or claimed", || {
            self.states().iter().all(|(state, _)| state == "completed" || state == "dead")
        });
    }
}

/// Stops a process, and waits until it stands still.
pub(super) fn pause(worker: &Server) {
    assert!(send("STOP", worker.pid()));
    wait_until("it stands still", || {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", worker.pid())).unwrap();
        stat.rsplit_once(") ").unwrap().1.starts_with('T')
    });
}
