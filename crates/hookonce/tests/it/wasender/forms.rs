//! One event in many forms: names, spellings, arrays or objects, ids in other places.

use super::{events, one, same};

fn key(body: &str) -> String {
    same(body).0
}

#[test]
fn a_message_is_one_event_under_all_its_names_and_forms() {
    let element = r#"{"key":{"id":"A","fromMe":false,"remoteJid":"15550001111@s.whatsapp.net"},"message":{"conversation":"hola"}}"#;
    let other = r#"{"key":{"remoteJid":"900001@lid","cleanedSenderPn":"15550001111","id":"A"},"messageBody":"hola","message":{"conversation":"hola"}}"#;
    let right = same(&format!(r#"{{"event":"messages.upsert","data":{element}}}"#));
    assert_eq!((&*right.0, &*right.1), ("message:A", "message.text"));
    for name in [
        "messages.upsert",
        "messages.received",
        "messages-personal.received",
        "messages-group.received",
        "messages-newsletter.received",
        "message.received",
        "messages_received",
        "MESSAGES_UPSERT",
        "MessagesPersonalReceived",
        "messages_personal_received",
        "message-upsert",
        r"messages\u002eupsert",
    ] {
        for element in [element, other] {
            for data in [
                element.to_owned(),
                format!("[{element}]"),
                format!(r#"{{"messages":{element}}}"#),
                format!(r#"{{"messages":[{element}],"type":"notify"}}"#),
                format!(r#"[{{"messages":[{element}]}}]"#),
                format!(r#"{{"message":{element}}}"#),
                format!(r#"{{"message":[{element}],"messages":[]}}"#),
            ] {
                let body = format!(r#"{{"data":{data},"event":"{name}","timestamp":1}}"#);
                assert_eq!(same(&body), right, "{body}");
                assert_eq!(one(&body).lane.unwrap().as_str(), "15550001111", "{body}");
            }
        }
    }
    let other = same(&format!(
        r#"{{"event":"messages.upsert","data":{}}}"#,
        element.replace("hola", "adios")
    ));
    assert!(other.0 == right.0 && other.2 != right.2, "changed content is a mismatch");
}

#[test]
fn both_forms_at_once_give_both_their_elements() {
    let body = r#"{"event":"messages.upsert","data":{"key":{"id":"A"},"message":{"conversation":"a"},"messages":[{"key":{"id":"A"},"message":{"conversation":"a"}},{"key":{"id":"B"},"message":{"conversation":"b"}}]}}"#;
    let found = events(body.as_bytes());
    let keys: Vec<_> = found.iter().map(|event| event.key.as_str()).collect();
    assert_eq!(keys, ["message:A", "message:B", "message:A"]);
    assert_eq!(found[0].digest, found[2].digest);
}

#[test]
fn what_the_account_itself_sent_is_an_echo_in_the_lane_of_whom_it_went_to() {
    for yes in ["true", "1", "\"true\"", "\"1\"", "\"True\"", "\"TRUE\""] {
        let event = one(&format!(
            r#"{{"event":"messages.upsert","data":{{"key":{{"id":"A","fromMe":{yes},"remoteJid":"900001@lid","senderPn":"15550002222","remoteJidAlt":"15550001111@s.whatsapp.net"}},"message":{{"conversation":"a"}}}}}}"#
        ));
        assert_eq!((event.key.as_str(), event.kind.as_str()), ("echo:A", "echo.text"));
        assert_eq!(event.lane.unwrap().as_str(), "15550001111");
    }
    for no in ["false", "0", "null", "\"false\"", "{}"] {
        let body = format!(
            r#"{{"event":"messages.upsert","data":{{"key":{{"id":"A","fromMe":{no}}},"messageBody":"a"}}}}"#
        );
        assert_eq!(one(&body).key.as_str(), "message:A");
    }
}

#[test]
fn an_id_of_any_other_form_is_none() {
    for id in ["null", "\"\"", "true", "[\"A\"]", "{\"id\":\"A\"}"] {
        let event = one(&format!(
            r#"{{"event":"messages.received","data":{{"key":{{"id":{id}}},"message":{{"conversation":"a"}}}}}}"#
        ));
        assert!(event.weak_key, "{id}");
        assert_eq!(event.kind.as_str(), "message.text");
    }
    let of = |members: &str| key(&format!(r#"{{"event":"messages.received",{members}}}"#));
    assert_eq!(
        of(r#""data":{"key":{"id":12345678901234567890},"messageBody":"a"}"#),
        "message:12345678901234567890"
    );
    assert_eq!(of(r#""data":{"id":"a:B%"}"#), "message:a%3AB%25");
    assert_eq!(of(r#""data":{"messageId":"A","x":1}"#), "message:A");
    assert_eq!(of(r#""id":"A","data":{"x":1}"#), "message:A");
    assert_eq!(of(r#""messageId":"A","data":{"messages":[{"x":1}]}"#), "message:A");
    // What has an id of its own is no list, whatever its members are called.
    let call = r#"{"event":"call","data":{"id":"C","status":"offer","call":"voice"}}"#;
    assert_eq!(key(call), "call:C:offer");
    // An id beside two elements is neither's.
    let two = events(br#"{"event":"messages.received","id":"A","data":[{"x":1},{"x":2}]}"#);
    assert!(two.len() == 2 && two.iter().all(|event| event.weak_key));
}

#[test]
fn the_flat_form_is_one_event_by_its_id_and_never_a_real_message() {
    let flat = |name: &str, id: &str, session: &str| {
        key(&format!(
            r#"{{"event":"{name}",{id},"from":"15550001111","text":{{"body":"a"}}{session}}}"#
        ))
    };
    let session = r#","session":"s1""#;
    let right = flat("message.received", r#""id":"msg_1""#, session);
    assert_eq!(right, "flat:s1:message:msg_1");
    assert_eq!(flat("messages_received", r#""messageId":"msg_1""#, session), right);
    assert_eq!(flat("MESSAGE.RECEIVED", r#""data":null,"id":"msg_1""#, session), right);
    assert_eq!(flat("message.received", r#""id":"msg_1","data":{}"#, session), right);
    assert_ne!(flat("message.received", r#""id":"msg_1""#, r#","session":"s2""#), right);
    assert_ne!(flat("message.received", r#""id":"msg_2""#, session), right);
    assert_eq!(flat("message.received", r#""id":"A""#, ""), "flat::message:A");
    assert_eq!(flat("message.received", r#""id":"A","fromMe":true"#, ""), "flat::echo:A");
    // Its `session` is a name; `sessionId` is a credential, and in no key.
    let rotated = flat("message.received", r#""id":"A""#, r#","sessionId":"k""#);
    assert_eq!(rotated, "flat::message:A");
    let status = r#"{"event":"messages.update","id":"A","status":"read"}"#;
    assert_eq!(key(status), "status:A:read");
    assert!(one(r#"{"event":"message.received","text":"a"}"#).weak_key);
}

#[test]
fn a_new_session_key_changes_no_identity() {
    for body in [
        r#"{"event":"contacts.upsert","sessionId":"K","data":[{"id":"1"}]}"#,
        r#"{"event":"session.status","sessionId":"K","data":{"status":"connected"}}"#,
        r#"{"event":"message.sent","sessionId":"K","data":{"success":false}}"#,
        r#"{"sessionId":"K","#,
    ] {
        assert_eq!(one(body).key, one(&body.replace('K', "another key")).key, "{body}");
    }
}

#[test]
fn a_status_is_one_event_as_a_number_and_as_a_word() {
    let status = |status: &str| {
        key(&format!(
            r#"{{"event":"messages.update","data":[{{"key":{{"id":"A"}},"update":{{"status":{status}}}}}]}}"#
        ))
    };
    for (number, words) in [
        ("0", ["\"error\"", "\"ERROR\""]),
        ("1", ["\"pending\"", "\"Pending\""]),
        ("2", ["\"sent\"", "\"SERVER_ACK\""]),
        ("3", ["\"delivered\"", "\"DELIVERY_ACK\""]),
        ("4", ["\"read\"", "\"READ\""]),
        ("5", ["\"played\"", "\"5\""]),
    ] {
        assert_eq!([status(words[0]), status(words[1])], [status(number), status(number)]);
    }
    assert_eq!(status("-1"), "status:A:-1");
    assert_ne!(status("null"), status("{}"));
    // In another place of the same request.
    let found =
        events(br#"{"event":"messages.update","data":{"updates":{"key":{"id":"A"},"status":4}}}"#);
    assert_eq!((found[0].key.as_str(), &*found[0].element), ("status:A:read", "/data/updates"));
}

#[test]
fn an_edit_is_one_event_by_its_text_under_either_name() {
    let update = |text: &str| {
        same(&format!(
            r#"{{"event":"messages.update","data":[{{"key":{{"id":"A"}},"update":{{"message":{{"editedMessage":{{"conversation":"{text}"}}}}}}}}]}}"#
        ))
    };
    let upsert = |text: &str| {
        same(&format!(
            r#"{{"event":"messages.upsert","data":{{"key":{{"id":"A"}},"message":{{"editedMessage":{{"message":{{"protocolMessage":{{"editedMessage":{{"conversation":"{text}"}}}}}}}}}}}}}}"#
        ))
    };
    assert_eq!(update("v2"), upsert("v2"));
    assert_ne!(update("v2").0, update("v3").0);
    assert_eq!(update("v2").1, "update.edit");
}

#[test]
fn a_failure_without_id_or_time_may_come_again() {
    use crate::bed::scheme::{events_of, now, request};
    use hookonce::scheme::{Proof, wasender::Wasender};
    let keys = |body: &str| {
        [0, 20, 60].map(|seconds| {
            let mut request = request(body.as_bytes(), &[]);
            request.received_at = now() + jiff::SignedDuration::from_secs(seconds);
            events_of(&Wasender::new(Proof::Unverified), request).remove(0).key
        })
    };
    for body in [
        r#"{"event":"message.sent","data":{"success":false,"error":"e"}}"#,
        r#"{"event":"session.status","data":{"status":"connected"}}"#,
        r#"{"event":"qrcode.updated","data":{"qr":"x"}}"#,
    ] {
        let [first, soon, later] = keys(body);
        assert!(first == soon && first != later, "{body}");
        let [first, _, later] =
            keys(&body.replace("\"data\"", "\"timestamp\":1760000000,\"data\""));
        assert_eq!(first, later, "{body}");
    }
}

#[test]
fn a_receipt_is_one_event_of_a_person_whatever_the_device() {
    let receipt = |user: &str| {
        same(&format!(
            r#"{{"event":"message-receipt.update","data":{{"message":{{"key":{{"id":"A"}},"receipt":{{"userJid":"{user}","readTimestamp":1760000001}}}}}}}}"#
        ))
    };
    let right = receipt("15550001111@s.whatsapp.net");
    assert_eq!(right.0, "receipt:A:15550001111:read");
    for user in ["15550001111:12@s.whatsapp.net", "+15550001111", "15550001111@c.us"] {
        assert_eq!(receipt(user), right);
    }
    assert_ne!(receipt("900001@lid").0, right.0);
}
