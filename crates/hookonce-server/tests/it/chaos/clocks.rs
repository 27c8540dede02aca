//! Nodes whose clocks are wrong, and step while they run: leases and due times are the server's to tell.
//!
//! The clocks are those of the real program, shifted by libfaketime, which leaves the monotonic ones alone.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::history;
use super::load::{self, Sent};
use super::nodes::Nodes;
use crate::crash::chance::Chance;
use crate::crash::wait_until;

/// How long the nodes work under clocks that are wrong, before and after these step.
const WHILE: Duration = Duration::from_secs(4);

/// Fails when a lease is measured by a node's clock: where `hookonce.clock()` gives what a node says.
#[test]
fn a_node_whose_clock_is_wrong_or_steps_takes_no_lease_early_and_loses_none() {
    let mut chance = Chance::new();
    let folder = tempfile::tempdir().unwrap();
    let clocks = ["ahead", "behind", "right"].map(|name| folder.path().join(name));
    for (clock, shift) in clocks.iter().zip(["+600", "-600", "+0"]) {
        set(clock, shift);
    }
    let nodes = Nodes::with(clocks.iter().map(|clock| variables(clock)).collect(), "");
    let is_over = AtomicBool::new(false);
    let mut sent = Sent::default();
    thread::scope(|scope| {
        let senders: Vec<_> = (0..3)
            .map(|name| {
                let random = chance.random.fork();
                let (nodes, is_over) = (&nodes, &is_over);
                scope.spawn(move || load::post(nodes, name, random, is_over))
            })
            .collect();
        work(&nodes);
        // Those that are wrong step across the right time, and the right one away from it.
        for (clock, shift) in clocks.iter().zip(["-600", "+600", "+600"]) {
            set(clock, shift);
        }
        work(&nodes);
        is_over.store(true, Ordering::Relaxed);
        for sender in senders {
            sent.add(sender.join().unwrap());
        }
    });
    nodes.wait_until_done();
    let sql = nodes.sql();
    // The clocks were wrong indeed, as the times at which events were received show.
    let off = "select count(distinct round(extract(epoch from e.received_at - l.at) / 600)) \
               from hookonce.events e join ledger l on l.event_id = e.id";
    assert_eq!(sql.texts(off), ["3"], "600 s ahead, right, and 600 s behind");
    let lapsed = "select count(*) from hookonce.attempts where outcome = 'lapsed'";
    assert_eq!(sql.texts(lapsed), ["0"], "no node was killed, and no lease lost");
    history::check(&nodes, &sent);
}

/// A node that is killed is taken over after its lease, by nodes whose clocks say otherwise.
#[test]
fn a_claim_is_taken_over_after_its_lease_whatever_the_other_nodes_clocks_say() {
    let folder = tempfile::tempdir().unwrap();
    let clocks = ["ahead", "behind"].map(|name| folder.path().join(name));
    for (clock, shift) in clocks.iter().zip(["+600", "-600"]) {
        set(clock, shift);
    }
    let nodes = Nodes::with(clocks.iter().map(|clock| variables(clock)).collect(), "");
    let (ledger, sql) = (nodes.sql(), nodes.sql());
    for node in [0, 1] {
        // Its effect waits for this, and its claim is held while it does.
        ledger.run("begin; lock table ledger in share mode");
        let message = crate::crash::sender::Message::new(format!("wamid.{node}"), 7);
        let url = nodes.url(node).unwrap();
        let posted =
            crate::crash::sender::Sender::new(&url).post(&crate::crash::sender::body(&[message]));
        assert_eq!(posted.unwrap().status, 200);
        let worker = || sql.texts("select 1 from hookonce.tasks where state = 'claimed'");
        wait_until("it is claimed", || worker() == ["1"]);
        nodes.kill(0);
        nodes.kill(1);
        nodes.up(1 - node);
        ledger.run("commit");
        nodes.wait_until_done();
        nodes.up(node);
    }
    let sent = Sent::default();
    history::check(&nodes, &sent);
    let lapsed = "select count(*) from hookonce.attempts where outcome = 'lapsed'";
    assert_eq!(sql.texts(lapsed), ["2"]);
}

/// Waits for a while in which every node does its work.
fn work(nodes: &Nodes) {
    let (sql, until) = (nodes.sql(), Instant::now() + WHILE);
    let handled = || sql.texts("select count(*) from ledger")[0].parse::<u64>().unwrap();
    let before = handled();
    wait_until("the nodes work", || Instant::now() > until && handled() > before + 20);
}

/// Sets a clock so many seconds off.
fn set(clock: &Path, shift: &str) {
    // Replaced at once: half a file is no time.
    let next = clock.with_extension("next");
    fs::write(&next, format!("{shift}\n")).unwrap();
    fs::rename(next, clock).unwrap();
}

/// What makes a process look at such a clock.
fn variables(clock: &Path) -> Vec<(String, String)> {
    let pairs = [
        ("LD_PRELOAD", library().to_str().unwrap().to_owned()),
        ("FAKETIME_TIMESTAMP_FILE", clock.to_str().unwrap().to_owned()),
        ("FAKETIME_NO_CACHE", "1".to_owned()),
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
    ];
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// The library of the package `faketime`.
fn library() -> PathBuf {
    let folders = fs::read_dir("/usr/lib").unwrap().map(|folder| folder.unwrap().path());
    let mut libraries = folders.map(|folder| folder.join("faketime/libfaketimeMT.so.1"));
    libraries.find(|library| library.exists()).expect("install the package `faketime`")
}
