//! The cases of `WASenderApi`: what a gateway does that is not Meta.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::bot::{Bot, DONE};
use super::case::Case;
use super::client::{Answer, request};
use super::stand::{LEDGER, Stand, bot_route};
use crate::engine::on_both;

on_both![
    dup_11_one_message_under_four_names_is_one_event,
    types_04_an_original_and_each_of_its_edits_are_events,
    types_11_arrays_and_objects_give_the_same_events,
    types_12_an_event_of_an_unknown_name_is_kept_and_answered_200,
];

const SOURCE: &str = "[sources.wasender]\nscheme = \"wasender\"\nsecrets = [\"ws-secret-0001\"]\n";

fn ledger() -> Stand {
    Stand::with(&[SOURCE, LEDGER].concat())
}

/// A request with the secret.
fn known(body: &str) -> Vec<u8> {
    let headers = [("X-Webhook-Signature", "ws-secret-0001")];
    request("POST", "/webhooks/wasender", headers, body.as_bytes())
}

/// What a case's body becomes with an event and data of another.
fn changed(id: &str, event: &str, data: &Value) -> String {
    let mut body: Value = serde_json::from_str(&Case::of(id).text()).unwrap();
    body["event"] = event.into();
    body["data"] = data.clone();
    body.to_string()
}

fn data(id: &str) -> Value {
    serde_json::from_str::<Value>(&Case::of(id).text()).unwrap()["data"].take()
}

fn sum(answers: &[Answer]) -> (u64, u64) {
    answers.iter().map(Answer::counts).fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
}

fn dup_11_one_message_under_four_names_is_one_event() {
    let stand = ledger();
    let message = data("DUP-11");
    let forms = [
        ("messages.upsert", json!({ "messages": [message] })),
        ("messages.received", json!({ "messages": message })),
        ("messages-personal.received", message.clone()),
        ("message.received", json!([message])),
        ("MESSAGES_RECEIVED", message.clone()),
    ];
    let bodies = forms.iter().map(|(event, data)| known(&changed("DUP-11", event, data)));
    assert_eq!(sum(&stand.ask_at_once(bodies)), (1, 4));
    assert_eq!(stand.send("DUP-11").counts(), (0, 1));
    assert_eq!(stand.effects(), ["message:3EB0TESTDUP11"]);
    assert_eq!(stand.each("kind"), ["message.text"]);
    assert_eq!(stand.each("lane"), ["15550100011"]);
    let event = &stand.events()[0];
    assert_eq!((&event["copies"], &event["mismatches"]), (&6.into(), &0.into()));
}

/// What a check says of it, and that none of it is logged, is with the tests of the scheme.
#[test]
fn sig_14_the_header_must_be_the_secret_itself() {
    let stand = ledger();
    let case = Case::of("SIG-14");
    let with = |headers: &[(&str, &str)]| {
        stand.ask(request("POST", &case.http.path, headers.to_vec(), &case.body()))
    };
    let name = "X-Webhook-Signature";
    let hmac = super::client::signature(&case.body());
    for headers in [
        &[("A", "b")][..],
        &[(name, "")],
        &[(name, "ws-secret-0002")],
        &[(name, "ws-secret-000")],
        &[(name, &hmac)],
        &[(name, "ws-secret-0001"), (name, "ws-secret-0001")],
    ] {
        assert_eq!(with(headers).status, 401, "{headers:?}");
    }
    assert_eq!(stand.count("hookonce_events"), 0);
    assert_eq!(stand.send("SIG-14").counts(), (1, 0));
    assert_eq!(stand.effects(), ["message:3EB0TESTSIG14"]);
    // Without a secret, no header and the empty one are not equal to it: it doesn't start.
    stand.place.write("unset.toml", "[sources.wasender]\nscheme = \"wasender\"\n");
    let said = stand.place.run(&["check", "--config", "unset.toml"]);
    assert!(said.code == 1 && said.stderr.contains("without `secrets` nobody"), "{}", said.stderr);
}

fn types_04_an_original_and_each_of_its_edits_are_events() {
    let stand = ledger();
    let mut original = data("TYPES-04")[0].take();
    original.as_object_mut().unwrap().remove("update");
    original["message"] = json!({ "conversation": "v1" });
    let original = changed("TYPES-04", "messages.upsert", &json!({ "messages": [original] }));
    let v2 = Case::of("TYPES-04").text();
    let v3 = v2.replace("v2", "v3");
    let counts = [&original, &v2, &v2, &v3].map(|body| stand.ask(known(body)).counts());
    assert_eq!(counts, [(1, 0), (1, 0), (0, 1), (1, 0)]);
    // The same edit, once more as a message.
    let again = data("TYPES-04")[0]["update"]["message"].take();
    let mut element = data("TYPES-04")[0].take();
    element["message"] = again;
    let again = changed("TYPES-04", "messages.upsert", &element);
    assert_eq!(stand.ask(known(&again)).counts(), (0, 1));
    stand.settle();
    assert_eq!(stand.each("kind"), ["message.text", "update.edit", "update.edit"]);
    assert_eq!(stand.each("lane"), ["15550100011"; 3]);
    assert_eq!(stand.effects().len(), 3);
}

