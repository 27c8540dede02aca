//! An event that kills the program that handles it.

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use super::sender::{Message, Sender, body};
use super::shop::{Settings, Shop};
use super::sink::Sink;
use super::wait_until;
use crate::engine::on_both;
use crate::program::send;

on_both![an_event_that_kills_the_program_dies_and_all_others_complete,];

/// Fails when the janitor keeps no suspects: the others are lost with it each time.
fn an_event_that_kills_the_program_dies_and_all_others_complete() {
    let victim = Arc::<Mutex<Option<u32>>>::default();
    let pid = victim.clone();
    let sink = Sink::start(move |effect| {
        if effect.payload.contains("poison")
            && let Some(pid) = *pid.lock().unwrap()
        {
            send("KILL", pid);
        }
        thread::sleep(Duration::from_millis(200));
        204
    });
    let settings = Settings { url: Some(&sink.url), max_attempts: 3, ..Settings::default() };
    let shop = Shop::new(&settings);
    let mut server = shop.serve();
    *victim.lock().unwrap() = Some(server.pid());
    // While it is held, nobody is killed: the number of a process that is gone may be another's.
    let mut restart = || {
        let mut pid = victim.lock().unwrap();
        if server.has_ended() {
            server = shop.serve();
            *pid = Some(server.pid());
        }
        server.url.clone()
    };
    let mut messages: Vec<_> = (0..40).map(|n| Message::new(format!("wamid.{n}"), n)).collect();
    let poison = Message { text: "poison", ..Message::new("wamid.POISON", 99) };
    messages.insert(20, poison);
    // The program may be killed before it can answer; the sender comes again.
    wait_until("an ack", || Sender::new(&restart()).post(&body(&messages)).is_ok());
    wait_until("no task is pending or claimed", || {
        restart();
        let states = shop.states();
        !states.contains_key("pending") && !states.contains_key("claimed")
    });
    let states = [("completed".to_owned(), 40), ("dead".to_owned(), 1)];
    assert_eq!(shop.states(), states.into());
    let shown = shop.show("wamid.POISON");
    let task = &shown["tasks"][0];
    assert_eq!((&task["state"], &task["attempt"]), (&"dead".into(), &3.into()));
    assert!(task["error"].as_str().unwrap().starts_with("worker lost"), "{task}");
    let attempts = shown["attempts"].as_array().unwrap();
    let tries: Vec<_> =
        attempts.iter().map(|a| (a["attempt"].as_u64(), a["outcome"].as_str())).collect();
    assert_eq!(tries, [1, 2, 3].map(|n| (Some(n), Some("lapsed"))));
    assert_eq!(shop.number("select count(distinct message) from ledger"), 40);
    assert_eq!(shop.number("select count(*) from ledger"), 40);
}
