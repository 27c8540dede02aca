//! Copies of a request: at the same time, after a crash, cut otherwise, at two processes.

use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use super::sender::{Message, Sender, body};
use super::shop::{Settings, Shop};
use crate::engine::on_both;

on_both![
    fifty_copies_at_once_and_one_after_a_crash_are_one_event,
    a_thousand_updates_are_stored_in_one_commit_and_well_under_a_second,
    two_processes_on_one_file_take_every_request_and_store_each_event_once,
];

fn fifty_copies_at_once_and_one_after_a_crash_are_one_event() {
    let shop = Shop::new(&Settings::default());
    let server = shop.serve();
    let request = body(&[Message::new("wamid.ONE", 1)]);
    let ready = Barrier::new(50);
    let post = |url: &str| Sender::new(url).post(&request).unwrap().status;
    let url = &server.url;
    let statuses: Vec<_> = thread::scope(|scope| {
        let one = || {
            ready.wait();
            post(url)
        };
        let threads: Vec<_> = (0..50).map(|_| scope.spawn(one)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(statuses, [200; 50]);
    drop(server); // SIGKILL
    let server = shop.serve();
    assert_eq!(post(&server.url), 200);
    shop.wait_until_done();
    let shown = shop.show("wamid.ONE");
    assert_eq!((&shown["copies"], &shown["state"]), (&51.into(), &"completed".into()));
    assert_eq!(shop.number("select count(*) from hookonce_events"), 1);
    assert_eq!(shop.number("select count(*) from ledger"), 1);
}

fn a_thousand_updates_are_stored_in_one_commit_and_well_under_a_second() {
    let shop = Shop::new(&Settings::default());
    let server = shop.serve();
    let mut sender = Sender::new(&server.url);
    let mut messages: Vec<_> =
        (0..1000).map(|n| Message::new(format!("wamid.{n}"), n % 40)).collect();
    let started = Instant::now();
    let answer = sender.post(&body(&messages)).unwrap();
    let took = started.elapsed();
    assert_eq!((answer.status, &*answer.body), (200, r#"{"new":1000,"duplicates":0}"#));
    assert!(took < Duration::from_secs(1), "it took {took:?}");
    messages.push(Message::new("wamid.new", 7));
    fastrand::Rng::with_seed(4).shuffle(&mut messages);
    let answer = sender.post(&body(&messages)).unwrap();
    assert_eq!((answer.status, &*answer.body), (200, r#"{"new":1,"duplicates":1000}"#));
    shop.wait_until_done();
    assert_eq!(shop.ask(&["stats"])["duplicates"], 1000);
    assert_eq!(shop.number("select count(distinct message) from ledger"), 1001);
    assert_eq!(shop.number("select count(*) from ledger"), 1001);
}

/// Every message goes to both processes, so that each races with its copy. Fails when
/// `wait_for_other_process` of the store's session is not set as its busy handler.
fn two_processes_on_one_file_take_every_request_and_store_each_event_once() {
    const CONNECTIONS: u64 = 64;
    const REQUESTS: u64 = 6;
    let shop = Shop::new(&Settings::default());
    let servers = [shop.serve(), shop.serve()];
    let ready = Barrier::new(usize::try_from(CONNECTIONS).unwrap());
    thread::scope(|scope| {
        for n in 0..CONNECTIONS {
            let (url, ready) = (&servers[usize::try_from(n % 2).unwrap()].url, &ready);
            scope.spawn(move || {
                let mut sender = Sender::new(url);
                ready.wait();
                for request in 0..REQUESTS {
                    // Two connections, one at each process, bring the same; and a third of each
                    // request is what the next two bring as well.
                    let own = (n / 2) * REQUESTS + request;
                    let ids = [own, own + 1, own + 2];
                    let messages = ids.map(|id| Message::new(format!("wamid.{id}"), id % 10));
                    let answer = sender.post(&body(&messages)).unwrap();
                    assert_eq!(answer.status, 200, "{}", answer.body);
                }
            });
        }
    });
    shop.wait_until_done();
    let events = CONNECTIONS / 2 * REQUESTS + 2;
    assert_eq!(shop.number("select count(*) from hookonce_events"), events);
    assert_eq!(shop.number("select count(distinct message) from ledger"), events);
    assert_eq!(shop.number("select count(*) from ledger"), events);
    assert_eq!(shop.states(), [("completed".to_owned(), events)].into());
    let counts = shop.ask(&["stats"]);
    let copies = CONNECTIONS * REQUESTS * 3 - events;
    assert_eq!((&counts["events"], &counts["duplicates"]), (&events.into(), &copies.into()));
}
