//! IDENT: who it is, and which conversation it belongs to.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Barrier};

use super::bot::{Bot, DONE, FAILED};
use super::case::Case;
use super::client::{request, signed};
use super::stand::{LEDGER, Stand, message};
use crate::engine::on_both;

on_both![
    ident_01_a_user_without_a_number_has_a_lane_of_their_own,
    ident_02_an_identifier_is_never_read_as_a_number,
    ident_04_the_lane_is_the_user_id_as_soon_as_there_is_one,
    ident_05_first_contacts_at_the_same_time_are_handled_one_after_the_other,
    ident_07_a_group_is_a_conversation_apart_from_that_with_its_member,
    ident_08_a_person_has_one_conversation_by_number_and_by_hidden_address,
    ident_10_messages_of_nobody_known_do_not_wait_for_each_other,
];

fn ident_01_a_user_without_a_number_has_a_lane_of_their_own() {
    let stand = Stand::ledger();
    let second = Case::of("IDENT-01").text().replace("00000001\"", "00000002\"");
    let second = second.replace("200000000000002", "200000000000001").replace("IDN01", "IDN01B");
    assert_eq!(stand.send("IDENT-01").counts(), (1, 0));
    assert_eq!(stand.post(second).counts(), (1, 0));
    let lane = |n| format!("200000000000001:US.9000000000000000000{n}");
    assert_eq!(stand.each("lane"), [lane(1), lane(2)]);
    assert_eq!(stand.effects().len(), 2);
}

fn ident_02_an_identifier_is_never_read_as_a_number() {
    let stand = Stand::ledger();
    assert_eq!(stand.send("IDENT-02").counts(), (1, 0));
    assert_eq!(stand.each("lane"), ["200000000000001:US.90000000000000000001"]);
    assert_eq!(stand.effects(), [message("wamid.TESTIDN02")]);
    assert!(stand.elements()[0].contains(r#""from":"US.90000000000000000001""#));
}

fn ident_04_the_lane_is_the_user_id_as_soon_as_there_is_one() {
    let bot = Bot::start(|_| DONE);
    let stand = Stand::bot(&bot, "");
    let case = Case::of("IDENT-04").text();
    let with = |contact: &str, from: &str, id: &str| {
        case.replace(r#""user_id":"US."#, &format!(r#"{contact}"user_id":"US."#))
            .replace(r#""from_user_id":"US.90000000000000000001""#, from)
            .replace("IDN04B", id)
    };
    let phone = r#""from":"15550100011""#;
    // From the contact alone, and from the message itself.
    let first = with(r#""wa_id":"15550100011","#, phone, "IDN04");
    let both = format!(r#"{phone},"from_user_id":"US.90000000000000000001""#);
    let second = with(r#""wa_id":"15550100011","#, &both, "IDN04A");
    for body in [first, second] {
        assert_eq!(stand.post(body).counts(), (1, 0));
    }
    assert_eq!(stand.send("IDENT-04").counts(), (1, 0));
    stand.settle();
    assert_eq!(stand.each("lane"), ["200000000000001:US.90000000000000000001"; 3]);
    assert_eq!(bot.keys(), ["", "A", "B"].map(|end| message(&format!("wamid.TESTIDN04{end}"))));
}

/// Fails when `assign` in `route.rs` leaves `ordered` false.
fn ident_05_first_contacts_at_the_same_time_are_handled_one_after_the_other() {
    let running = Arc::new(AtomicU32::new(0));
    let bot = Bot::start(move |call| {
        assert_eq!(running.fetch_add(1, Ordering::SeqCst), 0, "two at a time");
        std::thread::yield_now();
        running.fetch_sub(1, Ordering::SeqCst);
        if call.n == 1 { FAILED } else { DONE }
    });
    let stand = Stand::bot(&bot, "");
    let case: serde_json::Value = serde_json::from_str(&Case::of("IDENT-05").text()).unwrap();
    let value = "/entry/0/changes/0/value/messages";
    let bodies = [0, 1].map(|n| {
        let mut body = case.clone();
        let only = body.pointer(value).unwrap()[n].clone();
        *body.pointer_mut(value).unwrap() = serde_json::json!([only]);
        signed(body.to_string())
    });
    for answer in stand.ask_at_once(bodies) {
        assert_eq!(answer.counts(), (1, 0));
    }
    stand.settle();
    let mut keys = bot.keys();
    assert_eq!((&keys[0], &keys[2]), (&keys[1], &keys[3]), "a failed one comes again first");
    keys.sort();
    keys.dedup();
    assert_eq!(keys, ["A", "B"].map(|end| message(&format!("wamid.TESTIDN05{end}"))));
    assert_eq!(stand.count("hookonce_tasks where state = 'completed'"), 2);
}

fn ident_07_a_group_is_a_conversation_apart_from_that_with_its_member() {
    let stand = Stand::ledger();
    let private = Case::of("IDENT-07").text().replace(r#","group_id":"555000111""#, "");
    let private = private.replace("TESTIDN07", "TESTIDN07P");
    assert_eq!(stand.send("IDENT-07").counts(), (1, 0));
    assert_eq!(stand.post(private).counts(), (1, 0));
    assert_eq!(
        stand.each("lane"),
        ["555000111", "15550100011"].map(|who| { format!("200000000000001:{who}") })
    );
    assert_eq!(stand.effects().len(), 2);
    assert!(stand.elements()[0].contains(r#""from":"15550100011""#), "the participant is kept");
}

fn ident_08_a_person_has_one_conversation_by_number_and_by_hidden_address() {
    let source = "[sources.evolution]\nscheme = \"evolution\"\nunverified = true\n";
    let stand = Stand::with(&[source, LEDGER].concat());
    let case = Case::of("IDENT-08").text();
    let hidden = r#""remoteJid":"90000000000001@lid""#;
    let number = r#""remoteJidAlt":"15550100011@s.whatsapp.net","#;
    let post = |body: &str| {
        let body = body.as_bytes();
        stand.ask(request("POST", "/webhooks/evolution", [("Host", "x")], body)).counts()
    };
    assert_eq!(stand.send("IDENT-08").counts(), (1, 0));
    // The same message, by its hidden address alone: its key has no address.
    assert_eq!(post(&case.replace(number, "")), (0, 1));
    let other = case.replace(hidden, r#""remoteJid":"15550100011@s.whatsapp.net""#);
    assert_eq!(post(&other.replace(number, "").replace("IDN08", "IDN08B")), (1, 0));
    assert_eq!(post(&case.replace(number, "").replace("IDN08", "IDN08C")), (1, 0));
    let person = "inst-1:15550100011";
    assert_eq!(stand.each("lane"), [person, person, "inst-1:90000000000001@lid"]);
    let key = |end| format!("message:inst-1:3EB0TESTIDN08{end}");
    let mut effects = stand.effects();
    effects.sort_unstable();
    assert_eq!(effects, ["", "B", "C"].map(key));
}

fn ident_10_messages_of_nobody_known_do_not_wait_for_each_other() {
    // Each answer waits for the other call.
    let both = Barrier::new(2);
    let bot = Bot::start(move |_| {
        both.wait();
        DONE
    });
    let stand = Stand::bot(&bot, "");
    assert_eq!(stand.send("IDENT-10").counts(), (1, 0));
    let other = Case::of("IDENT-10").text().replace("TESTIDN10", "TESTIDN10B");
    assert_eq!(stand.post(other).counts(), (1, 0));
    stand.settle();
    assert_eq!(stand.each("lane"), ["-"; 2]);
    assert_eq!(stand.each("state"), ["completed"; 2]);
}
