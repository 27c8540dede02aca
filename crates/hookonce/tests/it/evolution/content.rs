//! What a message says, however it is wrapped and under whichever name it is announced: placeholders
//! never pass for the message, and each event has one key.

use crate::bed::scheme::check_twenty;

use super::{body, event, events};

fn key(id: &str) -> String {
    format!(r#""key":{{"id":"{id}","fromMe":false,"remoteJid":"15550001111@s.whatsapp.net"}}"#)
}

fn same(name: &str, data: &str) -> (String, String, [u8; 32]) {
    let event = event(&body(name, data));
    assert_eq!(event.unreadable, None, "{data}");
    (event.key.as_str().to_owned(), event.kind.as_str().to_owned(), event.digest)
}

#[test]
fn what_says_nothing_is_a_placeholder_and_hides_no_message() {
    for (rest, right) in [
        (r#","messageStubType":2"#, "stub:i:A:2"),
        (r#","messageStubType":2,"messageType":"unknown""#, "stub:i:A:2"),
        (r#","message":{}"#, "stub:i:A:"),
        (r#","message":{},"messageType":"conversation""#, "stub:i:A:"),
        (r#","message":{"messageContextInfo":{}},"messageType":"conversation""#, "stub:i:A:"),
        (r#","message":null,"messageType":"unknown""#, "stub:i:A:"),
        ("", "stub:i:A:"),
    ] {
        assert_eq!(same("messages.upsert", &format!("{{{}{rest}}}", key("A"))).0, right);
    }
    let real = format!(r#"{{{},"messageStubType":2,"message":{{"conversation":"x"}}}}"#, key("A"));
    assert_eq!(same("messages.upsert", &real).0, "message:i:A");
    for rest in [
        r#","message":{},"messageType":"conversation","body":"hi""#,
        r#","messageType":"conversation""#,
    ] {
        let told = same("messages.upsert", &format!("{{{}{rest}}}", key("A")));
        assert_eq!((&*told.0, &*told.1), ("message:i:A", "message.text"), "{rest}");
    }
}

#[test]
fn what_the_business_did_is_an_echo_however_it_says_yes() {
    for yes in ["1", "\"1\"", "true", "\"True\"", "\"TRUE\""] {
        let data = format!(
            r#"{{"key":{{"id":"A","fromMe":{yes}}},"message":{{"ephemeralMessage":{{"message":{{"conversation":"x"}}}}}}}}"#
        );
        let found = same("messages.upsert", &data);
        assert_eq!((&*found.0, &*found.1), ("echo:i:A", "echo.text"), "{yes}");
    }
}

#[test]
fn a_status_is_one_event_as_a_number_and_as_a_word() {
    for told in ["3", "\"3\"", "\"DELIVERY_ACK\"", "\"delivered\""] {
        let found = same("messages.update", &format!(r#"{{"keyId":"A","status":{told}}}"#));
        assert_eq!((&*found.0, &*found.1), ("status:i:A:delivered", "status.delivered"));
    }
}

#[test]
fn the_webhooks_of_an_instance_and_of_all_give_one_event() {
    for data in [r#"{"remoteJid":"1@s.whatsapp.net"}"#, r#"[{"a":1},{"a":2}]"#, "null"] {
        let of = |to: &str| {
            let body = body("contacts.update", data).replacen(
                '{',
                &format!(r#"{{"destination":{to},"#),
                1,
            );
            let found = events(body.as_bytes());
            found.iter().map(|event| (event.key.clone(), event.digest)).collect::<Vec<_>>()
        };
        assert_eq!(of("\"https://a.test\""), of("\"https://b.test/longer\""), "{data}");
    }
    let of = |n: u8| {
        let data = format!(r#"{{"destination":"{n}"}}"#);
        event(&body("contacts.update", &data)).key
    };
    assert_ne!(of(1), of(2), "only the envelope's is left out");
}

#[test]
fn each_of_a_list_is_an_event_whatever_the_list_is_called() {
    let keys = |name: &str, data: &str| -> Vec<String> {
        let found = events(body(name, data).as_bytes());
        found.iter().map(|event| event.key.as_str().to_owned()).collect()
    };
    let two = format!(
        r#"{{"messages":[{{{},"message":{{"conversation":"a"}}}},{{{},"message":{{"conversation":"b"}}}}],"type":"notify"}}"#,
        key("A"),
        key("B")
    );
    assert_eq!(keys("messages.upsert", &two), ["message:i:A", "message:i:B"]);
    assert_eq!(keys("send.message", &two), ["sent:i:A", "sent:i:B"]);
    let gone = r#"{"keys":["A",{"id":"B"},{"key":{"id":"C"}}]}"#;
    assert_eq!(keys("messages.delete", gone), ["delete:i:A", "delete:i:B", "delete:i:C"]);
    assert_eq!(keys("messages.delete", r#"["A"]"#), ["delete:i:A"]);
    let both = r#"{"keys":["A",{"id":"B"}],"messages":[{"key":{"id":"C"}}]}"#;
    assert_eq!(keys("messages.delete", both), ["delete:i:C", "delete:i:A", "delete:i:B"]);
    for found in events(body("messages.delete", both).as_bytes()) {
        let again = events(found.payload.as_bytes());
        assert!(again.len() == 1 && again[0].id == found.id, "{}", found.payload);
    }
}

#[test]
fn data_without_anything_in_it_is_none() {
    for name in ["messages.upsert", "messages.edited", "messages.delete", "send.message"] {
        for data in ["{}", "{ }", "[]", "null"] {
            assert_eq!(event(&body(name, data)).kind.as_str(), "unknown.request", "{name} {data}");
        }
    }
    assert_eq!(event(&body("connection.update", "{}")).kind.as_str(), "session.unknown");
}

#[test]
fn what_is_known_by_an_id_and_has_none_is_dead_beside_its_siblings() {
    for (name, good, broken, reason) in [
        (
            "messages.update",
            r#"{"keyId":"N","status":"READ"}"#,
            r#"{"status":"READ"}"#,
            "element has no id",
        ),
        (
            "messages.edited",
            r#"{"keyId":"N","editedMessage":{}}"#,
            r#"{"editedMessage":{}}"#,
            "element has no id",
        ),
        ("messages.delete", r#"{"id":"N"}"#, r#"{"id":" "}"#, "element has no id"),
        ("call", r#"{"id":"N","status":"offer"}"#, r#"{"status":"offer"}"#, "element has no id"),
        ("call", r#"{"id":"N","status":"offer"}"#, r#"{"id":"A"}"#, "element has no status"),
        (
            "messages.upsert",
            r#"{"key":{"id":"N"},"message":{"conversation":"x"}}"#,
            r#"{"key":"A","message":{"conversation":"x"}}"#,
            "key is not an object",
        ),
    ] {
        let mut items: Vec<_> = (0..20).map(|n| good.replace('N', &n.to_string())).collect();
        items[7] = broken.to_owned();
        items[11] = "true".to_owned();
        let found = events(body(name, &format!("[{}]", items.join(","))).as_bytes());
        check_twenty(&found, [(7, reason), (11, "element is not an object")], name);
    }
}

#[test]
fn keys_and_codes_are_in_no_event_wherever_they_stand() {
    for sent in [
        r#"{"event":"messages.upsert","token":"SECRET","data":{"key":{"id":"A"},"qr":"SECRET","pairingCode":["SECRET"],"qrcode":{"a":"SECRET"}}}"#,
        r#"{"event":"connection.update","data":{"state":"open","code":"SECRET","base64":"SECRET"}}"#,
        r#"{"event":{"name":"qrcode.updated"},"data":{"base64":"SECRET","code":"SECRET"}}"#,
        r#"{"event":["qrcode.updated"],"data":{"base64":"SECRET"}}"#,
        r#"{"type":"qrcode.updated","data":{"base64":"SECRET"}}"#,
        r#"{"event":"x.y","data":"{\"apikey\":\"SECRET\"}"}"#,
        r#"{"event":"x.y","data":"{\"a\":\"{\\\"instance_token\\\": \\\"SECRET\\\"}\"}"}"#,
    ] {
        for event in events(sent.as_bytes()) {
            assert!(!event.payload.contains("SECRET"), "{}", event.payload);
        }
    }
    let kept = r#"{"event":"messages.upsert","data":{"key":{"id":"A"},"message":{"base64":"x","code":"y","token":"z"}}}"#;
    assert_eq!(events(kept.as_bytes())[0].payload, kept);
}
