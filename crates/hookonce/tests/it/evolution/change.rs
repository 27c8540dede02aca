//! What became of messages that were there already: each edit and each deletion is one event, and the
//! same under each of its names, whoever tells it.

use super::{ACCOUNT, body, event};

const CUSTOMER: &str = "15550001111@s.whatsapp.net";
const GROUP: &str = "1203@g.us";
const NEW: &str = r#"{"conversation":"new"}"#;

/// A message's key, as whoever has it knows it.
fn key(id: &str, chat: &str, is_own: bool) -> String {
    format!(r#""key":{{"id":"{id}","fromMe":{is_own},"remoteJid":"{chat}"}}"#)
}

/// What makes an event the same, and its lane.
fn same(name: &str, data: &str) -> (String, String, Option<String>, [u8; 32]) {
    let event = event(&body(name, data));
    assert_eq!(event.unreadable, None, "{data}");
    let lane = event.lane.map(|lane| lane.as_str().to_owned());
    (event.key.as_str().to_owned(), event.kind.as_str().to_owned(), lane, event.digest)
}

fn bare(key: &str) -> String {
    format!(r#"{{{key},"type":"MESSAGE_EDIT","editedMessage":{NEW},"timestampMs":7}}"#)
}

#[test]
fn an_edit_is_one_event_under_all_three_names() {
    let (a1, e1) = (key("A1", CUSTOMER, false), key("E1", CUSTOMER, false));
    let protocol =
        format!(r#"{{"protocolMessage":{{"key":{{"id":"A1"}},"type":14,"editedMessage":{NEW}}}}}"#);
    let right = same("messages.upsert", &format!(r#"{{{e1},"message":{protocol}}}"#));
    assert!(right.0.starts_with("update:i:A1:") && right.1 == "update.edit", "{}", right.0);
    assert_eq!(right.2.as_deref(), Some("i:15550001111"));
    for (name, data) in [
        (
            "messages.upsert",
            format!(r#"{{{a1},"message":{{"protocolMessage":{{"editedMessage":{NEW}}}}}}}"#),
        ),
        ("messages.upsert", format!(r#"{{{a1},"message":{{"editedMessage":{NEW}}}}}"#)),
        (
            "messages.update",
            format!(r#"{{{a1},"update":{{"message":{{"editedMessage":{{"message":{NEW}}}}}}}}}"#),
        ),
        (
            "messages.update",
            format!(r#"{{{a1},"message":{{"editedMessage":{NEW}}},"status":"READ"}}"#),
        ),
        (
            "messages.update",
            format!(r#"{{"keyId":"A1","editedMessage":{NEW},"remoteJid":"{CUSTOMER}"}}"#),
        ),
        ("messages.update", format!(r#"{{{a1},"update":{{"message":{NEW}}}}}"#)),
        ("messages.edited", format!(r#"{{{a1},"message":{NEW}}}"#)),
        ("messages.edited", format!(r#"{{{e1},"message":{protocol}}}"#)),
    ] {
        assert_eq!(same(name, &data), right, "{name} {data}");
    }
    // As the customer knows it, whose own message it is, in the chat with the account.
    let told = same("messages.edited", &bare(&key("A1", ACCOUNT, true)));
    assert_eq!((&told.0, &told.1, told.3), (&right.0, &right.1, right.3));
    let other = same("messages.edited", &bare(&a1).replace("new", "x"));
    assert_ne!(other.0, right.0);
}

#[test]
fn who_sent_a_bare_edit_says_the_chat_and_not_the_key() {
    let device = ACCOUNT.replace('@', ":7@");
    for (chat, kind, lane) in [
        (ACCOUNT, "update.edit", None),
        (&*device, "update.edit", None),
        (GROUP, "update.edit", Some("i:1203@g.us")),
        (CUSTOMER, "echo.edit", Some("i:15550001111")),
        ("900@lid", "echo.edit", Some("i:900@lid")),
    ] {
        for is_own in [true, false] {
            let told = same("messages.edited", &bare(&key("A1", chat, is_own)));
            assert_eq!((&*told.1, told.2.as_deref()), (kind, lane), "{chat}");
        }
    }
    // Nobody says who the account is.
    let data = bare(&key("A1", CUSTOMER, true));
    let sent = body("messages.edited", &data).replace("\"sender\"", "\"x\"");
    assert_eq!(event(&sent).kind.as_str(), "echo.edit");
    // Everything else is told from the account's own side.
    let own = format!(r#"{{{},"editedMessage":{NEW}}}"#, key("A1", CUSTOMER, true));
    assert_eq!(same("messages.update", &own).1, "echo.edit");
}

#[test]
fn a_message_that_was_taken_back_is_deleted_under_whatever_name() {
    let a1 = key("A1", CUSTOMER, false);
    let right = same("messages.delete", &format!("{{{a1}}}"));
    assert_eq!((&*right.0, &*right.1), ("delete:i:A1", "delete"));
    assert_eq!(right.2.as_deref(), Some("i:15550001111"));
    let e1 = key("E1", CUSTOMER, false);
    for sort in ["0", "\"REVOKE\""] {
        let protocol = format!(r#"{{"protocolMessage":{{{a1},"type":{sort}}}}}"#);
        let unnamed = format!(r#"{{"protocolMessage":{{"type":{sort}}}}}"#);
        for (name, data) in [
            ("messages.edited", format!(r#"{{{},"type":{sort}}}"#, key("A1", CUSTOMER, true))),
            ("messages.edited", format!(r#"{{{e1},"message":{protocol}}}"#)),
            ("messages.update", format!(r#"{{{e1},"update":{{"message":{protocol}}}}}"#)),
            ("messages.update", format!(r#"{{{a1},"message":{unnamed}}}"#)),
        ] {
            assert_eq!(same(name, &data), right, "{name} {data}");
        }
        let told = format!(r#"{{{},"type":{sort}}}"#, key("A1", ACCOUNT, true));
        let told = same("messages.edited", &told);
        assert_eq!((&told.0, &told.1, told.2, told.3), (&right.0, &right.1, None, right.3));
    }
    let with_status =
        format!(r#"{{{a1},"status":"READ","message":{{"protocolMessage":{{"type":0}}}}}}"#);
    assert_eq!(same("messages.update", &with_status).0, "status:i:A1:read");
}

#[test]
fn what_tells_the_client_something_else_is_no_edit_and_never_dead() {
    let a1 = key("A1", CUSTOMER, true);
    for data in [
        format!(r#"{{{a1},"type":"EPHEMERAL_SETTING","ephemeralExpiration":86400}}"#),
        format!(r#"{{{a1},"type":3}}"#),
        r#"{"type":"HISTORY_SYNC_NOTIFICATION","historySyncNotification":{"syncType":"RECENT"}}"#
            .to_owned(),
        r#"{"type":"APP_STATE_SYNC_KEY_SHARE"}"#.to_owned(),
        r#"{"type":99,"key":"A"}"#.to_owned(),
        format!(r#"{{{a1},"message":{{"protocolMessage":{{"type":3}}}}}}"#),
        format!(r#"{{{a1},"message":{{"messageContextInfo":{{}}}}}}"#),
    ] {
        for name in ["messages.edited", "messages.update"] {
            let (key, kind, ..) = same(name, &data);
            assert!(key.starts_with("hash:") && kind == "update.other", "{name} {data}: {kind}");
        }
    }
}

#[test]
fn a_whole_chat_is_deleted_without_an_id() {
    for data in [format!(r#"{{"jid":"{CUSTOMER}","all":true}}"#), r#"{"all":"1"}"#.to_owned()] {
        let (key, kind, ..) = same("messages.delete", &data);
        assert!(key.starts_with("hash:") && kind == "delete", "{data}");
    }
    let none = event(&body("messages.delete", r#"{"all":false}"#));
    assert_eq!(none.unreadable, Some("element has no id"));
}
