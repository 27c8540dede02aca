//! What a message says, however it is wrapped and under whichever name it is announced: edits,
//! placeholders and reactions never pass for the message, and each is one event.

use crate::bed::scheme::check_twenty;

use super::{events, one, same};

const KEY: &str = r#""remoteJid":"15550001111@s.whatsapp.net","fromMe":false"#;

fn upsert(id: &str, rest: &str) -> String {
    format!(r#"{{"event":"messages.upsert","data":{{"key":{{"id":"{id}",{KEY}}}{rest}}}}}"#)
}

fn update(id: &str, update: &str) -> String {
    format!(
        r#"{{"event":"messages.update","data":[{{"key":{{"id":"{id}",{KEY}}},"update":{update}}}]}}"#
    )
}

#[test]
fn an_edit_as_a_message_and_as_an_update_is_one_event_of_the_message_that_was_changed() {
    let new = r#"{"conversation":"v2"}"#;
    let protocol =
        format!(r#"{{"protocolMessage":{{"key":{{"id":"A"}},"type":14,"editedMessage":{new}}}}}"#);
    let right = same(&upsert("E1", &format!(r#","message":{protocol}"#)));
    assert!(right.0.starts_with("update:A:") && right.1 == "update.edit", "{}", right.0);
    for other in [
        update("A", &format!(r#"{{"message":{{"editedMessage":{{"message":{new}}}}}}}"#)),
        update("A", &format!(r#"{{"message":{{"editedMessage":{new}}}}}"#)),
        update("A", &format!(r#"{{"message":{new},"status":null}}"#)),
        upsert("A", &format!(r#","message":{{"editedMessage":{{"message":{new}}}}}"#)),
        upsert("E2", &format!(r#","message":{{"ephemeralMessage":{{"message":{protocol}}}}}"#)),
        upsert("E3", &format!(r#","message":{{"editedMessage":{{"message":{protocol}}}}}"#)),
    ] {
        assert_eq!(same(&other), right, "{other}");
    }
}

#[test]
fn what_says_nothing_is_a_placeholder_and_hides_no_message() {
    for (rest, key) in [
        (r#","messageStubType":2"#, "stub:A:2"),
        (r#","messageStubType":2,"message":{}"#, "stub:A:2"),
        (r#","message":{}"#, "stub:A:"),
        (r#","message":{},"messageType":"conversation""#, "stub:A:"),
        (r#","message":{"messageContextInfo":{}},"type":"text""#, "stub:A:"),
        (r#","message":null"#, "stub:A:"),
        (r#","message":{"messageContextInfo":{}}"#, "stub:A:"),
        ("", "stub:A:"),
    ] {
        let found = one(&upsert("A", rest));
        assert_eq!((found.key.as_str(), found.unreadable), (key, None), "{rest}");
        assert!(found.kind.as_str().starts_with("stub."));
    }
    assert_eq!(one(&upsert("A", r#","messageBody":"hi""#)).key.as_str(), "message:A");
    assert_eq!(one(&upsert("A", r#","messageType":"imageMessage""#)).key.as_str(), "message:A");
}

#[test]
fn a_message_that_was_taken_back_is_deleted_and_not_edited() {
    let delete = r#"{"event":"messages.delete","data":{"keys":[{"id":"A"}]}}"#;
    let right = same(delete);
    assert_eq!((&*right.0, &*right.1), ("delete:A", "delete"));
    for sort in ["0", "\"REVOKE\"", "\"revoke\""] {
        let named = format!(r#"{{"protocolMessage":{{"key":{{"id":"A"}},"type":{sort}}}}}"#);
        for other in [
            update("A", &format!(r#"{{"message":{{"protocolMessage":{{"type":{sort}}}}}}}"#)),
            update("E", &format!(r#"{{"message":{named}}}"#)),
            update("E", &format!(r#"{{"message":{{"ephemeralMessage":{{"message":{named}}}}}}}"#)),
        ] {
            assert_eq!(same(&other), right, "{other}");
        }
    }
    let told = same(&update("A", r#"{"message":{"protocolMessage":{"type":3}}}"#));
    assert!(told.0.starts_with("update:A:") && told.1 == "update.other", "{}", told.1);
    let read =
        update("B", r#"{"status":4,"message":{"protocolMessage":{"key":{"id":"A"},"type":0}}}"#);
    assert_eq!(same(&read).0, "status:B:read");
}

#[test]
fn a_text_in_a_chat_of_disappearing_messages_is_a_text() {
    for (name, inner, kind) in [
        ("ephemeralMessage", r#"{"conversation":"x"}"#, "message.text"),
        ("viewOnceMessageV2", r#"{"imageMessage":{}}"#, "message.image"),
        ("documentWithCaptionMessage", r#"{"documentMessage":{}}"#, "message.document"),
    ] {
        let found = one(&upsert("A", &format!(r#","message":{{"{name}":{{"message":{inner}}}}}"#)));
        assert_eq!((found.key.as_str(), found.kind.as_str()), ("message:A", kind));
    }
}

#[test]
fn a_reaction_is_one_event_as_a_message_and_as_a_reaction() {
    let upsert = upsert(
        "R1",
        r#","message":{"reactionMessage":{"key":{"id":"A","fromMe":true},"text":"👍","senderTimestampMs":1760000002000}}"#,
    );
    let reaction = format!(
        r#"{{"event":"messages.reaction","data":[{{"key":{{"id":"A","fromMe":true,"remoteJid":"15550001111@s.whatsapp.net"}},"reaction":{{"text":"👍","senderTimestampMs":1760000002000,"key":{{"id":"R1",{KEY}}}}}}}]}}"#
    );
    assert_eq!(same(&upsert), same(&reaction));
    assert_eq!((same(&upsert).0, same(&upsert).1), ("reaction:A:R1:👍".into(), "reaction".into()));
    assert_eq!(one(&upsert).sent_at, one(&reaction).sent_at);
    assert_eq!(one(&upsert).lane, one(&reaction).lane);
    let own = upsert.replace("\"fromMe\":false", "\"fromMe\":\"True\"");
    assert_eq!(one(&own).kind.as_str(), "echo.reaction");
}

#[test]
fn in_a_chat_of_two_the_participant_is_no_part_of_a_status_or_receipt() {
    for (event, rest) in [
        ("messages.update", r#""update":{"status":4}"#),
        ("message-receipt.update", r#""receipt":{"readTimestamp":1760000001}"#),
    ] {
        let of = |chat: &str, who: &str| {
            same(&format!(
                r#"{{"event":"{event}","data":{{"key":{{"id":"A","remoteJid":"{chat}"{who}}},{rest}}}}}"#
            ))
            .0
        };
        let who = r#","participant":"15550001111@s.whatsapp.net""#;
        let chat = "15550001111@s.whatsapp.net";
        assert_eq!(of(chat, who), of(chat, ""));
        assert_ne!(of("1203@g.us", who), of("1203@g.us", ""));
    }
}

#[test]
fn each_of_a_list_is_an_event_whatever_the_list_is_called() {
    let keys = |body: &str| -> Vec<String> {
        events(body.as_bytes()).iter().map(|event| event.key.as_str().to_owned()).collect()
    };
    let sent = r#"{"event":"message.sent","data":{"messages":[{"key":{"id":"A"}},{"id":"B"}]}}"#;
    assert_eq!(keys(sent), ["sent:A", "sent:B"]);
    let gone = r#"{"event":"messages.delete","data":{"keys":["A",{"id":"B"}]}}"#;
    assert_eq!(keys(gone), ["delete:A", "delete:B"]);
}

#[test]
fn what_is_known_by_an_id_and_has_none_is_dead_beside_its_siblings() {
    for (event, good, broken, reason) in [
        (
            "messages.update",
            r#"{"key":{"id":"N"},"update":{"status":4}}"#,
            r#"{"update":{"status":4}}"#,
            "element has no id",
        ),
        (
            "message-receipt.update",
            r#"{"key":{"id":"N"},"receipt":{"type":"read"}}"#,
            r#"{"receipt":{"type":"read"}}"#,
            "element has no id",
        ),
        (
            "message-receipt.update",
            r#"{"key":{"id":"N"},"receipt":{"type":"read"}}"#,
            r#"{"key":{"id":"A"},"receipt":{"userJid":"1"}}"#,
            "element has no status",
        ),
        (
            "messages.reaction",
            r#"{"key":{"id":"N"},"reaction":{"text":"x","key":{"id":"R"}}}"#,
            r#"{"reaction":{"text":"x","key":{"id":"R"}}}"#,
            "element has no id",
        ),
        ("messages.delete", r#"{"id":"N"}"#, r#"{"id":" "}"#, "element has no id"),
        (
            "poll.results",
            r#"{"key":{"id":"N"},"pollResult":1}"#,
            r#"{"pollResult":1}"#,
            "element has no id",
        ),
        ("call", r#"{"id":"N","status":"offer"}"#, r#"{"status":"offer"}"#, "element has no id"),
        ("call", r#"{"id":"N","status":"offer"}"#, r#"{"id":"N"}"#, "element has no status"),
        (
            "messages.upsert",
            r#"{"key":{"id":"N"},"message":{"conversation":"x"}}"#,
            r#"{"key":7,"message":{"conversation":"x"}}"#,
            "key is not an object",
        ),
    ] {
        let mut items: Vec<_> = (0..20).map(|n| good.replace('N', &n.to_string())).collect();
        items[7] = broken.to_owned();
        items[11] = "true".to_owned();
        let found =
            events(format!(r#"{{"event":"{event}","data":[{}]}}"#, items.join(",")).as_bytes());
        check_twenty(&found, [(7, reason), (11, "element is not an object")], event);
    }
    let blank = events(br#"{"event":"messages.delete","data":{"keys":[""," ","A"]}}"#);
    let dead: Vec<_> = blank.iter().map(|event| event.unreadable.is_some()).collect();
    assert_eq!(dead, [true, true, false]);
}
