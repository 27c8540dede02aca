//! Requests that were made to harm, or that no sender should make but some do.

use hookonce::element::Json;

use super::events;

fn upsert(elements: &str) -> String {
    format!(r#"{{"event":"messages.upsert","data":{{"messages":[{elements}]}}}}"#)
}

/// The kind and the reason of the one event that a request became.
fn whole(body: &[u8]) -> (String, Option<&'static str>) {
    let events = events(body);
    assert_eq!(events.len(), 1);
    (events[0].kind.as_str().to_owned(), events[0].unreadable)
}

const NAMES: [&str; 12] = [
    "messages.upsert",
    "message.sent",
    "messages.update",
    "message-receipt.update",
    "messages.reaction",
    "messages.delete",
    "poll.results",
    "call",
    "session.status",
    "qrcode.updated",
    "groups.update",
    "something.new",
];

const VALUES: [&str; 9] = ["null", "true", "7", "\"\"", "\"x\"", "[]", "{}", "[[[]]]", "[{}]"];

#[test]
fn any_value_in_any_place_is_survived_and_nothing_is_lost() {
    for name in NAMES {
        for value in VALUES {
            for body in [
                format!(r#"{{"event":"{name}","data":{value}}}"#),
                format!(r#"{{"event":"{name}","id":{value}}}"#),
                format!(r#"{{"event":"{name}","key":{value},"message":{value}}}"#),
                format!(r#"{{"event":"{name}","data":[{value},{value}]}}"#),
                format!(r#"{{"event":"{name}","timestamp":{value},"data":{{"key":{value}}}}}"#),
                format!(r#"{{"event":"{name}","data":{{"messages":{value},"keys":{value}}}}}"#),
                format!(r#"{{"event":"{name}","data":{{"message":{value},"call":{value}}}}}"#),
                format!(
                    r#"{{"event":"{name}","data":{{"key":{{"id":{value},"remoteJid":{value},"fromMe":{value},"participant":{value}}},"message":{value},"update":{value},"receipt":{value},"reaction":{value},"pollResult":{value},"status":{value},"success":{value}}}}}"#
                ),
                format!(r#"{{"event":{value},"data":{{"key":{{"id":"1"}}}}}}"#),
            ] {
                let events = events(body.as_bytes());
                assert!(!events.is_empty(), "{body}");
                for event in events {
                    let payload = Json::read(event.payload.as_bytes()).unwrap();
                    assert!(payload.pointer(&event.element).is_some(), "{body}");
                }
            }
        }
    }
}

#[test]
fn one_broken_element_among_twenty_is_dead_alone() {
    let mut elements: Vec<_> = (0..20).map(|n| format!(r#"{{"key":{{"id":"{n}"}}}}"#)).collect();
    elements[7] = "null".to_owned();
    for body in [
        upsert(&elements.join(",")),
        format!(r#"{{"event":"messages.update","data":[{}]}}"#, elements.join(",")),
        format!(r#"{{"event":"messages.delete","data":{{"keys":[{}]}}}}"#, elements.join(",")),
    ] {
        let found = events(body.as_bytes());
        assert_eq!(found.len(), 20);
        for (n, event) in found.iter().enumerate() {
            let right = (n == 7).then_some("element is not an object");
            assert_eq!(event.unreadable, right);
            assert_eq!(event.weak_key, n == 7);
        }
    }
}

#[test]
fn elements_and_nesting_have_limits() {
    let list = |n| vec![r#"{"key":{"id":"1"}}"#; n].join(",");
    assert_eq!(events(upsert(&list(20_000)).as_bytes()).len(), 20_000);
    let unreadable = |why| ("unreadable".to_owned(), Some(why));
    let too_many = unreadable("more than 20000 elements");
    assert_eq!(whole(upsert(&list(20_001)).as_bytes()), too_many);
    let keys = vec!["\"A\""; 20_001].join(",");
    let keys = format!(r#"{{"event":"messages.delete","data":{{"keys":[{keys}]}}}}"#);
    assert_eq!(whole(keys.as_bytes()), too_many);
    let nested = |n| format!(r#"{{"x":{}{}}}"#, "[".repeat(n), "]".repeat(n));
    assert_eq!(events(upsert(&nested(124)).as_bytes())[0].unreadable, None);
    let too_deep = unreadable("nested deeper than 128 levels");
    assert_eq!(whole(upsert(&nested(125)).as_bytes()), too_deep);
    assert_eq!(whole(&b"{\"data\":".repeat(1_000_000)), unreadable("not JSON"));
    let filler = format!(r#"{{"filler":"{}","#, "x".repeat(100_000));
    let large = upsert(&list(1000)).replacen('{', &filler, 1);
    assert_eq!(whole(large.as_bytes()), unreadable("more than 64 MiB when expanded"));
}

#[test]
fn an_edit_that_is_wrapped_without_end_is_one_event() {
    let wrapped = [r#"{"editedMessage":{"message":"#.repeat(50), "{}".into(), "}}".repeat(50)];
    let body = upsert(&format!(r#"{{"key":{{"id":"1"}},"message":{}}}"#, wrapped.concat()));
    assert_eq!(whole(body.as_bytes()), ("update.edit".to_owned(), None));
}

#[test]
fn repeated_members_and_escaped_names_hide_nothing() {
    let body = r#"{"event":"groups.update","\u0065vent":"messages.upsert","data":{"messages":7},"d\u0061ta":{"messages":[],"m\u0065ssages":[{"key":{"id":"A"},"k\u0065y":{"id":"B","i\u0064":"C"},"message":"x"}]}}"#;
    let found = events(body.as_bytes());
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].key.as_str(), &*found[0].element), ("message:C", "/data/messages/0"));
}

#[test]
fn what_holds_no_element_is_kept_whole() {
    for body in [
        "{}",
        "[]",
        "7",
        r#"{"event":"messages.upsert"}"#,
        r#"{"event":"messages.upsert","sessionId":"k","timestamp":1,"data":[]}"#,
        r#"{"event":"messages.delete","data":{"keys":[]}}"#,
        r#"{"event":"messages.received","data":{"messages":{},"type":"notify"}}"#,
        r#"{"event":null,"data":{"key":{"id":"1"}}}"#,
    ] {
        assert_eq!(whole(body.as_bytes()), ("unknown.request".to_owned(), None), "{body}");
    }
}

#[test]
fn every_prefix_and_every_broken_byte_is_survived() {
    let body = r#"{"event":"messages.upsert","session\u0049d":"k","data":{"messages":[{"key":{"id":"a\ud83d\u0000"},"x":[1,{"y":"z"}]},{"key":{"id":"b"}}]}}"#;
    for end in 0..body.len() {
        assert_eq!(events(&body.as_bytes()[..end]).len(), 1);
    }
    for at in 0..body.len() {
        for byte in *b"\"\\{}[],:0\xff\0" {
            let mut broken = body.as_bytes().to_vec();
            broken[at] = byte;
            assert!(!events(&broken).is_empty());
        }
    }
}

#[test]
fn credentials_by_the_thousand_take_no_quadratic_time() {
    for (member, open) in [
        (r#""sessionId":{"event":"qrcode"},"#, "{"),
        (r#""event":"qrcode","#, "{"),
        (r#"{"event":"qrcode","#, "["),
        ("sessionIds,qrs,", "{"),
        (r#""data":["#, "{"),
        (r#""data":"\\\"data\\\":","#, "{"),
    ] {
        let body = [open, &member.repeat(40_000)].concat();
        assert_eq!(events(body.as_bytes()).len(), 1);
    }
}
