//! Requests that were made to harm, or that Twilio shouldn't make.

use hookonce::event::{Key, RequestHash};
use proptest::prelude::*;

use super::events;

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_form_is_one_event_with_its_whole_text(body in "[A-Za-z=&%+0-9\u{e9}]{0,80}") {
        let found = events(body.as_bytes());
        prop_assert_eq!(found.len(), 1);
        prop_assert_eq!(&found[0].payload, &body);
        prop_assert_eq!(found[0].unreadable, None);
        prop_assert_eq!(found[0].content_type, "application/x-www-form-urlencoded");
    }

    #[test]
    fn every_item_of_a_stream_comes_out_once_byte_for_byte(
        ids in prop::collection::vec("[A-Z]{1,4}", 0..6), spaces in " {0,3}"
    ) {
        let items: Vec<_> = ids.iter().enumerate()
            .map(|(n, id)| format!("{{\"id\":{spaces}\"{id}{n}\",\"x\":[1.0,\"]\"]}}")).collect();
        let body = format!("[{spaces}{}{spaces}]", items.join(&format!("{spaces},")));
        let found = events(body.as_bytes());
        prop_assert_eq!(found.len(), items.len().max(1));
        for (n, (event, item)) in found.iter().zip(&items).enumerate() {
            prop_assert_eq!(event.payload.clone(), format!("[{item}]"));
            prop_assert_eq!(&event.element, "/0");
            prop_assert_eq!(event.key.as_str(), format!("event:{}{n}", ids[n]));
            let again = events(event.payload.as_bytes());
            prop_assert_eq!(again.len(), 1);
            prop_assert_eq!(&again[0].payload, &event.payload);
            prop_assert_eq!(again[0].id, event.id);
        }
    }
}

#[test]
fn one_broken_item_of_twenty_is_dead_and_nineteen_are_handled() {
    for broken in ["7", "null", "\"x\"", "[]"] {
        let mut items: Vec<_> =
            (0..20).map(|n| format!("{{\"id\":\"EZ{n}\",\"type\":\"a\"}}")).collect();
        items[7] = broken.to_owned();
        let found = events(format!("[{}]", items.join(",")).as_bytes());
        assert_eq!(found.len(), 20);
        for (n, event) in found.iter().enumerate() {
            let why = (n == 7).then_some("element is not an object");
            assert_eq!((event.unreadable, event.weak_key), (why, n == 7), "{broken} {n}");
        }
    }
    let without = events(br#"[{"id":"EZ1","type":"a"},{"type":"a"}]"#);
    assert_eq!(without.iter().map(|event| event.weak_key).collect::<Vec<_>>(), [false, true]);
    assert!(without.iter().all(|event| event.unreadable.is_none()));
}

#[test]
fn items_without_id_are_different_events() {
    let found = events(br#"[{"type":"a"},{"type":"a"}]"#);
    assert_ne!(found[0].key, found[1].key);
    assert!(found.iter().all(|event| event.weak_key));
}

#[test]
fn a_stream_has_a_limit_and_so_has_a_form() {
    let many = |n| format!("[{}]", vec![r#"{"id":"1"}"#; n].join(","));
    assert_eq!(events(many(20_000).as_bytes()).len(), 20_000);
    let found = events(many(20_001).as_bytes());
    assert_eq!((found.len(), found[0].unreadable), (1, Some("more than 20000 elements")));
    let found = events("a&".repeat(20_001).as_bytes());
    assert_eq!(found[0].unreadable, Some("more than 20000 parameters"));
    let deep = format!("[{}{}]", "[".repeat(200), "]".repeat(200));
    assert_eq!(events(deep.as_bytes())[0].unreadable, Some("nested deeper than 128 levels"));
}

#[test]
fn a_value_that_is_no_text_makes_no_two_events_one() {
    let key = |body: &str| events(body.as_bytes())[0].key.clone();
    assert_ne!(key("MessageSid=%FF"), key("MessageSid=%FE"));
    assert_ne!(key("MessageSid=a:b"), key("MessageSid=a%253Ab"));
    let none = "MessageSid=&Body=x";
    let hash = RequestHash::of(none.as_bytes());
    // Without a time in it, it may come again.
    assert_ne!(key(none), Key::hash(&hash, ""));
    let dated = "DateCreated=1&EventType=x&RetryCount=2";
    assert_eq!(key(dated), Key::hash(&RequestHash::of(b"DateCreated1EventTypex"), ""));
}
