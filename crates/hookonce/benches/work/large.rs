//! The work of a store that is old: very many events stored, many tasks pending, a long lane blocked.

use std::time::Instant;

use futures_util::stream::{self, StreamExt as _};
use hookonce::store::Store;

use crate::bed::Connection;
use crate::place::{Place, event};
use crate::{claim_times, rate};

/// Events that are inserted to see how fast that is, each as a request of its own: enough that the first
/// write to each page after a checkpoint, which its log keeps whole, is not most of what is seen.
const INSERTED: usize = 100_000;
const CONNECTIONS: usize = 64;
const CLAIMS: usize = 1000;

/// Measures ingest and claims among `few` events stored, and among fifty times as many, a fifth of
/// them pending and a hundredth in one blocked lane.
pub(crate) async fn measure(few: usize) {
    let place = Place::open("postgres").await;
    let connection = Connection::open(place.url.as_ref().expect("a database has an address"));
    store(&connection, 0, few);
    let few_rate = ingest(&*place.store, 0).await;
    let (median, p99) = claim_times(&*place.store, CLAIMS).await;
    println!("{few} stored: {few_rate:.0} requests/s, claim {median:.0} µs, p99 {p99:.0} µs");

    store(&connection, few, few * 50);
    let many_rate = ingest(&*place.store, INSERTED).await;
    let (median, p99) = claim_times(&*place.store, CLAIMS).await;
    let many = few * 50;
    println!("{many} stored: {many_rate:.0} requests/s, claim {median:.0} µs, p99 {p99:.0} µs");
    println!("ratio of ingest: {:.2}", many_rate / few_rate);
}

/// Fills the tables from one number to another: of a hundred events, one in a lane whose head is
/// claimed, nineteen pending in many lanes, the others completed.
fn store(connection: &Connection, from: usize, to: usize) {
    connection.run(&format!(include_str!("large.sql"), from = from, to = to));
    // What filling leaves to be done is no part of what is measured.
    connection.run("vacuum analyze");
    connection.run("checkpoint");
}

async fn ingest(store: &dyn Store, from: usize) -> f64 {
    let start = Instant::now();
    stream::iter(from..from + INSERTED)
        .for_each_concurrent(CONNECTIONS, |n| async move {
            let new = event(n, &format!("person{}", n % 5000));
            store.insert(vec![new]).await.expect("the store inserts");
        })
        .await;
    rate(INSERTED, start.elapsed())
}
