//! Connections: how many there are, and that none is used again in the middle of something.

use std::future::Future;
use std::pin::pin;
use std::task::Poll;

use futures_util::future::join_all;
use hookonce::store::postgres::{PostgresOptions, PostgresStore};
use hookonce::store::{StepDone, Store, StoreError};
use hookonce::task::Outcome;

use super::{event, message, open, soon};
use crate::bed::postgres::{Connection, Database};
use crate::bed::{LEASE, order, statement};
use crate::working::until;

const OURS: &str = "select count(*) from pg_stat_activity \
                    where application_name = 'hookonce' and datname = current_database()";

fn count(sql: &Connection, query: &str) -> usize {
    sql.texts(query)[0].parse().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_busy_node_has_as_many_connections_as_it_may_and_an_idle_one_two() {
    let database = Database::make();
    let options = PostgresOptions { connections: 4, ..PostgresOptions::new(&database.url) };
    let store = PostgresStore::open(options).await.unwrap();
    let sql = Connection::open(&database.url);
    store.insert(vec![event("a")]).await.unwrap();
    let claim = store.claim(order(1)).await.unwrap().remove(0);
    let mut most = 0;
    for _ in 0..10 {
        let busy = join_all((0..50).map(|_| store.claim(order(1))));
        let (_, extended) = tokio::join!(busy, store.extend(&claim, LEASE));
        extended.unwrap();
        most = most.max(count(&sql, OURS));
    }
    // Four, one for leases, one that listens.
    assert!((4..=6).contains(&most), "{most}");
    until(async || count(&sql, OURS) <= 2).await;
    // What is done at one time waits a moment for the one that is open.
    for _ in 0..20 {
        let (counts, ready) = tokio::join!(store.counts(), store.ready());
        counts.unwrap();
        ready.unwrap();
        assert!(count(&sql, OURS) <= 3);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_that_nobody_waits_for_any_more_ends_with_its_connection() {
    let database = Database::make();
    let store = open(&database).await;
    let sql = Connection::open(&database.url);
    store.insert((0..100).map(|n| event(&format!("k{n}"))).collect()).await.unwrap();
    let mut claimed = 0;
    // An answer that is there already is not waited for, so a claim may have few waits at a quick moment.
    for walk in 1.. {
        let drops = drop_after_each_wait(&store).await;
        claimed += 1;
        if drops > 5 {
            break;
        }
        assert!(walk < 10, "{drops}: it was dropped in the middle");
    }
    let open = "select count(*) from pg_stat_activity \
                where datname = current_database() and state like 'idle in transaction%'";
    until(async || count(&sql, open) == 0).await;
    // Those dropped at their last words may have been claimed.
    let rest = soon(store.claim(order(200))).await.unwrap();
    let known = count(&sql, "select count(*) from hookonce.tasks where state = 'claimed'");
    assert_eq!(known, 100);
    assert!(rest.len() >= 100 - 3 * claimed, "{}", rest.len());
}

/// Drops a claim after its first wait, the next after its second, and so on until one comes to its end with
/// a task; gives how many there were.
async fn drop_after_each_wait(store: &PostgresStore) -> usize {
    for drops in 1.. {
        let mut claim = pin!(store.claim(order(1)));
        let mut waits = 0;
        let done = std::future::poll_fn(|context| match claim.as_mut().poll(context) {
            Poll::Ready(claims) => Poll::Ready(Some(claims)),
            Poll::Pending if waits == drops => Poll::Ready(None),
            Poll::Pending => {
                waits += 1;
                Poll::Pending
            }
        })
        .await;
        if let Some(claims) = done {
            assert_eq!(claims.unwrap().len(), 1);
            return drops;
        }
    }
    unreachable!("a claim has an end")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
/// Fails when `Connection` gives its wire back whether a transaction `is_open` or not.
async fn a_statement_that_nobody_waits_for_holds_no_connection() {
    let database = Database::make();
    let options = PostgresOptions { connections: 5, ..PostgresOptions::new(&database.url) };
    let store = PostgresStore::open(options).await.unwrap();
    let sql = Connection::open(&database.url);
    sql.run("create table ledger (id text)");
    store.insert(vec![event("a"), event("b")]).await.unwrap();
    let claims = store.claim(order(2)).await.unwrap();
    sql.run("begin; lock table ledger");
    let waiting = "select count(*) from pg_stat_activity \
                   where datname = current_database() and wait_event_type = 'Lock'";
    let watcher = Connection::open(&database.url);
    {
        let write = |n: usize| {
            let insert = statement(&claims[n], "insert into ledger values (:id)");
            store.finish_with(&claims[n], StepDone::Task, insert)
        };
        let both = futures_util::future::join(write(0), write(1));
        tokio::select! {
            done = both => panic!("{done:?}"),
            () = until(async || count(&watcher, waiting) == 2) => {}
        }
    }
    // Both places are free again, and neither statement goes on.
    soon(store.counts()).await.unwrap();
    until(async || count(&watcher, waiting) == 0).await;
    sql.run("rollback");
    for claim in &claims {
        soon(store.finish(claim, &Outcome::Completed)).await.unwrap();
    }
    assert_eq!(count(&sql, "select count(*) from ledger"), 0);
}

/// Fails when `finish_with` takes its connection by `Pool::get`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn statements_that_wait_for_a_lock_keep_nothing_else_waiting() {
    let database = Database::make();
    let store = open(&database).await;
    let sql = Connection::open(&database.url);
    sql.run("create table ledger (id text)");
    store.insert((0..20).map(|n| event(&format!("k{n}"))).collect()).await.unwrap();
    let mut claims = store.claim(order(20)).await.unwrap();
    let free = claims.pop().unwrap();
    sql.run("begin; lock table ledger");
    let write = |claim| {
        let insert = statement(claim, "insert into ledger values (:id)");
        store.finish_with(claim, StepDone::Task, insert)
    };
    let watcher = Connection::open(&database.url);
    let waiting = "select count(*) from pg_stat_activity \
                   where datname = current_database() and wait_event_type = 'Lock'";
    let others = async {
        until(async || count(&watcher, waiting) == 5).await;
        for n in 0..20 {
            soon(store.insert(vec![event(&format!("later{n}"))])).await.unwrap();
            assert_eq!(soon(store.claim(order(1))).await.unwrap().len(), 1);
        }
        soon(store.extend(&free, LEASE)).await.unwrap();
        soon(store.finish(&free, &Outcome::Completed)).await.unwrap();
        let mut hasty = statement(&free, "insert into ledger values (:id)");
        hasty.timeout = std::time::Duration::from_millis(50);
        let busy = message(store.finish_with(&free, StepDone::Task, hasty).await);
        assert!(busy.contains("all 5 connections") && busy.contains("slow `sql`"), "{busy}");
        sql.run("rollback");
    };
    let (written, ()) = tokio::join!(join_all(claims.iter().map(write)), others);
    assert!(written.into_iter().all(|written| written.is_ok()));
    assert_eq!(count(&sql, "select count(*) from ledger"), 19);
}

/// Fails when `finish_with` has no limit of time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_statement_that_takes_too_long_is_cut_off_at_the_server() {
    let database = Database::make();
    let store = open(&database).await;
    let sql = Connection::open(&database.url);
    store.insert(vec![event("a")]).await.unwrap();
    let claim = store.claim(order(1)).await.unwrap().remove(0);
    let mut endless = statement(&claim, "select pg_sleep(600), :id");
    endless.timeout = std::time::Duration::from_millis(100);
    let cut = soon(store.finish_with(&claim, StepDone::Task, endless)).await;
    let said = cut.as_ref().unwrap_err().to_string();
    assert!(matches!(cut, Err(StoreError::Statement { permanent: false, .. })), "{cut:?}");
    assert!(said.contains("took longer than 0.1 s"), "{said}");
    let asleep = "select count(*) from pg_stat_activity where wait_event = 'PgSleep' \
                  and datname = current_database()";
    until(async || count(&sql, asleep) == 0).await;
    soon(store.finish(&claim, &Outcome::Completed)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_whose_statements_fail_goes_on_with_the_same_connection() {
    let database = Database::make();
    let store = open(&database).await;
    let sql = Connection::open(&database.url);
    store.insert(vec![event("a")]).await.unwrap();
    let claim = store.claim(order(1)).await.unwrap().remove(0);
    let pids = "select string_agg(pid::text, ' ' order by pid) from pg_stat_activity \
                where application_name = 'hookonce' and datname = current_database()";
    let before = sql.texts(pids);
    for _ in 0..20 {
        let nonsense = statement(&claim, "insert into nowhere values (:id)");
        let failed = store.finish_with(&claim, StepDone::Task, nonsense).await;
        assert!(matches!(failed, Err(StoreError::Statement { .. })));
    }
    assert_eq!(sql.texts(pids), before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_not_there_is_told_at_once() {
    let at = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("postgres://u@{}/d", at.local_addr().unwrap());
    // It accepts and says nothing.
    let begun = tokio::time::Instant::now();
    let silent = message(PostgresStore::open(PostgresOptions::new(&url)).await);
    assert!(silent.contains("no answer within 2.0 s"), "{silent}");
    assert!(begun.elapsed().as_secs_f64() < 2.5, "{:?}", begun.elapsed());
    drop(at);
    let gone = message(PostgresStore::open(PostgresOptions::new(&url)).await);
    assert!(gone.contains("can't be reached") && gone.contains("refused"), "{gone}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_several_hosts_the_one_is_used_that_takes_writes() {
    let database = Database::make();
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (before, after) = database.url.split_once("127.0.0.1").unwrap();
    let url = format!("{before}{gone},127.0.0.1{after}");
    let store = PostgresStore::open(PostgresOptions::new(&url)).await.unwrap();
    store.ready().await.unwrap();
    let name = after.rsplit('/').next().unwrap();
    Connection::open(&database.url)
        .run(&format!("alter database {name} set default_transaction_read_only = on"));
    let read_only = message(PostgresStore::open(PostgresOptions::new(&url)).await);
    assert!(read_only.contains("refused") && read_only.contains("writes"), "{read_only}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_password_is_found_in_its_file_and_shown_nowhere() {
    use std::os::unix::fs::PermissionsExt;
    let database = Database::make();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("passwords");
    std::fs::write(&file, "*:*:*:*:hunter2\n").unwrap();
    let options =
        PostgresOptions { passfile: Some(file.clone()), ..PostgresOptions::new(&database.url) };
    let mode = |mode| std::fs::set_permissions(&file, PermissionsExt::from_mode(mode)).unwrap();
    mode(0o644);
    let open = message(PostgresStore::open(options.clone()).await);
    assert!(open.contains("chmod 600") && !open.contains("hunter2"), "{open}");
    mode(0o600);
    let store = PostgresStore::open(options).await.unwrap();
    store.ready().await.unwrap();
    assert!(!format!("{store:?}").contains("hunter2"));
}
