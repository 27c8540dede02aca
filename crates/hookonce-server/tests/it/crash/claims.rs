//! A claim, its lease, and a worker that lost it.

use std::sync::Mutex;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

use rusqlite::ErrorCode;

use super::sender::{self, Message, body};
use super::shop::{Settings, Shop};
use super::sink::Sink;
use super::wait_until;
use crate::engine::{is_postgres, on_both};
use crate::program::Server;

on_both![
    a_step_ten_times_as_long_as_its_lease_is_started_once,
    a_worker_that_was_paused_past_its_lease_writes_nothing_beside_its_successor,
    a_worker_that_was_paused_until_its_successor_was_done_writes_nothing,
];

/// Fails when `keep_lease` in the worker's attempt does not extend.
fn a_step_ten_times_as_long_as_its_lease_is_started_once() {
    let sink = Sink::start(|_| {
        thread::sleep(Duration::from_secs(10));
        204
    });
    let shop = Shop::new(&Settings { url: Some(&sink.url), ..Settings::default() });
    // The second process would be glad to take the claim over.
    let servers = [shop.serve(), shop.serve()];
    let answer = sender::Sender::new(&servers[0].url).post(&body(&[Message::new("wamid.LONG", 1)]));
    assert_eq!(answer.unwrap().status, 200);
    shop.wait_until_done();
    assert_eq!(sink.seen().len(), 1);
    let shown = shop.show("wamid.LONG");
    assert_eq!(shown["attempts"].as_array().unwrap().len(), 1);
    assert_eq!(shop.number("select count(*) from ledger"), 1);
}

/// Either of two is enough: the lease that the worker knows to be over (`keep_lease`), and the
/// token. Fails when `keep_lease` never returns and `token = :token` is taken out of
/// `record_step.sql`.
fn a_worker_that_was_paused_past_its_lease_writes_nothing_beside_its_successor() {
    let (shop, sink, [first, second]) = shop_with_held_answers();
    let paused = pause_in_step(&shop, &sink);
    let _successor = shop.serve();
    wait_until("the successor's step runs", || sink.seen().len() == 2);
    let before = history(&shop);
    assert_eq!(before, ["attempt 1 lapsed"]);
    // The answer is there when the worker wakes up.
    first.send(()).unwrap();
    paused.send("CONT");
    paused.stderr_line("a claim was lost");
    assert_eq!(history(&shop), before);
    second.send(()).unwrap();
    shop.wait_until_done();
    let after = ["attempt 1 lapsed", "attempt 2 completed", "step reply done"];
    assert_eq!(history(&shop), after);
    assert_eq!(shop.number("select count(*) from ledger"), 1);
}

fn a_worker_that_was_paused_until_its_successor_was_done_writes_nothing() {
    let (shop, sink, [first, second]) = shop_with_held_answers();
    second.send(()).unwrap();
    let paused = pause_in_step(&shop, &sink);
    let _successor = shop.serve();
    shop.wait_until_done();
    let before = shop.show("wamid.PAUSED");
    assert_eq!(sink.seen().len(), 2);
    first.send(()).unwrap();
    paused.send("CONT");
    paused.stderr_line("a claim was lost");
    assert_eq!(shop.show("wamid.PAUSED"), before);
    assert_eq!(shop.number("select count(*) from ledger"), 1);
}

/// A shop whose sink answers its first and its second request when the test says so.
fn shop_with_held_answers() -> (Shop, Sink, [Sender<()>; 2]) {
    let ((first, one), (second, two)) = (channel::<()>(), channel());
    let held = Mutex::new(vec![two, one]);
    let sink = Sink::start(move |_| {
        let next = held.lock().unwrap().pop();
        if let Some(held) = next {
            // An error means that the test is over.
            let _ = held.recv();
        }
        204
    });
    let shop = Shop::new(&Settings { url: Some(&sink.url), ..Settings::default() });
    (shop, sink, [first, second])
}

/// Starts a server, posts an event, and pauses the server while its step runs.
fn pause_in_step(shop: &Shop, sink: &Sink) -> Server {
    let server = shop.serve();
    let request = body(&[Message::new("wamid.PAUSED", 1)]);
    assert_eq!(sender::Sender::new(&server.url).post(&request).unwrap().status, 200);
    wait_until("the step runs", || sink.seen().len() == 1);
    pause(&server, shop);
    server
}

/// What was written down of the event: its attempts and steps.
fn history(shop: &Shop) -> Vec<String> {
    let shown = shop.show("wamid.PAUSED");
    let list = |name: &str| shown[name].as_array().unwrap().clone();
    let attempt = |a: serde_json::Value| {
        format!("attempt {} {}", a["attempt"], a["outcome"].as_str().unwrap())
    };
    let step = |step: serde_json::Value| {
        format!("step {} {}", step["name"].as_str().unwrap(), step["state"].as_str().unwrap())
    };
    let attempts = list("attempts").into_iter().map(attempt);
    attempts.chain(list("steps").into_iter().map(step)).collect()
}

/// Stops a process at an instant at which it is not writing: it would keep the file, or rows, to
/// itself.
fn pause(server: &Server, shop: &Shop) {
    wait_until("the process is paused between two of its transactions", || {
        server.send("STOP");
        let is_between = if is_postgres() {
            let open = "select count(*) from pg_stat_activity where datname = current_database() \
                        and application_name = 'hookonce' and state <> 'idle'";
            shop.number(open) == 0
        } else {
            match shop.database().execute_batch("begin immediate; rollback") {
                Ok(()) => true,
                Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => false,
                Err(error) => panic!("{error}"),
            }
        };
        if !is_between {
            server.send("CONT");
        }
        is_between
    });
}
