//! Requests that were made to harm, or that Evolution API shouldn't make.

use hookonce::element::Json;
use proptest::prelude::*;

use super::{body, event, events};

const NAMES: [&str; 10] = [
    "messages.upsert",
    "messages.set",
    "messages.update",
    "messages.edited",
    "messages.delete",
    "send.message",
    "call",
    "connection.update",
    "contacts.update",
    "brand.new",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_item_comes_out_once_byte_for_byte(
        kinds in prop::collection::vec(0..5_usize, 1..8), space in "[ \n]{0,2}",
        name in prop::sample::select(NAMES.to_vec()),
    ) {
        let item = |(n, kind): (usize, &usize)| match kind {
            0 => format!(r#"{{"key":{{"id" :"{n}","remoteJid":"1@g.us"}},"status":"R","x":["]",1.0]}}"#),
            1 => format!(r#"{{"\u006beyId":{n},"id":{n},"status":{n}}}"#),
            2 => format!(r#"{{"key":"{n}","message":[{space}]}}"#),
            3 => "{}".to_owned(),
            _ => format!("\"{n}\""),
        };
        let items: Vec<String> = kinds.iter().enumerate().map(item).collect();
        let sent = body(name, &format!("[{space}{}{space}]", items.join(&format!("{space},{space}"))));
        let found = events(sent.as_bytes());
        prop_assert_eq!(found.len(), items.len());
        let mut keys: Vec<_> = found.iter().map(|event| event.key.as_str()).collect();
        keys.sort_unstable();
        keys.dedup();
        prop_assert_eq!(keys.len(), items.len());
        for (event, item) in found.iter().zip(&items) {
            let payload = Json::read(event.payload.as_bytes()).unwrap();
            prop_assert_eq!(payload.pointer(&event.element).unwrap().raw(), item);
            prop_assert_eq!(payload.get("apikey").unwrap().raw(), "\"REDACTED\"");
            prop_assert_eq!(event.unreadable.is_some(), is_dead(name, item), "{} {}", name, item);
            // An event's payload is a request that gives this event and no other.
            let again = events(event.payload.as_bytes());
            prop_assert_eq!(again.len(), 1);
            prop_assert_eq!((&again[0].kind, &again[0].payload), (&event.kind, &event.payload));
            prop_assert!(event.weak_key || again[0].id == event.id);
        }
    }
}

/// Whether such an item lacks what an event of this name needs.
fn is_dead(name: &str, item: &str) -> bool {
    let (is_text, has_key) = (item.starts_with('"'), item.starts_with("{\"key\":{"));
    let has_id = has_key || item.contains("keyId") || item.contains("\"id\"");
    match name {
        "messages.delete" => !is_text && !has_id,
        "messages.edited" => is_text,
        "messages.upsert" => is_text || item.starts_with("{\"key\":\""),
        "call" => !item.contains("\"id\":") || has_key,
        _ => is_text && (name.starts_with("messages.") || name.starts_with("send.")),
    }
}

#[test]
fn one_broken_element_among_twenty_is_dead_and_the_others_are_not() {
    let mut items: Vec<_> = (0..20)
        .map(|n| format!(r#"{{"key":{{"id":"{n}"}},"message":{{"conversation":"x"}}}}"#))
        .collect();
    items[7] = "null".to_owned();
    let found = events(body("messages.upsert", &format!("[{}]", items.join(","))).as_bytes());
    assert_eq!(found.len(), 20);
    let dead: Vec<_> = found.iter().filter_map(|event| event.unreadable).collect();
    assert_eq!(dead, ["element is not an object"]);
}

#[test]
fn ids_that_are_none_leave_a_hash() {
    for id in ["null", "\"\"", "true", "[]", "{}"] {
        let data = format!(r#"{{"key":{{"id":{id}}},"message":{{"conversation":"x"}}}}"#);
        let found = event(&body("messages.upsert", &data));
        assert!(found.weak_key && found.unreadable.is_none(), "{id}");
    }
    let number = "123456789012345678901234567890";
    let data = format!(r#"{{"key":{{"id":{number}}},"message":{{"conversation":"x"}}}}"#);
    let found = event(&body("messages.upsert", &data));
    assert_eq!(found.key.as_str(), format!("message:i:{number}"));
}

#[test]
fn wrong_types_make_no_request_fail() {
    for wrong in ["null", "true", "7", "\"x\"", "[]", "{}", "[[]]"] {
        for name in ["event", "instance", "data", "date_time", "apikey"] {
            let good = body("messages.upsert", r#"{"key":{"id":"A"}}"#);
            let sent = format!("{},\"{name}\":{wrong}}}", &good[..good.len() - 1]);
            assert!(!events(sent.as_bytes()).is_empty(), "{sent}");
        }
        for inner in [
            "key",
            "keyId",
            "id",
            "status",
            "update",
            "message",
            "messageType",
            "remoteJid",
            "participant",
            "fromMe",
            "pollUpdates",
            "messageTimestamp",
            "state",
            "from",
        ] {
            for name in NAMES {
                for data in [
                    format!(r#"{{"{inner}":{wrong}}}"#),
                    format!(r#"{{"key":{{"{inner}":{wrong}}}}}"#),
                ] {
                    let reason = event(&body(name, &data)).unreadable;
                    let lacks =
                        ["element has no id", "element has no status", "key is not an object"];
                    assert!(reason.is_none_or(|reason| lacks.contains(&reason)), "{data}");
                }
            }
        }
    }
}

#[test]
fn a_request_has_limits() {
    let many =
        |n| body("messages.upsert", &format!("[{}]", vec![r#"{"key":{"id":"1"}}"#; n].join(",")));
    assert_eq!(events(many(20_000).as_bytes()).len(), 20_000);
    assert_eq!(event(&many(20_001)).unreadable, Some("more than 20000 elements"));
    let deep = body("messages.upsert", &format!("{}{}", "[".repeat(200), "]".repeat(200)));
    assert_eq!(event(&deep).unreadable, Some("nested deeper than 128 levels"));
}

#[test]
fn times_are_those_of_the_element_alone() {
    for (time, right) in [
        ("1760000000", Some("2025-10-09T08:53:20Z")),
        ("\"1760000000\"", Some("2025-10-09T08:53:20Z")),
        ("1760000000123", Some("2025-10-09T08:53:20.123Z")),
        ("{\"low\":1}", None),
        ("0", None),
    ] {
        let sent = body(
            "messages.upsert",
            &format!(r#"{{"key":{{"id":"A"}},"messageTimestamp":{time}}}"#),
        );
        let sent = sent.replacen('{', r#"{"date_time":"2026-01-01T00:00:00Z","#, 1);
        assert_eq!(event(&sent).sent_at.map(|at| at.to_string()).as_deref(), right);
    }
}
