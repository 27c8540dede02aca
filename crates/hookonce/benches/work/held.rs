//! The work beside a transaction that somebody holds open: what it still sees can't be cleaned up.

use std::time::{Duration, Instant};

use crate::bed::Connection;
use crate::place::Place;
use crate::{Cycle, rate};

const MINUTE: Duration = Duration::from_secs(60);
const MINUTES: u32 = 10;

/// Measures a minute without, and each of ten minutes with such a transaction.
pub(crate) async fn measure() {
    let place = Place::open("postgres").await;
    let cycle = Cycle::default();
    let free = minute(&place, &cycle).await;
    println!("free: {free:.0} events/s");
    let holder = Connection::open(place.url.as_ref().expect("a database has an address"));
    holder.run("begin isolation level repeatable read; select pg_current_xact_id()");
    for n in 1..=MINUTES {
        let held = minute(&place, &cycle).await;
        println!("minute {n} of an open transaction: {held:.0} events/s, {:.2}", held / free);
    }
    holder.run("rollback");
    let after = minute(&place, &cycle).await;
    println!("after it: {after:.0} events/s, {:.2}", after / free);
}

async fn minute(place: &Place, cycle: &Cycle) -> f64 {
    let before = cycle.inserted.load(std::sync::atomic::Ordering::Relaxed);
    let start = Instant::now();
    cycle.run(&*place.store, |_| start.elapsed() < MINUTE).await;
    let done = cycle.inserted.load(std::sync::atomic::Ordering::Relaxed) - before;
    rate(done, start.elapsed())
}
