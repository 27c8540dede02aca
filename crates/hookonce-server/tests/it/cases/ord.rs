//! ORD: one after another within a conversation, and beside each other otherwise.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::bot::{Bot, DONE, Gate};
use super::case::Case;
use super::client::signed;
use super::stand::{Stand, bytes_of, connect, message, message_flood, status_flood, texts, until};
use crate::engine::on_both;

on_both![
    ord_01_a_burst_of_one_user_is_handled_one_by_one_and_others_beside_it,
    ord_03_messages_of_one_second_are_handled_as_they_came,
    ord_06_a_message_does_not_wait_behind_a_flood_of_statuses_nor_they_behind_messages,
];

/// Two processes with 64 slots each. Fails when `assign` in `route.rs` leaves `ordered` false.
fn ord_01_a_burst_of_one_user_is_handled_one_by_one_and_others_beside_it() {
    let gate = Gate::default();
    let held = gate.clone();
    let running = Arc::new(Mutex::new(BTreeMap::<String, u32>::new()));
    let bot = Bot::start(move |call| {
        let lane = call.header("ce-subject").to_owned();
        let n = |change: i64| {
            let mut running = running.lock().unwrap();
            let n = running.entry(lane.clone()).or_default();
            *n = u32::try_from(i64::from(*n) + change).unwrap();
            *n
        };
        assert_eq!(n(1), 1, "two at a time");
        if call.key().ends_with("ORD01A") {
            held.pass();
        }
        n(-1);
        DONE
    });
    let stand = Stand::bot(&bot, "");
    let second = stand.another();
    let case = Case::of("ORD-01").text();
    let case: serde_json::Value = serde_json::from_str(&case).unwrap();
    for (n, server) in [stand.server(), &second, stand.server()].into_iter().enumerate() {
        let mut body = case.clone();
        let messages = body.pointer_mut("/entry/0/changes/0/value/messages").unwrap();
        *messages = serde_json::json!([messages[n]]);
        assert_eq!(connect(server).ask(signed(body.to_string())).counts(), (1, 0));
    }
    bot.called(1);
    // While the first of them is being handled, others are, and none of its own.
    assert_eq!(stand.post(texts([("15550100012", "X"), ("15550100013", "Y")])).counts(), (2, 0));
    bot.called(3);
    let mut keys = bot.keys();
    keys[1..].sort();
    assert_eq!(keys, ["wamid.TESTORD01A", "X", "Y"].map(message));
    gate.open();
    stand.settle();
    let ours: Vec<_> = bot.keys().into_iter().filter(|key| key.contains("ORD01")).collect();
    assert_eq!(ours, ["A", "B", "C"].map(|end| message(&format!("wamid.TESTORD01{end}"))));
}

fn ord_03_messages_of_one_second_are_handled_as_they_came() {
    let stand = Stand::ledger();
    assert_eq!(stand.send("ORD-03").counts(), (3, 0));
    let keys = ["Z", "A", "M"].map(|end| message(&format!("wamid.TESTORD03{end}")));
    assert_eq!(stand.effects(), keys);
    assert_eq!(stand.each("key"), keys);
}

/// 50 000 statuses wait for a handler that takes 5 ms, with 8 slots. Fails when `pick` in
/// `claim.rs` keeps no place for the lower priorities, and when it takes those first.
fn ord_06_a_message_does_not_wait_behind_a_flood_of_statuses_nor_they_behind_messages() {
    // Nothing is handled until all are stored.
    let gate = Gate::default();
    let held = gate.clone();
    let bot = Bot::start(move |_| {
        held.pass();
        std::thread::sleep(Duration::from_millis(5));
        DONE
    });
    let rest = format!(
        "[worker]\nslots = 8\n\
         [sources.meta]\nscheme = \"meta\"\nsecrets = [\"test-app-secret-0001\"]\n\
         verify_token = \"x\"\n\
         [sinks.bot]\ntype = \"http\"\nurl = \"http://{}/\"\n\
         [[routes]]\nname = \"bot\"\nsteps = [\"bot\"]\n",
        bot.address
    );
    let stand = Stand::configured("min_free_disk = \"0B\"", &rest);
    let mut sender = stand.connect();
    assert_eq!(sender.ask(bytes_of("ORD-06")).counts(), (12, 0));
    for body in status_flood(50_000) {
        assert_eq!(sender.ask(signed(body)).counts(), (100, 0));
    }
    assert!(stand.count("hookonce_tasks where state = 'pending'") > 49_000);
    gate.open();
    let sent = Instant::now();
    assert_eq!(stand.post(texts([("1", "urgent")])).counts(), (1, 0));
    until("the message is started", || bot.keys().iter().any(|key| *key == message("urgent")));
    assert!(sent.elapsed() < Duration::from_secs(1), "{:?}", sent.elapsed());

    // A steady flow of messages, more than can be handled.
    let done = || stand.count("hookonce_tasks where state = 'completed' and priority = 1");
    assert_eq!(stand.post(message_flood(3000)).counts(), (3000, 0));
    let waiting = "hookonce_tasks where state = 'pending' and priority = 0";
    until("messages are handled", || stand.count(waiting) < 2900);
    let before = done();
    until("some hundreds more are", || stand.count(waiting) < 2000);
    assert!(stand.count(waiting) > 0, "messages still wait");
    let more = done() - before;
    assert!(more > 20, "{more} statuses were handled beside 900 messages");
}
