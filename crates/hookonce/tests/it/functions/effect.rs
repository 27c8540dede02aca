//! `finish_in`: the same for a handler in Rust.

use std::time::Duration;

use hookonce::store::StoreError;
use hookonce::store::postgres::tokio_postgres::Transaction;
use hookonce::store::postgres::{PostgresOptions, PostgresStore};

use super::worker::Place;
use crate::bed::{new, order};
use hookonce::store::Store as _;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn code_of_a_caller_shares_the_transaction_and_its_fate() {
    let place = Place::make().await;
    let store = PostgresStore::open(PostgresOptions::new(&place.database.url)).await.unwrap();
    place.bed.insert([new("a"), new("b").lane("l"), new("c").lane("l")]).await;
    let claims = store.claim(order(10)).await.unwrap();
    let write = async |transaction: &Transaction<'_>, id: &str| {
        transaction.execute("insert into public.ledger values ($1)", &[&id]).await.map(drop)
    };
    let ledger = || place.text("select string_agg(id, ' ' order by id) from ledger");
    let book = async |transaction: &Transaction<'_>| Ok(write(transaction, "a").await?);
    store.finish_in(&claims[0], book).await.unwrap();
    let fails = store.finish_in(&claims[1], async |transaction: &Transaction<'_>| {
        write(transaction, "b").await?;
        transaction.execute("insert into nowhere values (1)", &[]).await?;
        Ok(())
    });
    assert!(matches!(fails.await, Err(StoreError::Statement { permanent: false, .. })));
    let declines = store.finish_in(&claims[1], async |transaction: &Transaction<'_>| {
        write(transaction, "b").await?;
        Err(StoreError::Statement { permanent: true, message: "no such account".to_owned() })
    });
    assert!(matches!(declines.await, Err(StoreError::Statement { permanent: true, .. })));
    // One that hides its error has lost its transaction, and completes nothing.
    let hides = store.finish_in(&claims[1], async |transaction: &Transaction<'_>| {
        write(transaction, "b").await?;
        let _ = transaction.execute("insert into nowhere values (1)", &[]).await;
        Ok(())
    });
    assert!(hides.await.is_err());
    assert_eq!((ledger(), place.task("b")), ("a".to_owned(), "claimed 1 1".to_owned()));
    let book = async |transaction: &Transaction<'_>| Ok(write(transaction, "b").await?);
    store.finish_in(&claims[1], book).await.unwrap();
    assert_eq!((ledger(), place.task("b")), ("a b".to_owned(), "completed 1 1".to_owned()));
    assert_eq!(place.claim_one().get("key"), "c", "the lane goes on");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_claim_runs_no_code_and_one_that_is_held_keeps_out_the_reaper() {
    let place = Place::make().await;
    let store = PostgresStore::open(PostgresOptions::new(&place.database.url)).await.unwrap();
    place.bed.insert([new("a")]).await;
    let claim = store.claim(order(1)).await.unwrap().remove(0);
    place.bed.clock.advance(Duration::from_secs(60));
    store
        .finish_in(&claim, async |transaction: &Transaction<'_>| {
            transaction.execute("insert into public.ledger values ('a')", &[]).await?;
            assert!(place.claim(1).is_empty());
            Ok(())
        })
        .await
        .unwrap();
    let again = store.finish_in(&claim, async |_: &Transaction<'_>| panic!("it is lost"));
    assert!(matches!(again.await, Err(StoreError::Lost)));
    assert_eq!(place.task("a"), "completed 1 1");
}
