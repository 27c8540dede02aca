//! A transaction that stays open somewhere: whatever was taken since then stays in the tables for it, and
//! is in the way of whoever looks for what waits.

use std::time::Duration;

use hookonce::task::Outcome;

use crate::bed::postgres::Connection;
use crate::bed::{Bed, keys, new};

/// Tasks that were taken, and wakes: enough that a way past them is a long one, on a fast machine too.
const TAKEN: usize = 400_000;
const WOKEN: usize = 1_600_000;

/// A store with one event in a lane, and a database in which so much was taken beside an open transaction
/// that is still open, so that it is all in the way.
async fn obstructed() -> (Bed, Connection, crate::bed::postgres::Database) {
    let (bed, database) = Bed::postgres().await;
    bed.insert([new("first")]).await;
    let sql = Connection::open(&database.url);
    sql.run("begin isolation level repeatable read; select pg_current_xact_id()");
    let other = Connection::open(&database.url);
    other.run(&format!(
        "insert into hookonce.tasks (
           seq, route, event_id, source, priority, state, max_attempts, due_at
         )
         select -n, t.route, t.event_id, t.source, t.priority, 'pending', 1, t.due_at - interval '1 hour'
         from hookonce.tasks t, generate_series(1, {TAKEN}) n"
    ));
    other.run(
        "update hookonce.tasks
         set state = 'completed', due_at = null, finished_at = hookonce.clock()
         where seq < 0",
    );
    other.run(&format!(
        "insert into hookonce.wakes select gen_random_uuid() from generate_series(1, {WOKEN})"
    ));
    other.run("delete from hookonce.wakes");
    (bed, sql, database)
}

/// Fails when a look begins at the beginning each time, for due tasks or for woken lanes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_long_way_is_not_gone_each_time() {
    let (bed, open, database) = obstructed().await;
    let reader = Connection::open(&database.url);
    let number = |sql: &str| -> usize { reader.texts(sql)[0].parse().unwrap() };
    let due = "select idx_tup_read from pg_stat_user_indexes where indexrelname = 'tasks_due'";
    let wakes =
        "select heap_blks_hit + heap_blks_read from pg_statio_user_tables where relname = 'wakes'";
    let pages = number("select pg_relation_size('hookonce.wakes') / 8192");
    let before = [due, wakes].map(number);

    let keys_of_lanes = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let mut claimed = Vec::new();
    for key in keys_of_lanes {
        bed.insert([new(key).lane(key)]).await;
        for claim in bed.claim(10).await {
            bed.store.finish(&claim, &Outcome::Completed).await.unwrap();
            claimed.push(claim);
        }
    }
    assert_eq!(keys(&claimed)[1..], keys_of_lanes);
    // The server counts what a connection read when it ends.
    drop(bed);
    until_alone(&reader).await;
    let [due, wakes] = [number(due) - before[0], number(wakes) - before[1]];
    // Each of two looks goes all the way, and there and back.
    assert!(due > TAKEN && due < 5 * TAKEN, "{due} entries read");
    assert!(wakes > pages && wakes < 6 * pages, "{wakes} pages read, of {pages}");
    open.run("rollback");
}

/// Waits until a database has the two connections of a test alone.
async fn until_alone(reader: &Connection) {
    let others = "select count(*) from pg_stat_activity where datname = current_database() \
                  and backend_type = 'client backend'";
    while reader.texts(others)[0] != "2" {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Fails when nobody looks from the beginning any more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_comes_to_light_behind_is_found_later() {
    let (bed, open, database) = obstructed().await;
    assert_eq!(keys(&bed.claim(10).await), ["first"]);
    assert_eq!(keys(&bed.claim(10).await), [""; 0]);
    let other = Connection::open(&database.url);
    // As though its transaction had been open for a day.
    bed.insert([new("late")]).await;
    other.run(
        "update hookonce.tasks set due_at = due_at - interval '1 day' where state = 'pending'",
    );
    let mut claims = bed.claim(10).await;
    assert_eq!(keys(&claims), [""; 0], "the long way is gone again at once");
    let found = async {
        while claims.is_empty() {
            claims = bed.claim(10).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), found).await.expect("it is looked for again");
    assert_eq!(keys(&claims), ["late"]);
    open.run("rollback");
}
