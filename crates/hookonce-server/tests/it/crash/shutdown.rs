//! A server that is told to stop while it works.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use super::sender::{Message, Sender, body};
use super::shop::{Settings, Shop};
use super::sink::Sink;
use super::wait_until;
use crate::engine::on_both;

on_both![a_shutdown_under_load_loses_nothing_and_what_it_cuts_off_is_tried_again,];

fn a_shutdown_under_load_loses_nothing_and_what_it_cuts_off_is_tried_again() {
    // Of this run alone: the test runs on either store, side by side.
    let is_stuck: &'static AtomicBool = Box::leak(Box::new(AtomicBool::new(true)));
    let sink = Sink::start(move |effect| {
        // Some steps take longer than the shutdown waits.
        while effect.payload.contains("stuck") && is_stuck.load(Ordering::SeqCst) {
            thread::sleep(Duration::from_millis(20));
        }
        thread::sleep(Duration::from_millis(50));
        204
    });
    let settings = Settings { url: Some(&sink.url), grace: "1s", ..Settings::default() };
    let shop = Shop::new(&settings);
    let server = shop.serve();
    let acked = Mutex::new(BTreeSet::new());
    let status = thread::scope(|scope| {
        for n in 0..8 {
            let (url, acked) = (server.url.clone(), &acked);
            scope.spawn(move || {
                let mut sender = Sender::new(&url);
                for m in 0.. {
                    let text = if m % 8 == 3 { "stuck" } else { "hello" };
                    let message = Message { text, ..Message::new(format!("wamid.{n}.{m}"), m) };
                    // A connection that was idle is closed, a new one refused; no other answer.
                    let Ok(answer) = sender.post(&body(std::slice::from_ref(&message))) else {
                        return;
                    };
                    assert_eq!(answer.status, 200, "{}", answer.body);
                    acked.lock().unwrap().insert(message.id);
                }
            });
        }
        wait_until("steps run", || sink.seen().iter().any(|e| e.payload.contains("stuck")));
        wait_until("load", || acked.lock().unwrap().len() > 100);
        server.terminate()
    });
    assert_eq!(status.code(), Some(0));
    let acked = acked.into_inner().unwrap();
    let stored =
        shop.numbers("select replace(key, 'message:106540352242922:', ''), 1 from hookonce_events");
    let lost: Vec<_> = acked.iter().filter(|id| !stored.contains_key(*id)).collect();
    assert!(lost.is_empty(), "acked and not stored: {lost:?}");
    let cut_off = shop.number("select count(*) from hookonce_tasks where state = 'claimed'");
    assert!(cut_off > 0);
    is_stuck.store(false, Ordering::SeqCst);
    let _server = shop.serve();
    shop.wait_until_done();
    let lapsed = "select count(*) from hookonce_attempts where outcome = 'lapsed'";
    assert_eq!(shop.number(lapsed), cut_off);
    let events = u64::try_from(stored.len()).unwrap();
    assert_eq!(shop.states(), [("completed".to_owned(), events)].into());
    assert_eq!(shop.number("select count(distinct message) from ledger"), events);
    assert_eq!(shop.number("select count(*) from ledger"), events);
}
