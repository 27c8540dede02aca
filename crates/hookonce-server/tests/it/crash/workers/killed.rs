//! Workers that are killed between claim and commit.

use std::thread;
use std::time::Duration;

use super::super::chance::{Chance, rounds};
use super::super::sender::{Message, Sender, body};
use super::super::wait_until;
use super::in_each_language;
use super::office::{Language, Office};
use crate::program::Server;

in_each_language![
    the_ledger_has_each_event_once_though_workers_are_killed_again_and_again,
    an_event_that_kills_its_worker_dies_and_all_others_complete,
];

/// The longest time from one kill to the next.
const LONGEST: Duration = Duration::from_millis(300);
/// Messages sent in each round, and orders.
const MESSAGES: u64 = 30;
const ORDERS: u64 = 10;
/// What may wait for the workers when more comes: they are always busy, and never far behind.
const BACKLOG: i64 = 60;

/// Fails when a handler leaves out `record_step`. The moment between two commits is too short to be hit
/// by chance: the test of a paused worker stands in it.
fn the_ledger_has_each_event_once_though_workers_are_killed_again_and_again(language: Language) {
    let mut chance = Chance::new();
    let rounds = rounds(8);
    let slow = "perform pg_sleep(random() * 0.05);";
    let office = Office::new(language, 1000, slow, "sleep 0.05; echo receipt");
    let server = office.serve();
    let mut sender = Sender::new(&server.url);
    let mut workers = [(); 3].map(|()| office.work());
    let pending = "select count(*) from hookonce_tasks where state = 'pending'";
    for round in 0..rounds {
        wait_until("little waits", || office.sql.number(pending) < BACKLOG);
        let message = |n| Message::new(format!("{round}.{n}"), round * MESSAGES + n);
        let messages: Vec<_> = (0..MESSAGES).map(message).collect();
        assert_eq!(sender.post(&body(&messages)).unwrap().status, 200);
        for n in 0..ORDERS {
            office.order(&format!("order {round}.{n}"));
        }
        thread::sleep(chance.moment(LONGEST));
        let mut claimants = vec![];
        wait_until("a worker has a claim", || {
            claimants = office.claimants("%");
            workers.iter().any(|worker| claimants.contains(&worker.pid()))
        });
        let busy = workers.iter_mut().filter(|worker| claimants.contains(&worker.pid()));
        let busy: Vec<_> = busy.collect();
        let victim = chance.random.choice(busy).unwrap();
        victim.send("KILL");
        *victim = office.work();
    }
    office.wait_until_done();
    assert_eq!(office.states(), [("completed".to_owned(), rounds * (MESSAGES + ORDERS))]);
    let doubled = "select count(*) from (
        select from ledger group by event_id, entry having count(*) > 1) d";
    assert_eq!(office.sql.number(doubled), 0, "entries that are there twice");
    let entries = rounds * (MESSAGES + 2 * ORDERS);
    assert_eq!(office.sql.number("select count(*) from ledger"), i64::try_from(entries).unwrap());
    let lapsed = "select count(*) from hookonce_attempts where outcome = 'lapsed'";
    let lapsed = office.sql.number(lapsed);
    eprintln!("{rounds} workers killed, {lapsed} of them between claim and commit");
    assert!(lapsed > 0, "no worker was killed between claim and commit");
    for worker in workers {
        assert!(worker.terminate().success());
    }
}

/// All by SQL alone: the server has ended before.
fn an_event_that_kills_its_worker_dies_and_all_others_complete(language: Language) {
    const POISON: &str = "message:106540352242922:poison";
    let stuck = "if new.note like '%deadly%' then perform pg_sleep(600); end if;";
    let office = Office::new(language, 3, stuck, "echo receipt");
    let mut messages: Vec<_> = (0..20).map(|n| Message::new(n.to_string(), n % 7)).collect();
    messages.insert(5, Message { text: "deadly", ..Message::new("poison", 3) });
    let server = office.serve();
    assert_eq!(Sender::new(&server.url).post(&body(&messages)).unwrap().status, 200);
    assert!(server.terminate().success());
    let mut worker = office.work();
    let mut killed = 0;
    let is_done = |killed: &mut u32, worker: &mut Server| {
        if office.claimants(POISON).contains(&worker.pid()) {
            worker.send("KILL");
            *killed += 1;
            *worker = office.work();
        }
        office.states().iter().all(|(state, _)| state == "completed" || state == "dead")
    };
    wait_until("no task is pending or claimed", || is_done(&mut killed, &mut worker));
    assert_eq!(killed, 3);
    assert_eq!(office.states(), [("completed".to_owned(), 20), ("dead".to_owned(), 1)]);
    assert_eq!(office.attempts(POISON), ["1 lapsed", "2 lapsed", "3 lapsed"]);
    assert_eq!(office.sql.number("select count(*) from ledger"), 20);
    assert_eq!(office.sql.number("select count(distinct event_id) from ledger"), 20);
    assert!(worker.terminate().success());
}
