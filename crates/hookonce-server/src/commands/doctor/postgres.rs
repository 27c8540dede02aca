//! A store in a database: whether it is reached and takes writes, its clock, its connections, and
//! what keeps dead rows from being cleared away.

use std::time::Duration;

use hookonce::store::Clock;
use hookonce::store::postgres::{PostgresFacts, PostgresStore};
use jiff::{SignedDuration, Timestamp};

use super::Report;
use crate::config::Config;
use crate::out::counted;
use crate::wiring;

/// How far its clock may be from ours before people are misled by the times they read. Leases don't
/// mind: they are measured on its clock alone.
const APART: SignedDuration = SignedDuration::from_secs(5);
/// How long a transaction may be open before it is in the way: a statement of ours takes moments.
const LONG: Duration = Duration::from_secs(5 * 60);
/// Fewer dead rows than this slow nothing down.
const DEAD: u64 = 50_000;

/// Connects to the store and looks at its server; `None` where it can't be used.
pub(super) async fn examine(
    config: &Config,
    url: &str,
    report: &mut Report,
) -> Option<PostgresStore> {
    let store = match wiring::open_existing_postgres(config, url).await {
        Ok(store) => store,
        Err(error) => {
            report.wrong("store", format!("{error:#}"));
            return None;
        }
    };
    let asked_at = Clock::system().now();
    match store.facts().await {
        Ok(facts) => {
            let message = format!(
                "`{}` is PostgreSQL {} with tables of version {}",
                config.store, facts.server, facts.version
            );
            report.fine("store", message);
            writes(&facts, report);
            clock(asked_at, Clock::system().now(), facts.now, report);
            connections(config, &facts, report);
            transactions(&facts, report);
            dead_rows(&facts, report);
        }
        Err(error) => report.wrong("store", format!("`{}` can't be read: {error}", config.store)),
    }
    Some(store)
}

fn writes(facts: &PostgresFacts, report: &mut Report) {
    let check = "server";
    if facts.in_recovery {
        report.wrong(
            check,
            "it is in recovery, a replica, and takes no writes: point `store` at the primary, or \
             wait for the failover to end",
        );
    } else if facts.read_only {
        report.wrong(
            check,
            "it is read-only (`default_transaction_read_only`) and takes no writes: turn that off, \
             for this user or the database",
        );
    } else {
        report.fine(check, "it takes writes");
    }
    if !facts.flushes {
        report.wrong(
            check,
            "it doesn't flush what it commits (`fsync = off`): a power cut may lose what was acked \
             and break the database; turn it on",
        );
    }
}

/// The server told its time between `from` and `to` of ours.
fn clock(from: Timestamp, to: Timestamp, there: Timestamp, report: &mut Report) {
    let check = "clock";
    let apart = if there < from {
        from.duration_since(there)
    } else if there > to {
        there.duration_since(to)
    } else {
        SignedDuration::ZERO
    };
    if apart <= APART {
        return report.fine(check, "the server's clock and this machine's agree");
    }
    let side = if there < from { "behind" } else { "ahead of" };
    report.warning(
        check,
        format!(
            "the server's clock is {} s {side} this machine's: leases are measured on the server's \
             and hold, but the times of events and attempts don't fit; set both by NTP",
            apart.as_secs()
        ),
    );
}

fn connections(config: &Config, facts: &PostgresFacts, report: &mut Report) {
    let (check, open, most) = ("connections", facts.connections, facts.most_connections);
    // What a process has beside its pool: one for leases, one that listens.
    let ours = u64::try_from(config.postgres.connections).unwrap_or(u64::MAX).saturating_add(2);
    let message = format!("{open} of {most} connections are open, a server takes up to {ours}");
    if open.saturating_add(ours) <= most {
        return report.fine(check, message);
    }
    report.warning(
        check,
        format!(
            "{message}: another may get none; lower `postgres.connections`, put PgBouncer in between, \
             or raise the server's `max_connections`"
        ),
    );
}

fn transactions(facts: &PostgresFacts, report: &mut Report) {
    let check = "transactions";
    let is_long = |age: &Duration| *age > LONG;
    let open = facts.oldest_transaction.filter(is_long);
    let prepared = facts.oldest_prepared.filter(is_long);
    if let Some(age) = open {
        report.warning(
            check,
            format!(
                "one has been open for {} min: dead rows pile up and claiming slows down until it \
                 ends; find it by `select pid, xact_start, state, query from pg_stat_activity order \
                 by xact_start` and end it, and set `idle_in_transaction_session_timeout`",
                age.as_secs() / 60
            ),
        );
    }
    if let Some(age) = prepared {
        report.warning(
            check,
            format!(
                "one was prepared {} min ago and never ended: dead rows pile up until it is; find it \
                 in `pg_prepared_xacts`, then `commit prepared` or `rollback prepared`",
                age.as_secs() / 60
            ),
        );
    }
    if facts.idle_slots > 0 {
        report.warning(
            check,
            format!(
                "nobody reads {}: the server keeps its log for it until the disk is full; find it in \
                 `pg_replication_slots`, start its reader or `pg_drop_replication_slot`",
                counted(facts.idle_slots, "replication slot")
            ),
        );
    }
    if open.is_none() && prepared.is_none() && facts.idle_slots == 0 {
        report.fine(check, "none that can be seen from here has been open for long");
    }
}

fn dead_rows(facts: &PostgresFacts, report: &mut Report) {
    let (check, dead, live) = ("vacuum", facts.dead_tasks, facts.live_tasks);
    let message = format!("the tasks' table has {dead} dead rows beside {live} live ones");
    if dead < DEAD || dead < live / 5 {
        return report.fine(check, message);
    }
    report.warning(
        check,
        format!(
            "{message}: autovacuum doesn't keep up, or a transaction that is open holds it back; \
             see that it is on, then `vacuum hookonce.tasks`"
        ),
    );
}
