//! Conservation: whatever a request holds, each of its elements comes out exactly once, byte for
//! byte, under its own key.

use hookonce::element::Json;
use proptest::prelude::*;
use sha2::{Digest as _, Sha256};

use super::{events, open, rule};

const PLACES: [&str; 4] = ["/messages", "/data/statuses", "/data/deep/er", "/data/deep/est"];

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn each_element_comes_out_once_byte_for_byte_under_its_key(
        lists in prop::collection::vec(prop::collection::vec(element(), 0..4), 4),
        around in "[ \n]{0,2}",
    ) {
        let [messages, statuses, er, est] = &lists[..] else { panic!("there are four") };
        let joined = |list: &[Element]| {
            let raw: Vec<_> = list.iter().map(|element| element.raw.as_str()).collect();
            format!("{around}[{around}{}{around}]", raw.join(&format!("{around},")))
        };
        let body = format!(
            r#"{around}{{"data":{{"deep":{{"est":{},"x":1e400,"er":{}}},"statuses":{}}},"t":"\ud83d","messages":{}}}"#,
            joined(est), joined(er), joined(statuses), joined(messages),
        );
        let scheme = open(&PLACES, vec![rule(&["/id"], &["/type"])]);
        let found = events(&scheme, &body);
        let expected: Vec<_> = lists.iter().flatten().collect();
        if expected.is_empty() {
            prop_assert_eq!(found.len(), 1);
            prop_assert_eq!(&found[0].payload, body.trim());
            return Ok(());
        }
        prop_assert_eq!(found.len(), expected.len(), "{}", body);
        for (event, right) in found.iter().zip(expected) {
            let payload = Json::read(event.payload.as_bytes()).unwrap();
            let element = payload.pointer(&event.element).expect("it is where its pointer says");
            prop_assert_eq!(element.raw(), &right.raw);
            prop_assert_eq!(event.digest, <[u8; 32]>::from(Sha256::digest(&right.raw)));
            prop_assert_eq!(event.weak_key, right.key.is_none());
            if let Some(key) = &right.key {
                prop_assert_eq!(event.key.as_str(), key);
            }
            // An event's payload is a request that gives this event and no other.
            let again = events(&scheme, &event.payload);
            prop_assert_eq!(again.len(), 1, "{}", event.payload);
            prop_assert_eq!(&again[0].payload, &event.payload);
            prop_assert_eq!(&again[0].element, &event.element);
            prop_assert_eq!(&again[0].kind, &event.kind);
            prop_assert!(event.weak_key || again[0].key == event.key);
        }
    }
}

#[test]
fn one_broken_element_of_twenty_is_dead_and_nineteen_are_handled() {
    let scheme = open(&["/messages"], vec![rule(&["/id"], &["/type"])]);
    for (broken, why) in [
        ("7", Some("element is not an object")),
        ("null", Some("element is not an object")),
        // Readable, and known by a hash.
        (r#"{"type":"a"}"#, None),
    ] {
        let mut elements: Vec<_> =
            (0..20).map(|n| format!(r#"{{"id":"{n}","type":"a"}}"#)).collect();
        elements[7] = broken.to_owned();
        let found = events(&scheme, &format!(r#"{{"messages":[{}]}}"#, elements.join(",")));
        assert_eq!(found.len(), 20);
        for (n, event) in found.iter().enumerate() {
            let right = if n == 7 { (why, true) } else { (None, false) };
            assert_eq!((event.unreadable, event.weak_key), right, "{broken} {n}");
        }
    }
}

/// An element, and the key that it must have; `None` for a hash.
#[derive(Debug, Clone)]
struct Element {
    raw: String,
    key: Option<String>,
}

fn element() -> impl Strategy<Value = Element> {
    let escaped = |id: &str| id.replace('%', "%25").replace(':', "%3A");
    prop_oneof![
        "[a-zA-Z0-9:%é/~]{1,9}".prop_map(move |id| Element {
            raw: format!(r#"{{ "type":"t", "id":{}}}"#, serde_json::to_string(&id).unwrap()),
            key: Some(escaped(&id)),
        }),
        any::<u128>().prop_map(|id| Element {
            raw: format!(r#"{{"id":{id},"nested":{{"id":[1,2]}}}}"#),
            key: Some(id.to_string()),
        }),
        prop::sample::select(vec![r#"{"id":null}"#, r#"{"id":[]}"#, "{}", r#"{"id":false}"#])
            .prop_map(|raw| Element { raw: raw.to_owned(), key: None }),
        prop::sample::select(vec!["null", "7", "[{}]", r#""{}""#])
            .prop_map(|raw| Element { raw: raw.to_owned(), key: None }),
    ]
}
