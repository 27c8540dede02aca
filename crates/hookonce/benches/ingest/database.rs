//! What a load costs the database's server.

use std::fmt;

use crate::bed::Connection;

/// What a database's server had done by some time.
pub(crate) struct Spent {
    /// CPU time of all its processes, in seconds.
    cpu: f64,
    /// Bytes of its log.
    wal: f64,
}

/// What a load cost the server, an event.
pub(crate) struct Cost {
    each: Spent,
    commits: f64,
    dead_tuples: f64,
}

impl Spent {
    pub(crate) fn by_now(connection: &Connection) -> Self {
        let backend = connection.texts("select pg_backend_pid()")[0].parse();
        Self {
            cpu: cpu_of_family(parent(backend.expect("a process has a number"))),
            wal: number(connection, "select pg_current_wal_insert_lsn() - '0/0'::pg_lsn"),
        }
    }

    /// What was spent since `then`, for each of so many events.
    pub(crate) fn since(self, then: &Self, connection: &Connection, events: usize) -> Cost {
        let events = events as f64;
        let each =
            Self { cpu: (self.cpu - then.cpu) / events, wal: (self.wal - then.wal) / events };
        let commits = "select xact_commit from pg_stat_database where datname = current_database()";
        let dead = "select coalesce(sum(n_dead_tup), 0) from pg_stat_all_tables \
                    where schemaname = 'hookonce'";
        Cost {
            each,
            commits: number(connection, commits) / events,
            dead_tuples: number(connection, dead) / events,
        }
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { each, commits, dead_tuples } = self;
        let (cpu, wal) = (each.cpu * 1e6, each.wal);
        write!(
            f,
            "{cpu:.1} µs of the database's CPU, {wal:.0} bytes of its log, {commits:.3} commits, \
             {dead_tuples:.3} dead tuples an event"
        )
    }
}

fn number(connection: &Connection, sql: &str) -> f64 {
    connection.texts(sql)[0].parse().expect("the server gives a number")
}

/// The words of a process's state after its name, which may hold anything.
fn stat(pid: u32) -> Vec<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().unwrap_or_default().split_whitespace().map(str::to_owned).collect()
}

fn parent(pid: u32) -> u32 {
    stat(pid).get(1).and_then(|word| word.parse().ok()).unwrap_or_default()
}

/// CPU time of a process, of its children, and of those that have ended, in seconds.
fn cpu_of_family(head: u32) -> f64 {
    let ticks = |stat: &[String], from: usize, n: usize| -> f64 {
        stat.iter().skip(from).take(n).filter_map(|word| word.parse::<f64>().ok()).sum()
    };
    let own = ticks(&stat(head), 11, 4);
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let children = processes
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| parent(*pid) == head);
    (own + children.map(|pid| ticks(&stat(pid), 11, 2)).sum::<f64>()) / 100.0
}
