//! Evolution API's scheme: what proves it, what is taken out, and which events are in a request.

#![allow(clippy::unwrap_used, reason = "a test stops where its own input is wrong")]

mod change;
mod content;
mod hostile;
mod proof;
mod secrets;

use hookonce::event::{Lane, NewEvent};
use hookonce::scheme::Proof;
use hookonce::scheme::evolution::{Evolution, EvolutionSignature};

use crate::bed::scheme;

fn open() -> Evolution {
    Evolution::new(Proof::Unverified, EvolutionSignature::Jwt)
}

/// The events of a request, whoever sent it.
fn events(body: &[u8]) -> Vec<NewEvent> {
    scheme::events(&open(), body)
}

/// The one event of a request.
fn event(body: &str) -> NewEvent {
    let mut events = events(body.as_bytes());
    assert_eq!(events.len(), 1, "{body}");
    events.remove(0)
}

/// The address of the account itself.
const ACCOUNT: &str = "15550009999@s.whatsapp.net";

/// A request of this event with this data.
fn body(event: &str, data: &str) -> String {
    format!(
        r#"{{"event":"{event}","instance":"i","data":{data},"sender":"{ACCOUNT}","apikey":"K"}}"#
    )
}

#[test]
fn each_vector_gives_its_events() {
    assert_eq!(scheme::check_vectors("evolution", &open()), 28);
}

#[test]
fn keys_and_codes_are_in_no_event() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/evolution");
    let mut planted = 0;
    for file in std::fs::read_dir(folder).unwrap() {
        let sent = std::fs::read(file.unwrap().path()).unwrap();
        planted += usize::from(sent.windows(7).any(|part| part == b"SECRET-"));
        for event in events(&sent) {
            let shown = format!("{event:?}");
            assert!(!shown.contains("SECRET-"), "{shown}");
            // It may be bytes.
            assert!(!shown.contains("U0VDUkVU") && !shown.contains("WZYEH1YY"), "{shown}");
        }
    }
    assert!(planted > 20);
}

#[test]
fn a_new_key_of_the_gateway_makes_no_event_another() {
    let of = |key: &str| {
        event(&body("contacts.update", r#"{"remoteJid":"1@s.whatsapp.net"}"#).replace("\"K\"", key))
    };
    let (one, other) = (of("\"K\""), of("\"another, longer\""));
    assert!(one.weak_key);
    assert_eq!((one.id, one.digest, one.payload), (other.id, other.digest, other.payload));
}

#[test]
fn one_message_is_one_event_under_every_name_and_address() {
    let of = |name: &str, key: &str, text: &str| {
        let data = format!(r#"{{"key":{{{key},"id":"A"}},"message":{{"conversation":"{text}"}}}}"#);
        event(&body(name, &data))
    };
    let phone = r#""remoteJid":"1@s.whatsapp.net","fromMe":false"#;
    let first = of("messages.upsert", phone, "hi");
    for other in [
        of("MESSAGES_UPSERT", phone, "hi"),
        of("messages-upsert", r#""remoteJid":"9@lid","remoteJidAlt":"1@s.whatsapp.net""#, "hi"),
        of("messages.upsert", r#""remoteJid":"9@lid","senderPn":"1@s.whatsapp.net""#, "hi"),
    ] {
        assert_eq!((other.id, other.digest), (first.id, first.digest));
        assert_eq!(other.lane, first.lane);
    }
    let hidden = of("messages.upsert", r#""remoteJid":"9@lid""#, "hi");
    assert_eq!(hidden.id, first.id);
    assert_eq!(hidden.lane.as_ref().map(Lane::as_str), Some("i:9@lid"));
    assert_ne!(of("messages.upsert", phone, "ho").digest, first.digest);
}

#[test]
fn votes_in_a_poll_are_different_events_though_their_status_is_one() {
    let vote = |n| {
        let data = format!(r#"{{"keyId":"A","status":"SERVER_ACK","pollUpdates":[{n}]}}"#);
        event(&body("messages.update", &data))
    };
    assert_eq!(vote(1).kind.as_str(), "update.poll");
    assert_ne!(vote(1).id, vote(2).id);
    let none = event(&body("messages.update", r#"{"keyId":"A","status":"READ","pollUpdates":[]}"#));
    assert_eq!(none.key.as_str(), "status:i:A:read");
}

#[test]
fn what_the_business_sends_is_no_message() {
    let own = r#"{"key":{"remoteJid":"1@s.whatsapp.net","fromMe":true,"id":"A"},"message":{"conversation":"x"}}"#;
    for (name, kind, key) in [
        ("messages.upsert", "echo.text", "echo:i:A"),
        ("send.message", "sent.accepted", "sent:i:A"),
        ("messages.set", "history.message", "history:i:A"),
    ] {
        let found = event(&body(name, own));
        assert_eq!((found.kind.as_str(), found.key.as_str()), (kind, key));
    }
}

#[test]
fn without_a_time_equal_events_are_told_apart_by_the_minute() {
    let untimed = body("connection.update", r#"{"state":"open"}"#);
    let timed = untimed.replacen('{', r#"{"date_time":"2026-01-01T00:00:00.000Z","#, 1);
    let at = |sent: &str, at: &str| {
        let mut asked = scheme::request(sent.as_bytes(), &[]);
        asked.received_at = at.parse().unwrap();
        scheme::events_of(&open(), asked).remove(0).id
    };
    let of = |sent: &str| ["2026-01-01T00:00:01Z", "2026-01-01T00:01:01Z"].map(|now| at(sent, now));
    let [one, other] = of(&untimed);
    assert_ne!(one, other);
    let [one, other] = of(&timed);
    assert_eq!(one, other);
}

#[test]
fn a_list_that_is_empty_hides_nothing() {
    let body = r#"{"event":"messages.upsert","instance":"i","data":[{"messages":[]},{"key":{"id":"A"},"message":{"conversation":"a"}},{"keys":[],"messages":[{"key":{"id":"B"},"message":{"conversation":"b"}}]}]}"#;
    let evolution = Evolution::new(Proof::Unverified, EvolutionSignature::Jwt);
    let events = crate::bed::scheme::events(&evolution, body.as_bytes());
    let elements: Vec<_> = events.iter().map(|event| &*event.element).collect();
    assert_eq!(elements, ["/data/0", "/data/0", "/data/0/messages/0"]);
    assert!(events[0].weak_key);
    assert_eq!(events[2].key.as_str(), "message:i:B");
}

#[test]
fn of_an_event_that_brings_a_code_nothing_is_kept_but_what_it_is() {
    let evolution = Evolution::new(Proof::Unverified, EvolutionSignature::Jwt);
    for name in ["qrcode.updated", "QRCODE_UPDATED", "qrcodeUpdated", "qr.code", "passkey.updated"]
    {
        for data in [
            r#""SECRET""#,
            r#"["SECRET"]"#,
            r#"{"x":{"y":"SECRET"}}"#,
            r#"{"qrcode":{"pairingCode":"SECRET","code":"SECRET","base64":"SECRET"}}"#,
            r#"{"x":"SECRET"#,
        ] {
            let end = if data.ends_with("SECRET") { "" } else { ",\"apikey\":\"SECRET\"}" };
            let body = format!(r#"{{"event":"{name}","instance":"i","data":{data}{end}"#);
            let events = crate::bed::scheme::events(&evolution, body.as_bytes());
            assert!(!format!("{events:?}").contains("SECRET"), "{body}");
            assert!(end.is_empty() || events[0].unreadable.is_none(), "{body}");
        }
    }
}
