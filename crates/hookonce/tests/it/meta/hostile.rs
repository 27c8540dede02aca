//! Requests that were made to harm, or that no sender should make but some do.

use std::fmt::Write as _;

use hookonce::element::Json;
use hookonce::event::Key;
use hookonce::event::RequestHash;

use super::events;

fn messages(elements: &str) -> String {
    format!(
        r#"{{"object":"whatsapp_business_account","entry":[{{"id":"1","changes":[{{"field":"messages","value":{{"messages":[{elements}]}}}}]}}]}}"#
    )
}

/// The one event that a whole request became, with why it can't be read.
fn whole(body: &[u8]) -> (&'static str, String) {
    let mut events = events(body);
    assert_eq!(events.len(), 1);
    let event = events.remove(0);
    assert_eq!((event.kind.as_str(), event.element.as_str()), ("unreadable", ""));
    assert_eq!(event.key, Key::hash(&RequestHash::of(body), ""));
    assert!(event.weak_key);
    (event.unreadable.unwrap(), event.payload)
}

#[test]
fn nesting_has_a_limit_and_the_process_lives() {
    let nested = |n| format!(r#"{{"id":"1","x":{}{}}}"#, "[".repeat(n), "]".repeat(n));
    // The element itself is eight levels down.
    let fits = events(messages(&nested(120)).as_bytes());
    assert_eq!((fits.len(), fits[0].key.as_str()), (1, "message:1:1"));
    for depth in [121, 1000, 1_000_000] {
        let body = messages(&nested(depth));
        assert_eq!(whole(body.as_bytes()), ("nested deeper than 128 levels", body.clone()));
    }
    assert_eq!(whole("[".repeat(1_000_000).as_bytes()).0, "not JSON");
    assert_eq!(whole(&b"{\"a\":".repeat(1_000_000)).0, "not JSON");
}

#[test]
fn elements_have_a_limit() {
    let list = |n| vec![r#"{"id":"1"}"#; n].join(",");
    assert_eq!(events(messages(&list(20_000)).as_bytes()).len(), 20_000);
    let body = messages(&list(20_001));
    assert_eq!(whole(body.as_bytes()), ("more than 20000 elements", body.clone()));
}

#[test]
fn what_would_expand_without_bound_is_kept_as_it_is() {
    let reason = "more than 64 MiB when expanded";
    let filler = "x".repeat(100_000);
    let elements = vec![r#"{"id":"1"}"#; 1000].join(",");
    let body = messages(&elements).replacen('{', &format!("{{\"filler\":\"{filler}\","), 1);
    assert_eq!(whole(body.as_bytes()), (reason, body.clone()));
    // Contacts that match nobody are kept with each message.
    let contacts = vec![r#"{"wa_id":"2"}"#; 20_000].join(",");
    let body = messages(&elements)
        .replace("\"messages\":", &format!("\"contacts\":[{contacts}],\"messages\":"));
    assert_eq!(whole(body.as_bytes()).0, reason);
    // So many just fit.
    let fits = messages(&vec![r#"{"id":"1"}"#; 640].join(","));
    let fits = fits.replacen('{', &format!("{{\"filler\":\"{filler}\","), 1);
    assert_eq!(events(fits.as_bytes()).len(), 640);
}

#[test]
fn thousands_of_contacts_beside_thousands_of_messages_take_no_quadratic_time() {
    let (mut contacts, mut elements) = (String::new(), String::new());
    for n in 0..10_000 {
        let comma = if n > 0 { "," } else { "" };
        write!(contacts, r#"{comma}{{"wa_id":"{n}","user_id":"US.{n}"}}"#).unwrap();
        write!(elements, r#"{comma}{{"from":"{n}","id":"m{n}"}}"#).unwrap();
    }
    let body = messages(&elements)
        .replace("\"messages\":", &format!("\"contacts\":[{contacts}],\"messages\":"));
    let events = events(body.as_bytes());
    assert_eq!(events.len(), 10_000);
    for (n, event) in events.iter().enumerate() {
        assert_eq!(event.lane.as_ref().unwrap().as_str(), format!("1:US.{n}"));
        let payload = Json::read(event.payload.as_bytes()).unwrap();
        let contacts = payload.pointer("/entry/0/changes/0/value/contacts").unwrap();
        assert_eq!(contacts.raw(), format!(r#"[{{"wa_id":"{n}","user_id":"US.{n}"}}]"#));
    }
}

#[test]
fn thousands_of_members_take_no_quadratic_time() {
    let members: Vec<_> = (0..100_000).map(|n| format!("\"{n}\":0,\"\\u0061\":1")).collect();
    let events = events(messages(&format!("{{\"id\":\"1\",{}}}", members.join(","))).as_bytes());
    assert_eq!(events[0].key.as_str(), "message:1:1");
}

#[test]
fn times_of_any_size_are_taken_or_left() {
    for (timestamp, right) in [
        ("1760000000", Some("2025-10-09T08:53:20Z")),
        ("\"1760000000\"", Some("2025-10-09T08:53:20Z")),
        ("1760000000123", Some("2025-10-09T08:53:20.123Z")),
        ("99999999999", Some("5138-11-16T09:46:39Z")),
        ("0", None),
        ("-5", None),
        ("9223372036854775807", None),
        ("99999999999999999999999", None),
        ("1e9", None),
        ("1760000000.5", None),
        ("true", None),
        ("\"\"", None),
        ("[1760000000]", None),
    ] {
        let element = format!(r#"{{"id":"1","timestamp":{timestamp}}}"#);
        let sent_at = events(messages(&element).as_bytes())[0].sent_at;
        assert_eq!(sent_at.map(|at| at.to_string()).as_deref(), right, "{timestamp}");
    }
}

#[test]
fn a_redelivered_request_is_a_duplicate_and_an_equal_element_elsewhere_is_not() {
    let keys =
        |body: &str| events(body.as_bytes()).into_iter().map(|event| event.key).collect::<Vec<_>>();
    let two = messages(r#"{"text":"no id"},{"text":"no id"}"#);
    let found = keys(&two);
    assert_eq!(found, keys(&two));
    assert_ne!(found[0], found[1]);
    assert_ne!(found[0], keys(&two.replace("whatsapp", "whatsApp"))[0]);
}

#[test]
fn every_prefix_and_every_broken_byte_is_survived() {
    let body = messages(r#"{"from":"1","id":"a\ud83d\u0000","x":[1,{"y":"z"}]},{"id":"b"}"#);
    for end in 0..body.len() {
        assert_eq!(events(&body.as_bytes()[..end]).len(), 1);
    }
    for at in 0..body.len() {
        for byte in *b"\"\\{}[],:0\xff\0" {
            let mut broken = body.clone().into_bytes();
            broken[at] = byte;
            assert!(!events(&broken).is_empty());
        }
    }
}
