//! TYPES: what comes beside text messages.

use super::bot::{Bot, DONE, FAILED};
use super::case::Case;
use super::client::request;
use super::stand::{Stand, envelope, message};
use crate::engine::on_both;

on_both![
    types_01_a_message_of_no_known_type_is_handed_over_as_it_is,
    types_03_edit_and_revoke_are_handled_after_an_original_that_is_retried,
    types_06_history_is_of_its_own_kind_and_neither_hides_a_live_message_nor_runs_as_one,
    types_07_calls_and_other_fields_are_events,
    types_09_a_sample_without_envelope_is_kept_whole,
    types_13_a_field_of_another_type_than_expected_is_nobodys_business,
];

fn types_01_a_message_of_no_known_type_is_handed_over_as_it_is() {
    let bot = Bot::start(|_| DONE);
    let stand = Stand::bot(&bot, "");
    assert_eq!(stand.send("TYPES-01").counts(), (1, 0));
    stand.settle();
    assert_eq!(bot.calls()[0].header("ce-type"), "message.unsupported");
    assert_eq!(bot.calls()[0].body, Case::of("TYPES-01").text());
}

fn types_03_edit_and_revoke_are_handled_after_an_original_that_is_retried() {
    let [original, edit, revoke] =
        ["", "E", "R"].map(|end| message(&format!("wamid.TESTTYP03{end}")));
    let text = r#"{"from":"15550100011","id":"wamid.TESTTYP03","timestamp":"1760000000","type":"text","text":{"body":"hola"}}"#;
    let bot =
        Bot::start(|call| if call.n < 3 && call.key().ends_with("TYP03") { FAILED } else { DONE });
    let stand = Stand::bot(&bot, "");
    // The case's contact says who it is as well; the lane is the same.
    assert_eq!(stand.post(envelope(&format!(r#""messages":[{text}]"#))).counts(), (1, 0));
    assert_eq!(stand.send("TYPES-03").counts(), (2, 0));
    stand.settle();
    let first = [&original, &original, &original, &edit, &revoke];
    assert_eq!(bot.keys().iter().collect::<Vec<_>>(), first);
    assert_eq!(stand.each("kind"), ["message.text", "message.edit", "message.revoke"]);
    assert_eq!(stand.each("lane"), ["200000000000001:15550100011"; 3]);

    // Before its original, each is handled when it comes.
    let bot = Bot::start(|_| DONE);
    let stand = Stand::bot(&bot, "");
    assert_eq!(stand.send("TYPES-03").counts(), (2, 0));
    stand.settle();
    assert_eq!(bot.keys(), [edit, revoke]);
}

/// How live messages fare beside a flood of history is measured with the priorities.
fn types_06_history_is_of_its_own_kind_and_neither_hides_a_live_message_nor_runs_as_one() {
    let stand = Stand::ledger();
    let live = r#"{"from":"15550100011","id":"wamid.TESTTYP06","timestamp":"1650000000","type":"text","text":{"body":"viejo"}}"#;
    let live = envelope(&format!(r#""messages":[{live}]"#));
    assert_eq!(stand.send("TYPES-06").counts(), (1, 0));
    assert_eq!(stand.post(&live).counts(), (1, 0));
    assert_eq!(stand.send("TYPES-06").counts(), (0, 1));
    assert_eq!(stand.post(&live).counts(), (0, 1));
    assert_eq!(stand.each("kind"), ["history.message", "message.text"]);
    let priorities: Vec<_> = stand.events().iter().map(|event| event["priority"].clone()).collect();
    assert_eq!(priorities, [2, 0]);
    assert_eq!(stand.each("lane")[0], "-", "history is in no live conversation");
    let mut effects = stand.effects();
    effects.sort();
    let history = "history:200000000000001:wamid.TESTTYP06:text".to_owned();
    assert_eq!(effects, [history, message("wamid.TESTTYP06")]);
}

fn types_07_calls_and_other_fields_are_events() {
    let stand = Stand::ledger();
    assert_eq!(stand.send("TYPES-07").counts(), (4, 0));
    assert_eq!(stand.send("TYPES-07").counts(), (0, 4));
    let kinds = ["call.connect", "call.terminate", "account_update", "some_future_field"];
    assert_eq!(stand.each("kind"), kinds);
    let keys = stand.each("key");
    assert_eq!(
        keys[..2],
        ["connect", "terminate"]
            .map(|event| format!("call:200000000000001:wacid.TESTTYP07:{event}"))
    );
    assert!(keys[2..].iter().all(|key| key.starts_with("hash:")));
    assert_eq!(stand.effects().len(), 4);
}

/// The design asks for no note in the log; `unknown.request` is the note.
fn types_09_a_sample_without_envelope_is_kept_whole() {
    let stand = Stand::ledger();
    let case = Case::of("TYPES-09");
    assert_eq!(stand.ask(request("POST", &case.http.path, [("A", "b")], &case.body())).status, 401);
    assert_eq!(stand.send("TYPES-09").counts(), (1, 0));
    assert_eq!(stand.elements(), [case.text()]);
    assert_eq!(stand.each("kind"), ["unknown.request"]);
    // The way to sign a sample.
    stand.place.write("sample.json", r#"{"field":"messages","value":{}}"#);
    let sign = ["sign", "--url", &stand.server().url, "--source", "meta", "sample.json"];
    let line = stand.place.run(&sign).ok();
    assert_eq!(stand.place.shell(&line).ok(), r#"{"new":1,"duplicates":0}"#);
}

fn types_13_a_field_of_another_type_than_expected_is_nobodys_business() {
    let bot = Bot::start(|_| DONE);
    let stand = Stand::bot(&bot, "");
    assert_eq!(stand.send("TYPES-13").counts(), (2, 0));
    stand.settle();
    assert_eq!(bot.keys(), ["", "B"].map(|end| message(&format!("wamid.TESTTYP12{end}"))));
    assert_eq!(stand.each("kind"), ["message.interactive", "message.document"]);
    let nfm = r#""nfm_reply":{"name":"flow","response_json":"[1,2]","body":null}"#;
    assert!(bot.calls()[0].body.contains(nfm));
    assert!(bot.calls()[1].body.contains(r#""errors":[{"code":131052"#));
    // A time as a number is a time as well.
    assert_eq!(stand.each("sent_at"), ["2025-10-09T08:53:20Z"; 2]);
}
