//! Through `PgBouncer` in transaction mode: each transaction may run on another connection of the
//! server, so that nothing may be kept in one.

use std::collections::HashSet;
use std::time::Duration;

use futures_util::future::join_all;
use hookonce::store::postgres::{PostgresOptions, PostgresStore};
use hookonce::store::{Arrival, Release, StepDone, Store};
use hookonce::task::{Claim, Outcome, StepState};

use super::{event, soon};
use crate::bed::postgres::{Connection, Database};
use crate::bed::{LEASE, TestClock, new, order, statement};
use crate::working::until;

async fn open(database: &Database) -> PostgresStore {
    PostgresStore::open(PostgresOptions::new(database.pooled_url())).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_nodes_work_through_two_connections() {
    let database = Database::make();
    let stores = [open(&database).await, open(&database).await];
    let sql = Connection::open(&database.url);
    sql.run("create table ledger (id text primary key)");
    let now = TestClock::new().now();
    // Every event comes to both nodes, in another order.
    let batch = |n: usize| -> Vec<_> {
        let keys = (0..20).map(|m| (n * 7 + m * 11) % 400);
        keys.map(|key| new(&format!("k{key}")).lane(&format!("l{}", key % 30)).at(now)).collect()
    };
    let answers = join_all((0..400).map(|n| stores[n % 2].insert(batch(n / 2)))).await;
    let arrivals = answers.into_iter().flat_map(Result::unwrap);
    assert_eq!(arrivals.filter(|arrival| *arrival == Arrival::New).count(), 400);
    until(async || {
        // What a store is asked beside.
        let checked = stores[0].check("insert into ledger values (:id)", &["id"]);
        let (counts, checked) = tokio::join!(stores[1].counts(), checked);
        checked.unwrap();
        let claims = join_all(stores.iter().map(|store| store.claim(order(40)))).await;
        let claims: Vec<_> = stores.iter().zip(claims.into_iter().map(Result::unwrap)).collect();
        let all = claims.iter().flat_map(|(store, claims)| claims.iter().map(|one| (*store, one)));
        join_all(all.map(|(store, claim)| handle(store, claim))).await;
        counts.unwrap().completed == 400
    })
    .await;
    let done: HashSet<_> = sql.texts("select id from ledger").into_iter().collect();
    assert_eq!(done.len(), 400);
    let once = "select count(*) from hookonce.attempts where outcome = 'completed'";
    assert_eq!(sql.texts(once), ["400"]);
}

/// Every kind of write after a claim; the third time to its end.
async fn handle(store: &PostgresStore, claim: &Claim) {
    store.extend(claim, LEASE).await.unwrap();
    if claim.epoch == 1 {
        store.record_step(claim, "seen", StepState::Done, None).await.unwrap();
        store.release(claim, Release::at_once()).await.unwrap();
    } else if claim.epoch == 2 {
        let retry = Outcome::Retry { after: Duration::ZERO, error: "not yet".to_owned() };
        store.finish(claim, &retry).await.unwrap();
    } else {
        assert!(claim.steps.contains_key("seen"));
        let effect = statement(claim, "insert into ledger values (:id)");
        store.finish_with(claim, StepDone::Task, effect).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
/// Fails when a statement is queried instead of executed, or when `check` keeps what it prepared.
async fn statements_may_have_types_of_the_users_own() {
    let database = Database::make();
    let stores = [open(&database).await, open(&database).await];
    let sql = Connection::open(&database.url);
    sql.run(
        "create type mood as enum ('glad', 'sad'); create domain amount as numeric check (value > 0); \
         create table ledger (id text, mood mood, amount amount, pair mood[])",
    );
    let insert = "insert into ledger values (:id, 'glad', 3, array['sad']::mood[]) \
                  returning mood, amount, pair, ledger";
    let update = "update ledger set mood = :kind, amount = :amount where mood = 'sad' returning *";
    for n in 0..20 {
        let key = format!("k{n}");
        for store in &stores {
            store.check(insert, &["id"]).await.unwrap();
            store.check(update, &["kind", "amount"]).await.unwrap();
            let wrong = store.check("update ledger set moot = :kind", &["kind"]).await;
            assert!(wrong.unwrap_err().to_string().contains("moot"));
        }
        stores[n % 2].insert(vec![event(&key)]).await.unwrap();
        let claim = stores[n % 2].claim(order(1)).await.unwrap().remove(0);
        let effect = statement(&claim, insert);
        stores[n % 2].finish_with(&claim, StepDone::Task, effect).await.unwrap();
    }
    assert_eq!(sql.texts("select count(*) from ledger where mood = 'glad'"), ["20"]);
    // Nothing is left behind for whoever gets the connection next.
    let (client, connection) =
        tokio_postgres::connect(&database.pooled_url(), tokio_postgres::NoTls).await.unwrap();
    let mut running = tokio::task::JoinSet::new();
    running.spawn(async move { drop(connection.await) });
    let left = client.simple_query("select name from pg_prepared_statements").await.unwrap();
    let is_row = |message: &_| matches!(message, tokio_postgres::SimpleQueryMessage::Row(_));
    assert!(!left.iter().any(is_row), "{left:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_listens_past_it_is_woken() {
    let database = Database::make();
    let listens = PostgresOptions {
        listen_url: Some(database.url.clone()),
        ..PostgresOptions::new(database.pooled_url())
    };
    let store = PostgresStore::open(listens).await.unwrap();
    let other = open(&database).await;
    soon(store.wait()).await;
    let waits = store.wait();
    other.insert(vec![event("a")]).await.unwrap();
    soon(waits).await;
}