fn types_11_arrays_and_objects_give_the_same_events() {
    let stand = ledger();
    assert_eq!(stand.send("TYPES-11").counts(), (3, 0));
    let statuses = ["10A:delivered", "10A:read", "10B:read"];
    assert_eq!(stand.each("key"), statuses.map(|end| format!("status:3EB0TESTTYP{end}")));
    for item in data("TYPES-11").as_array().unwrap() {
        let body = changed("TYPES-11", "messages.update", item);
        assert_eq!(stand.ask(known(&body)).counts(), (0, 1), "{body}");
    }
    let keys = json!({ "keys": [{ "id": "A" }, { "id": "B" }, { "id": "C" }] });
    let deletes = changed("TYPES-11", "messages.delete", &keys);
    assert_eq!(stand.ask(known(&deletes)).counts(), (3, 0));
    let one = changed("TYPES-11", "messages.delete", &json!({ "keys": { "id": "B" } }));
    assert_eq!(stand.ask(known(&one)).counts(), (0, 1));

    let receipt = |n: u8| {
        let receipt = json!({ "userJid": format!("1555010002{n}@s.whatsapp.net"), "readTimestamp": 1_760_000_001 });
        json!({ "key": { "id": "R", "remoteJid": "1@g.us", "fromMe": true }, "receipt": receipt })
    };
    let members: Value = (0..5).map(receipt).collect();
    let receipts = changed("TYPES-11", "message-receipt.update", &members);
    assert_eq!(stand.ask(known(&receipts)).counts(), (5, 0));
    let one = json!({ "message": receipt(3) });
    let one = changed("TYPES-11", "message-receipt.update", &one);
    assert_eq!(stand.ask(known(&one)).counts(), (0, 1));
    assert_eq!(stand.effects().into_iter().collect::<BTreeSet<_>>().len(), 11);
    assert!(stand.events().iter().all(|event| event["mismatches"] == 0));
}

/// Names are told apart by their kinds, not by a counter's labels, of which there may be no end.
fn types_12_an_event_of_an_unknown_name_is_kept_and_answered_200() {
    let stand = ledger();
    assert_eq!(stand.send("TYPES-12").counts(), (1, 0));
    assert_eq!(stand.send("TYPES-12").counts(), (0, 1));
    let renamed = Case::of("TYPES-12").text().replace("message.brand-new", "something");
    assert_eq!(stand.ask(known(&renamed)).counts(), (1, 0));
    assert_eq!(stand.each("kind"), ["unknown.message.brand.new", "unknown.something"]);
    assert!(stand.each("key").iter().all(|key| key.starts_with("hash:")));
    assert_eq!(stand.elements(), [r#"{"foo":"bar"}"#; 2]);
}

/// Which ids effects made isn't remembered: an echo is known by what it says of itself.
#[test]
fn effect_05_a_bots_own_answers_come_back_as_echoes_and_are_not_answered() {
    let bot = Bot::start(|_| DONE);
    let route = bot_route(&bot, "kinds = [\"message.*\"]");
    let stand = Stand::with(&[SOURCE, &route].concat());
    assert_eq!(stand.send("DUP-11").counts(), (1, 0));
    stand.settle();
    assert_eq!(bot.keys(), ["message:3EB0TESTDUP11"]);
    // Each answer comes back under an id of its own, and as sent.
    for n in 0..3 {
        let mut echo = data("EFFECT-05");
        echo["key"]["id"] = format!("3EB0TESTEFF05{n}").into();
        for event in ["messages.upsert", "messages.received", "message.sent"] {
            stand.ask(known(&changed("EFFECT-05", event, &echo))).counts();
        }
    }
    assert_eq!(stand.send("EFFECT-05").counts(), (1, 0));
    stand.settle();
    assert_eq!(bot.calls().len(), 1);
    let kinds: BTreeSet<_> = stand.each("kind").into_iter().collect();
    assert_eq!(kinds.iter().collect::<Vec<_>>(), ["echo.text", "message.text", "sent.accepted"]);
}
