//! Nodes tell each other that tasks may be due; nothing depends on it but latency.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use futures_util::future::join_all;
use hookonce::store::Store;
use tokio::task::JoinSet;
use tokio_postgres::{AsyncMessage, NoTls};

use super::{event, open, soon};
use crate::bed::postgres::{Connection, Database};
use crate::working::until;

/// Counts what is notified, for as long as the set is there.
async fn listen(url: &str) -> (Arc<AtomicUsize>, JoinSet<()>) {
    let (client, mut connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    let mut running = JoinSet::new();
    let mut messages = futures_util::stream::poll_fn(move |cx| connection.poll_message(cx));
    running.spawn(async move {
        while let Some(message) = messages.next().await {
            if let Ok(AsyncMessage::Notification(_)) = message {
                counted.fetch_add(1, Ordering::SeqCst);
            }
        }
    });
    client.batch_execute("listen hookonce_due").await.unwrap();
    // Its connection ends with it.
    running.spawn(async move {
        let _client = client;
        std::future::pending::<()>().await;
    });
    (count, running)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_one_node_stores_wakes_the_other() {
    let database = Database::make();
    let (one, other) = (open(&database).await, open(&database).await);
    // Both have begun to listen.
    soon(async { tokio::join!(one.wait(), other.wait()) }).await;
    for n in 0..5 {
        let waits = other.wait();
        one.insert(vec![event(&format!("k{n}"))]).await.unwrap();
        soon(waits).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
/// Fails when `tell` doesn't pause.
async fn a_busy_node_notifies_twenty_times_a_second_and_an_idle_one_never() {
    let database = Database::make();
    let store = open(&database).await;
    let (count, _running) = listen(&database.url).await;
    let begun = Instant::now();
    let mut n = 0;
    while begun.elapsed() < Duration::from_secs(1) {
        let inserts = (0..20).map(|m| store.insert(vec![event(&format!("k{n}.{m}"))]));
        assert!(join_all(inserts).await.iter().all(Result::is_ok));
        n += 1;
    }
    let (told, passed) = (count.load(Ordering::SeqCst), begun.elapsed());
    // The first at once, and then one every 50 ms at most.
    let most = usize::try_from(passed.as_millis() / 50).unwrap() + 1;
    assert!((2..=most).contains(&told), "{told} in {passed:?}");
    assert!(n > told, "{n} batches, {told} notifications");
    // After the last one, a marker of the test's own is the next: in between nothing was sent.
    until(async || count.load(Ordering::SeqCst) > told).await;
    let sql = Connection::open(&database.url);
    let told = count.load(Ordering::SeqCst);
    for _ in 0..3 {
        store.claim(crate::bed::order(1)).await.unwrap();
        store.ready().await.unwrap();
    }
    sql.run("notify hookonce_due");
    until(async || count.load(Ordering::SeqCst) > told).await;
    assert_eq!(count.load(Ordering::SeqCst), told + 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_listener_that_is_cut_off_comes_back_and_wakes_its_node_once() {
    let database = Database::make();
    let store = open(&database).await;
    soon(store.wait()).await;
    let sql = Connection::open(&database.url);
    let listening = "pid from pg_stat_activity where query like '%listen hookonce_due%' \
                     and application_name = 'hookonce' and datname = current_database()";
    let before = sql.texts(&format!("select {listening}"));
    assert_eq!(before.len(), 1);
    sql.run(&format!("select pg_terminate_backend(pid) from (select {listening}) l"));
    soon(store.wait()).await;
    let now = sql.texts(&format!("select {listening}"));
    assert!(now.len() == 1 && now != before, "{before:?} {now:?}");
    // It listens again.
    sql.run("notify hookonce_due");
    soon(store.wait()).await;
    // Nothing was said since.
    let more = tokio::time::timeout(Duration::from_millis(200), store.wait()).await;
    assert!(more.is_err());
}
