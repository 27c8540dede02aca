//! A server that takes no writes, is away, is replaced or has forgotten something.

use std::time::Duration;

use hookonce::store::postgres::{PostgresOptions, PostgresStore};
use hookonce::store::{Arrival, Store};
use hookonce::task::Outcome;
use tokio::time::Instant;

use super::{event, message, open, soon};
use crate::bed::order;
use crate::bed::postgres::{Connection, Database};
use crate::bed::server::Server;
use crate::working::until;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_takes_no_writes_is_told_so_and_claims_nothing() {
    let database = Database::make();
    let store = open(&database).await;
    let sql = Connection::open(&database.url);
    store.insert(vec![event("a")]).await.unwrap();
    let set = |word: &str| {
        let name = database.url.rsplit('/').next().unwrap();
        sql.run(&format!("alter database {name} set default_transaction_read_only = {word}"));
        // For those that are connected, as after a reload.
        let others = "select pg_terminate_backend(pid) from pg_stat_activity \
                      where datname = current_database() and application_name = 'hookonce'";
        sql.run(others);
    };
    set("on");
    // A connection that was cut is told of first.
    let refused = "takes no writes now";
    until(async || store.ready().await.is_err_and(|error| error.to_string().contains(refused)))
        .await;
    let ready = message(store.ready().await);
    assert!(ready.contains("primary"), "{ready}");
    for said in
        [message(store.claim(order(1)).await), message(store.insert(vec![event("b")]).await)]
    {
        assert!(said.contains("takes no writes"), "{said}");
    }
    sql.run("set default_transaction_read_only = off");
    set("off");
    until(async || store.ready().await.is_ok()).await;
    assert_eq!(crate::bed::keys(&store.claim(order(1)).await.unwrap()), ["a"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_away_is_missed_soon_and_found_again() {
    let server = Server::start("");
    let store = PostgresStore::open(PostgresOptions::new(server.url())).await.unwrap();
    for mode in ["fast", "immediate"] {
        store.insert(vec![event(mode)]).await.unwrap();
        let claim = store.claim(order(1)).await.unwrap().remove(0);
        server.stop(mode);
        let begun = Instant::now();
        for said in [
            message(store.ready().await),
            message(store.claim(order(1)).await),
            message(store.insert(vec![event("b")]).await),
            message(store.finish(&claim, &Outcome::Completed).await),
        ] {
            assert!(said.contains("can't be reached") && said.contains("refused"), "{said}");
        }
        assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
        server.up();
        store.ready().await.unwrap();
        store.finish(&claim, &Outcome::Completed).await.unwrap();
        // It listens again.
        let sql = Connection::open(&server.url());
        until(async || {
            sql.run("notify hookonce_due");
            let wait = store.wait();
            tokio::time::timeout(Duration::from_millis(50), wait).await.is_ok()
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_failover_the_store_is_on_the_new_primary() {
    let primary = Server::start("");
    let standby = primary.standby();
    let alone = message(PostgresStore::open(PostgresOptions::new(standby.url())).await);
    assert!(alone.contains("takes no writes"), "{alone}");
    let both = format!(
        "postgres://postgres@127.0.0.1:{},127.0.0.1:{}/postgres",
        standby.port, primary.port
    );
    let store = PostgresStore::open(PostgresOptions::new(both)).await.unwrap();
    store.insert(vec![event("a")]).await.unwrap();
    let behind = "select count(*) from pg_stat_replication \
                  where replay_lsn is null or replay_lsn < pg_current_wal_lsn()";
    let sql = Connection::open(&primary.url());
    until(async || sql.texts(behind) == ["0"]).await;
    drop(sql);
    primary.stop("immediate");
    let away = message(store.insert(vec![event("b")]).await);
    assert!(away.contains("can't be reached"), "{away}");
    assert!(message(store.claim(order(1)).await).contains("can't be reached"));
    standby.promote();
    until(async || store.ready().await.is_ok()).await;
    assert_eq!(store.insert(vec![event("a")]).await.unwrap(), [Arrival::Duplicate]);
    assert_eq!(crate::bed::keys(&store.claim(order(1)).await.unwrap()), ["a"]);
}

/// Fails when `is_stored` doesn't look.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_insert_whose_number_was_given_out_again_is_stored_all_the_same() {
    let database = Database::make();
    drop(open(&database).await);
    let sql = Connection::open(&database.url);
    sql.run(include_str!("forgetful.sql"));
    let name = database.url.rsplit('/').next().unwrap();
    sql.run(&format!("alter database {name} set search_path = public, pg_catalog"));
    let store = open(&database).await;
    let arrivals = soon(store.insert(vec![event("a")])).await.unwrap();
    assert_eq!(arrivals, [Arrival::New]);
    assert_eq!(sql.texts("select last_value from dying"), ["2"], "its commit was broken off");
    assert_eq!(sql.texts("select count(*) from hookonce.events"), ["1"]);
}

/// Fails when a node that an unfinished copy did not see goes on as if nothing were.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_is_not_ready_while_another_store_is_copied_into_its_database() {
    let database = Database::make();
    let store = open(&database).await;
    store.ready().await.unwrap();
    let sql = Connection::open(&database.url);
    sql.run("insert into hookonce.copy values (now(), now(), 0, false)");
    let said = message(store.ready().await);
    assert!(said.contains("hookonce copy"), "{said}");
    sql.run("delete from hookonce.copy");
    store.ready().await.unwrap();
}
