//! WAHA's scheme: what is signed, and which event a request is.

#![allow(clippy::unwrap_used, reason = "a test stops where its own input is wrong")]

mod hostile;

use hookonce::event::{Lane, NewEvent};
use hookonce::scheme::waha::Waha;
use hookonce::scheme::{Proof, Scheme, Secret, Unproven};

use crate::bed::scheme::{self, request};

/// The events of a request, whoever sent it.
fn events(body: &[u8]) -> Vec<NewEvent> {
    scheme::events(&Waha::new(Proof::Unverified), body)
}

/// The one event of a request.
fn event(body: &str) -> NewEvent {
    let mut events = events(body.as_bytes());
    assert_eq!(events.len(), 1);
    events.remove(0)
}

/// A request with this event, id of the event and payload.
fn body(event: &str, id: &str, payload: &str) -> String {
    format!(r#"{{"id":"{id}","event":"{event}","session":"s","payload":{payload}}}"#)
}

#[test]
fn each_vector_gives_its_events() {
    assert_eq!(scheme::check_vectors("waha", &Waha::new(Proof::Unverified)), 28);
}

#[test]
fn an_id_in_parts_says_whose_the_message_is_and_in_which_chat() {
    for remote in [r#""1@c.us""#, r#"{"server":"c.us","_serialized":"1@c.us"}"#] {
        let of = |own: bool| {
            let id = format!(r#"{{"id":"A","fromMe":{own},"remote":{remote}}}"#);
            let payload = format!(r#"{{"id":{id},"body":"x","from":"9@c.us","to":"9@c.us"}}"#);
            let event = event(&body("message.any", "evt_1", &payload));
            let lane = event.lane.map(|lane| lane.as_str().to_owned()).unwrap_or_default();
            (event.key.as_str().to_owned(), event.kind.as_str().to_owned(), lane)
        };
        assert_eq!(of(true), ("echo:s:A".into(), "echo.text".into(), "s:1".into()));
        assert_eq!(of(false), ("message:s:A".into(), "message.text".into(), "s:1".into()));
    }
    let told = r#"{"id":{"id":"A","fromMe":true,"remote":"1@c.us"},"fromMe":false,"body":"x"}"#;
    assert_eq!(event(&body("message", "evt_1", told)).kind.as_str(), "message.text");
}

#[test]
fn what_encryption_needs_and_what_connects_a_device_is_in_no_event() {
    for payload in [
        r#"{"id":"A","_data":{"message":{"protocolMessage":{"appStateSyncKeyShare":{"keys":["SECRET"]},"historySyncNotification":{"mediaKey":"SECRET"}}}}}"#,
        r#"{"event":"connection.update","data":{"qr":"SECRET"}}"#,
    ] {
        let body = body("engine.event", "evt_1", payload);
        for end in 0..=body.len() {
            for event in events(&body.as_bytes()[..end]) {
                assert!(!event.payload.contains("SECRET"), "{}", event.payload);
            }
        }
    }
}

const BODY: &str = r#"{"event":"message","session":"default","engine":"WEBJS"}"#;
const SIGNED: &str = "208f8a55dde9e05519e898b10b89bf0d0b3b0fdf11fdbf09b6b90476301b98d8097c462b2b17a6ce93b6b47a136cf2e78a33a63f6752c2c1631777076153fa89";

fn signed_by(secrets: &[&str]) -> Waha {
    let secrets = secrets.iter().map(|secret| Secret::new(secret).unwrap()).collect();
    Waha::new(Proof::Secrets(secrets))
}

fn verify(waha: &Waha, body: &str, headers: &[(&str, &[u8])]) -> Result<Option<usize>, Unproven> {
    waha.verify(request(body.as_bytes(), headers)).map(|verified| verified.secret)
}

#[test]
fn the_signature_is_over_the_bytes_received() {
    let waha = signed_by(&["my-secret-key"]);
    let hmac = ("X-Webhook-Hmac", SIGNED.as_bytes());
    let algorithm = ("X-Webhook-Hmac-Algorithm", &b"sha512"[..]);
    assert_eq!(verify(&waha, BODY, &[hmac]), Ok(Some(0)));
    assert_eq!(verify(&waha, BODY, &[hmac, algorithm]), Ok(Some(0)));
    let upper = SIGNED.to_uppercase();
    assert_eq!(verify(&waha, BODY, &[("x-webhook-hmac", upper.as_bytes())]), Ok(Some(0)));
    assert_eq!(verify(&waha, &format!("{BODY} "), &[hmac]), Err(Unproven::Wrong));
    assert_eq!(verify(&signed_by(&["other"]), BODY, &[hmac]), Err(Unproven::Wrong));
    assert_eq!(verify(&signed_by(&["new", "my-secret-key"]), BODY, &[hmac]), Ok(Some(1)));
    let headers = waha.sign(&scheme::unsigned(BODY)).headers;
    assert!(headers.contains(&("X-Webhook-Hmac".into(), SIGNED.into())));
}

#[test]
fn a_signature_of_another_form_proves_nothing() {
    let waha = signed_by(&["my-secret-key"]);
    let short = &SIGNED[2..];
    for malformed in [
        String::new(),
        short.to_owned(),
        format!("{SIGNED}00"),
        format!("sha512={SIGNED}"),
        format!("{short}zz"),
        format!("{short}é"),
        SIGNED[..64].to_owned(),
    ] {
        let said = verify(&waha, BODY, &[("X-Webhook-Hmac", malformed.as_bytes())]);
        assert_eq!(said, Err(Unproven::Malformed), "{malformed}");
    }
    let hmac = ("X-Webhook-Hmac", SIGNED.as_bytes());
    let algorithm = |word: &'static [u8]| ("X-Webhook-Hmac-Algorithm", word);
    assert_eq!(verify(&waha, BODY, &[hmac, hmac]), Err(Unproven::Malformed));
    for words in [&[algorithm(b"sha256")][..], &[algorithm(b"sha512"), algorithm(b"sha512")]] {
        let headers = [&[hmac], words].concat();
        assert_eq!(verify(&waha, BODY, &headers), Err(Unproven::Malformed));
    }
    assert_eq!(verify(&waha, BODY, &[algorithm(b"sha512")]), Err(Unproven::Missing));
}

#[test]
fn one_message_is_one_event_under_every_name_and_address() {
    let of = |name: &str, id: &str, from: &str| {
        let payload = format!(r#"{{"id":"{id}","from":"{from}","fromMe":false,"body":"hi"}}"#);
        event(&body(name, &format!("evt_{name}{from}"), &payload))
    };
    let first = of("message", "false_1@c.us_3EB0", "1@c.us");
    for other in [
        of("message.any", "false_1@c.us_3EB0", "1@c.us"),
        of("message_any", "false_1@s.whatsapp.net_3EB0", "1@s.whatsapp.net"),
        of("message", "false_9@lid_3EB0", "9@lid"),
        of("MESSAGE", "3EB0", "1@c.us"),
    ] {
        assert_eq!((other.id, other.digest), (first.id, first.digest));
        assert_eq!(other.kind.as_str(), "message.text");
    }
    assert_ne!(of("message", "false_1@c.us_3eb0", "1@c.us").id, first.id);
    let other = event(&body("message", "e", r#"{"id":"false_1@c.us_3EB0","body":"ho"}"#));
    assert_eq!(other.id, first.id);
    assert_ne!(other.digest, first.digest);
}

#[test]
fn who_sent_it_is_said_by_the_payload_else_by_the_id() {
    for (payload, key) in [
        (r#"{"id":"true_1@c.us_A"}"#, "echo:s:A"),
        (r#"{"id":"true_1@c.us_A","fromMe":false}"#, "message:s:A"),
        (r#"{"id":"false_1@c.us_A","fromMe":true}"#, "echo:s:A"),
        (r#"{"id":"A"}"#, "message:s:A"),
    ] {
        let event = event(&body("message.any", "e", payload));
        assert_eq!(event.key.as_str(), key, "{payload}");
        let echo = key.starts_with("echo");
        assert_eq!(event.kind.as_str().starts_with("echo."), echo);
        assert_eq!(event.priority as u8, u8::from(echo));
    }
}

#[test]
fn edits_and_reactions_that_share_an_id_are_different_events() {
    let edit = |id: &str, from: &str, text: &str| {
        let payload = format!(
            r#"{{"id":"false_{from}_E","from":"{from}","editedMessageId":"A","body":{text}}}"#
        );
        let event = event(&body("message.edited", id, &payload));
        (event.key.as_str().to_owned(), event.digest)
    };
    let right = edit("evt_1", "1@c.us", "\"x\"");
    assert!(right.0.starts_with("edit:s:A:"), "{}", right.0);
    assert_eq!(edit("evt_2", "9@lid", "\"x\""), right);
    assert_ne!(edit("evt_1", "1@c.us", "\"y\"").0, right.0);
    assert_eq!(edit("evt_1", "1@c.us", "null").0, "event:s:evt_1");
    let react = |text: &str| {
        let payload = format!(r#"{{"id":"false_1@c.us_R","reaction":{{"text":"{text}"}}}}"#);
        event(&body("message.reaction", "evt_1", &payload))
    };
    assert_ne!(react("👍").key, react("").key);
    // One that is told again, under an event of its own, is the same.
    assert_eq!(react("👍").key.as_str(), "reaction:s:R:👍");
}

#[test]
fn a_status_is_one_event_by_its_number_and_by_its_name() {
    let of = |members: &str| {
        let found = event(&body("message.ack", "e", &format!(r#"{{"id":"A",{members}}}"#)));
        (found.key.as_str().to_owned(), found.kind.as_str().to_owned())
    };
    let right = ("status:s:A:2".to_owned(), "status.device".to_owned());
    for members in [r#""ack":2"#, r#""ackName":"DEVICE""#, r#""ack":2,"ackName":"DEVICE""#] {
        assert_eq!(of(members), right);
    }
}

#[test]
fn a_conversation_is_that_with_the_person_whoever_wrote() {
    let lane = |payload: &str| {
        event(&body("message.any", "e", payload)).lane.as_ref().map(Lane::as_str).map(str::to_owned)
    };
    for payload in [
        r#"{"id":"false_1@c.us_A","from":"1@c.us"}"#,
        r#"{"id":"true_1@c.us_A","from":"2@c.us","to":"1@c.us"}"#,
        r#"{"id":"true_1@s.whatsapp.net_A","from":"1@c.us"}"#,
        r#"{"id":"true_9@lid_A","from":"2@c.us","to":"1@c.us"}"#,
        r#"{"id":"A","from":"1:4@c.us"}"#,
        r#"{"id":"A","fromMe":true,"to":"1@c.us","from":"2@c.us"}"#,
    ] {
        assert_eq!(lane(payload).as_deref(), Some("s:1"), "{payload}");
    }
    assert_eq!(lane(r#"{"id":"false_5@g.us_A_1@c.us"}"#).as_deref(), Some("s:5@g.us"));
    assert_eq!(lane(r#"{"id":"A"}"#), None);
}
