//! A conversation whose first message fails, and everybody else.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hookonce::event::EventId;

use crate::cases::bot::{Bot, DONE, FAILED, Gate};
use crate::cases::stand::{Stand, message, texts, until};
use crate::engine::on_both;

on_both![
    a_conversation_waits_for_its_first_message_and_a_thousand_others_do_not,
    a_held_conversation_waits_for_a_person_who_replays_or_buries_its_head,
    a_replayed_message_waits_while_its_conversation_is_busy,
    a_rerun_calls_under_the_next_run_and_nothing_else_runs_twice,
];

const OURS: [&str; 5] = ["wamid.1", "wamid.2", "wamid.3", "wamid.4", "wamid.5"];

fn conversation(from: &str, ids: &[&str]) -> String {
    texts(ids.iter().map(|id| (from, *id)))
}

fn ours(bot: &Bot) -> Vec<String> {
    bot.keys().into_iter().filter(|key| OURS.iter().any(|id| *key == message(id))).collect()
}

fn a_conversation_waits_for_its_first_message_and_a_thousand_others_do_not() {
    let is_broken = Arc::new(AtomicBool::new(true));
    let broken = is_broken.clone();
    let bot = Bot::start(move |call| {
        let is_first = call.key() == message("wamid.1");
        if is_first && broken.load(Ordering::SeqCst) { FAILED } else { DONE }
    });
    let stand = Stand::bot(&bot, "max_attempts = 1000\nretry_max = \"50ms\"");
    assert_eq!(stand.post(conversation("15550100001", &OURS)).counts(), (5, 0));
    let others: Vec<_> = (0..1000).map(|n| (format!("1555012{n:04}"), format!("o{n}"))).collect();
    let others = texts(others.iter().map(|(from, id)| (from.as_str(), id.as_str())));
    assert_eq!(stand.post(others).counts(), (1000, 0));
    until("the others are handled", || {
        stand.count("hookonce_tasks where state = 'completed'") == 1000
    });
    assert!(ours(&bot).iter().all(|key| *key == message("wamid.1")), "they wait for the first");
    is_broken.store(false, Ordering::SeqCst);
    stand.settle();
    let mut order = ours(&bot);
    order.dedup();
    assert_eq!(order, OURS.map(message));
}

fn a_held_conversation_waits_for_a_person_who_replays_or_buries_its_head() {
    let is_broken = Arc::new(AtomicBool::new(true));
    let broken = is_broken.clone();
    let bot = Bot::start(move |call| {
        let is_first = call.key().ends_with(".1");
        if is_first && broken.load(Ordering::SeqCst) { FAILED } else { DONE }
    });
    let mut stand = Stand::bot(&bot, "max_attempts = 2\nretry_max = \"20ms\"\non_dead = \"hold\"");
    let second = ["buried.1", "buried.2"];
    assert_eq!(stand.post(conversation("15550100001", &OURS)).counts(), (5, 0));
    assert_eq!(stand.post(conversation("15550100002", &second)).counts(), (2, 0));
    until("both heads are dead", || stand.count("hookonce_tasks where state = 'dead'") == 2);
    // A restart changes nothing about it.
    stand.kill();
    stand.start();
    assert_eq!(stand.post(conversation("15550100003", &["free.2"])).counts(), (1, 0));
    until("another is handled", || bot.keys().contains(&message("free.2")));
    assert_eq!(stand.count("hookonce_tasks where state = 'pending'"), 5);

    let id = |id: &str| EventId::of("meta", &message(id)).to_string();
    stand.place.run(&["bury", &id("buried.1")]).ok();
    until("the buried one's lane goes on", || bot.keys().contains(&message("buried.2")));
    is_broken.store(false, Ordering::SeqCst);
    stand.place.run(&["replay", &id("wamid.1")]).ok();
    stand.settle();
    let mut order = ours(&bot);
    order.dedup();
    assert_eq!(order, OURS.map(message));
    let states = stand.texts("select state from hookonce_tasks order by state");
    assert_eq!(states, [&["completed"; 7][..], &["dead"]].concat());
}

/// A task that a person makes due while its lane is busy waits like any other.
fn a_replayed_message_waits_while_its_conversation_is_busy() {
    let gate = Gate::default();
    let held = gate.clone();
    let bot = Bot::start(move |call| match (call.key().ends_with("first"), call.n) {
        (true, 1) => FAILED,
        (true, _) => DONE,
        _ => {
            held.pass();
            DONE
        }
    });
    let stand = Stand::bot(&bot, "max_attempts = 1");
    assert_eq!(stand.post(texts([("1", "first")])).counts(), (1, 0));
    stand.settle();
    assert_eq!(stand.post(texts([("1", "second")])).counts(), (1, 0));
    bot.called(2);
    stand.place.run(&["replay", &EventId::of("meta", &message("first")).to_string()]).ok();
    let pending = "hookonce_tasks where state = 'pending' and due_at is null";
    until("it waits for its lane", || stand.count(pending) == 1);
    assert_eq!(bot.calls().len(), 2);
    gate.open();
    stand.settle();
    assert_eq!(bot.keys(), ["first", "second", "first"].map(message));
}

/// Whoever is called can tell a deliberate second run from a copy of the first.
fn a_rerun_calls_under_the_next_run_and_nothing_else_runs_twice() {
    let bot = Bot::start(|_| DONE);
    let stand = Stand::bot(&bot, "");
    assert_eq!(stand.post(texts([("1", "a"), ("2", "b")])).counts(), (2, 0));
    stand.settle();
    let id = EventId::of("meta", &message("a")).to_string();
    // A replay leaves what is completed alone.
    let left = stand.place.run(&["replay", "--json", "--state", "completed", "--source", "meta"]);
    assert_eq!(left.ok().trim(), r#"{"left":2,"replayed":0}"#);
    let again = stand.place.run(&["replay", "--json", "--rerun", &id]).ok();
    assert_eq!(again.trim(), r#"{"left":0,"replayed":1}"#);
    bot.called(3);
    stand.settle();
    let key = |call: &crate::cases::bot::Call| call.header("idempotency-key").to_owned();
    let mut keys: Vec<_> = bot.calls().iter().map(key).collect();
    keys[..2].sort();
    let other = EventId::of("meta", &message("b")).to_string();
    let mut expected = vec![format!("{id}/bot/bot"), format!("{other}/bot/bot")];
    expected.sort();
    expected.push(format!("{id}/bot/bot/2"));
    assert_eq!(keys, expected);
    assert_eq!(bot.calls()[2].header("ce-run"), "2");
}
