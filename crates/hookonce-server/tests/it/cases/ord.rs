//! ORD: one after another within a conversation, and beside each other otherwise.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use super::bot::{Bot, DONE, Gate};
use super::case::Case;
use super::client::signed;
use super::stand::{Stand, connect, message, texts};

/// Two processes with 64 slots each. Fails when `assign` in `route.rs` leaves `ordered` false.
#[test]
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

#[test]
fn ord_03_messages_of_one_second_are_handled_as_they_came() {
    let stand = Stand::ledger();
    assert_eq!(stand.send("ORD-03").counts(), (3, 0));
    let keys = ["Z", "A", "M"].map(|end| message(&format!("wamid.TESTORD03{end}")));
    assert_eq!(stand.effects(), keys);
    assert_eq!(stand.each("key"), keys);
}
