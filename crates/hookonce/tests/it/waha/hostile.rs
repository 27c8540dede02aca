//! Requests that were made to harm, or that WAHA shouldn't make.

use proptest::prelude::*;

use crate::bed::scheme::check_twenty;

use super::{body, event, events};

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_item_comes_out_once_byte_for_byte(
        kinds in prop::collection::vec(0..4_usize, 1..8), space in " {0,2}",
        name in prop::sample::select(vec!["message", "message.ack", "call.received", "new.event"]),
    ) {
        let item = |(n, kind): (usize, &usize)| match kind {
            0 => format!("{{\"id\":{space}\"false_1@c.us_{n}\",\"ack\":1.0,\"x\":[\"]\",{{}}]}}"),
            1 => format!("{{\"\\u0069d\" : {n}}}"),
            2 => "{}".to_owned(),
            _ => format!("\"{n}\""),
        };
        let items: Vec<String> = kinds.iter().enumerate().map(item).collect();
        let sent = body(name, "evt_1", &format!("[{space}{}{space}]", items.join(&format!("{space},"))));
        let found = events(sent.as_bytes());
        prop_assert_eq!(found.len(), items.len());
        let mut keys: Vec<_> = found.iter().map(|event| event.key.as_str()).collect();
        keys.sort_unstable();
        keys.dedup();
        prop_assert_eq!(keys.len(), items.len());
        for (event, item) in found.iter().zip(&items) {
            let payload = hookonce::element::Json::read(event.payload.as_bytes()).unwrap();
            prop_assert_eq!(payload.pointer(&event.element).unwrap().raw(), item);
            let dead = match name {
                "message" => item.starts_with('"'),
                "message.ack" => !item.contains("ack"),
                "call.received" => !item.starts_with('{') || item == "{}",
                _ => false,
            };
            prop_assert_eq!(event.unreadable.is_some(), dead);
        }
    }
}

#[test]
fn ids_that_are_none_leave_the_event_its_own_id_or_a_hash() {
    for id in ["null", "\"\"", "true", "[]", "{}", "\"false_1@c.us_\""] {
        let payload = format!(r#"{{"id":{id}}}"#);
        let found = event(&body("message", "evt_1", &payload));
        assert_eq!(found.key.as_str(), "event:s:evt_1", "{id}");
        let found = event(&body("message", "", &payload));
        assert!(found.weak_key && found.unreadable.is_none(), "{id}");
        assert_eq!(found.kind.as_str(), "message.text");
    }
    let found = event(&body("message", "e", r#"{"id":123456789012345678901234567890}"#));
    assert_eq!(found.key.as_str(), "message:s:123456789012345678901234567890");
}

#[test]
fn of_repeated_and_escaped_members_the_last_counts() {
    let payload = r#"{"id":"false_1@c.us_A","\u0069d":"false_1@c.us_B"}"#;
    let sent = body("message", "e", payload).replacen(
        "\"event\":",
        "\"event\":\"call.x\",\"ev\\u0065nt\":",
        1,
    );
    assert_eq!(event(&sent).key.as_str(), "message:s:B");
}

#[test]
fn wrong_types_make_no_request_fail() {
    for wrong in ["null", "true", "7", "\"x\"", "[]", "{}", "[[]]"] {
        for name in ["event", "session", "id", "timestamp", "payload"] {
            let good =
                r#"{"event":"message","session":"s","id":"e","timestamp":1,"payload":{"id":"A"}}"#;
            let at = good.find(&format!("\"{name}\":")).unwrap();
            let sent = format!("{},\"{name}\":{wrong}}}", &good[..good.len() - 1]);
            assert!(at > 0 && !events(sent.as_bytes()).is_empty(), "{sent}");
        }
        for name in [
            "id",
            "fromMe",
            "from",
            "to",
            "ack",
            "ackName",
            "participant",
            "reaction",
            "media",
            "_data",
            "location",
            "after",
            "status",
        ] {
            for event_name in [
                "message",
                "message.ack",
                "message.reaction",
                "message.revoked",
                "session.status",
                "call.accepted",
            ] {
                let sent =
                    body(event_name, "e", &format!(r#"{{"hasMedia":true,"{name}":{wrong}}}"#));
                assert_eq!(event(&sent).unreadable, None, "{sent}");
            }
        }
    }
}

#[test]
fn a_request_has_limits() {
    let many = |n| body("message", "e", &format!("[{}]", vec![r#"{"id":"1"}"#; n].join(",")));
    assert_eq!(events(many(20_000).as_bytes()).len(), 20_000);
    assert_eq!(event(&many(20_001)).unreadable, Some("more than 20000 elements"));
    let deep = body("message", "e", &format!("{}{}", "[".repeat(200), "]".repeat(200)));
    assert_eq!(event(&deep).unreadable, Some("nested deeper than 128 levels"));
}

#[test]
fn times_are_seconds_or_milliseconds_or_those_of_the_envelope() {
    for (time, right) in [
        ("1760000000", "2025-10-09T08:53:20Z"),
        ("1760000000123", "2025-10-09T08:53:20.123Z"),
        ("\"1760000000\"", "2025-10-09T08:53:20Z"),
        ("1710481111.853", "2025-10-09T09:00:00Z"),
        ("null", "2025-10-09T09:00:00Z"),
    ] {
        let sent = format!(
            r#"{{"event":"message","timestamp":1760000400000,"payload":{{"id":"A","timestamp":{time}}}}}"#
        );
        assert_eq!(event(&sent).sent_at.unwrap().to_string(), right, "{time}");
    }
}

#[test]
fn what_is_known_by_an_id_and_has_none_is_dead_beside_its_siblings() {
    for (name, good, broken, reason) in [
        ("message.ack", r#"{"id":"N","ack":3}"#, r#"{"ack":3}"#, "element has no id"),
        ("message.ack", r#"{"id":"N","ack":3}"#, r#"{"id":"A"}"#, "element has no status"),
        (
            "message.reaction",
            r#"{"id":"N","reaction":{"text":"x"}}"#,
            r#"{"reaction":{"text":"x"}}"#,
            "element has no id",
        ),
        (
            "message.revoked",
            r#"{"revokedMessageId":"N"}"#,
            r#"{"revokedMessageId":" "}"#,
            "element has no id",
        ),
        ("call.received", r#"{"id":"N"}"#, "{}", "element has no id"),
    ] {
        let mut items: Vec<_> = (0..20).map(|n| good.replace('N', &n.to_string())).collect();
        items[7] = broken.to_owned();
        items[11] = "7".to_owned();
        let found = events(body(name, "evt_1", &format!("[{}]", items.join(","))).as_bytes());
        check_twenty(&found, [(7, reason), (11, "payload is not an object")], name);
    }
}
