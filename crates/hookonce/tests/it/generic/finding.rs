//! Where elements are found, and what becomes of whatever else is sent.

use std::fmt::Write as _;

use hookonce::scheme::Proof;
use hookonce::scheme::generic::{Generic, GenericOptions, Rule};

use super::{events, open, pointers, rule};

/// The kind, key or weakness, and place of each event.
fn found(places: &[&str], body: &str) -> Vec<(String, String, String)> {
    let scheme = open(places, vec![rule(&["/id"], &["/type"])]);
    let shown = |event: &hookonce::event::NewEvent| {
        let key = if event.weak_key { "-" } else { event.key.as_str() };
        [event.kind.as_str(), key, &event.payload].map(str::to_owned).into()
    };
    events(&scheme, body).iter().map(shown).collect()
}

fn is(found: &[(String, String, String)], right: &[(&str, &str, &str)]) {
    let found: Vec<_> = found.iter().map(|(a, b, c)| (&**a, &**b, &**c)).collect();
    assert_eq!(found, right);
}

#[test]
fn several_lists_of_one_request_each_give_their_elements_alone() {
    let body =
        r#"{"a":0,"messages":[{"id":1,"type":"m"},{"id":2}],"b":{"c":1,"list":{"id":3}},"d":[4]}"#;
    let places = ["/messages", "/b/list", ""];
    is(
        &found(&places, body),
        &[
            ("m", "1", r#"{"a":0,"messages":[{"id":1,"type":"m"}],"d":[4]}"#),
            ("unknown", "2", r#"{"a":0,"messages":[{"id":2}],"d":[4]}"#),
            ("unknown", "3", r#"{"a":0,"b":{"c":1,"list":{"id":3}},"d":[4]}"#),
        ],
    );
    let body = r#"{"b":{"x":[{"id":1}],"y":[{"id":2}],"z":[]}}"#;
    is(
        &found(&["/b/x", "/b/y", "/b/z"], body),
        &[
            ("unknown", "1", r#"{"b":{"x":[{"id":1}],"z":[]}}"#),
            ("unknown", "2", r#"{"b":{"y":[{"id":2}],"z":[]}}"#),
        ],
    );
}

#[test]
fn the_body_counts_where_nothing_is_at_the_other_places() {
    for body in [r#"{"id":1}"#, r#"{"id":1,"list":[]}"#, r#"{"id":1,"list":null}"#] {
        is(&found(&["/list", ""], body), &[("unknown", "1", body)]);
        is(&found(&["/list"], body), &[("unknown.request", "-", body)]);
    }
    // An array on the way leads nowhere, and nothing of it is lost.
    let body = r#"{"id":1,"in":[{"list":[{"id":2}]}]}"#;
    is(&found(&["/in/list", ""], body), &[("unknown", "1", body)]);
    is(&found(&["/in/0/list", ""], body), &[("unknown", "1", body)]);
}

#[test]
fn a_body_that_is_an_array_has_its_items_as_elements() {
    let body = r#" [ {"id":1} , {"id":2,"type":"x"}, 3 ] "#;
    let found = found(&[""], body);
    is(
        &found,
        &[
            ("unknown", "1", r#"[{"id":1}]"#),
            ("x", "2", r#"[{"id":2,"type":"x"}]"#),
            ("unreadable", "-", "[3]"),
        ],
    );
    let scheme = open(&[""], vec![rule(&["/id"], &[])]);
    assert_eq!(events(&scheme, body)[1].element, "/0");
    let hashed = open(&[""], vec![Rule::default()]);
    let keys: Vec<_> =
        events(&hashed, r#"[{"a":1},{"a":1}]"#).into_iter().map(|event| event.key).collect();
    assert_ne!(keys[0], keys[1], "each has its place");
}

#[test]
fn what_holds_nothing_is_one_event_of_its_own() {
    for body in ["{}", "[]", " { } ", "null", "1", "\"x\"", "true"] {
        for places in [&["/list"][..], &["/list", ""], &[""], &[]] {
            let found = found(places, body);
            assert_eq!(found.len(), 1, "{body}");
            assert_eq!(found[0].0, "unknown.request", "{body}");
        }
    }
    for body in ["", "{", "a=b", "{} {}", "\u{feff}{}"] {
        assert_eq!(found(&[""], body)[0].0, "unreadable", "{body}");
    }
}

#[test]
fn what_is_no_object_hurts_nobody_beside_it() {
    let mut list: Vec<String> = (0..19).map(|n| format!(r#"{{"id":{n}}}"#)).collect();
    for broken in ["null", "[]", "[{}]", "1", "\"x\"", "true"] {
        list.insert(7, broken.into());
        let body = format!(r#"{{"list":[{}]}}"#, list.join(","));
        let found = found(&["/list"], &body);
        assert_eq!(found.len(), 20);
        for (n, (kind, key, _)) in found.iter().enumerate() {
            assert_eq!(kind == "unreadable", n == 7, "{broken}: {n} {key}");
        }
        list.remove(7);
    }
    for value in ["1", "\"x\"", "false"] {
        let found = found(&["/list"], &format!(r#"{{"list":{value}}}"#));
        assert_eq!((found.len(), &*found[0].0), (1, "unreadable"), "{value}");
    }
}

#[test]
fn names_are_read_as_json_and_pointers_say() {
    let body = r#"{"\u006cist":[{"id":0}],"a/b":{"~":[{"id":1}]},"list":[{"\u0069d":2}]}"#;
    let found = found(&["/list", "/a~1b/~0"], body);
    // Of the repeated one the last counts.
    is(
        &found,
        &[
            ("unknown", "2", r#"{"list":[{"\u0069d":2}]}"#),
            ("unknown", "1", r#"{"a/b":{"~":[{"id":1}]}}"#),
        ],
    );
    let scheme = open(&["/a~1b/~0"], vec![rule(&["/id"], &[])]);
    assert_eq!(events(&scheme, body)[0].element, "/a~1b/~0/0");
}

#[test]
fn too_much_is_one_event_that_says_so() {
    let count = |n: usize| {
        let mut body = r#"{"list":["#.to_owned();
        for id in 0..n {
            let _ = write!(body, r#"{}{{"id":{id}}}"#, if id == 0 { "" } else { "," });
        }
        body + "]}"
    };
    assert_eq!(found(&["/list"], &count(20_000)).len(), 20_000);
    let over = found(&["/list"], &count(20_001));
    assert_eq!((over.len(), &*over[0].0), (1, "unreadable"));
    let deep = format!(r#"{{"id":1,"a":{}{}}}"#, "[".repeat(200), "]".repeat(200));
    assert_eq!(found(&[""], &deep)[0].0, "unreadable");
    let around = "x".repeat(4000);
    let wide = count(20_000).replacen('{', &format!(r#"{{"around":"{around}","#), 1);
    assert_eq!(found(&["/list"], &wide)[0].0, "unreadable");
}

#[test]
fn a_place_holds_what_is_within_it() {
    let [outer, inner, other] = &pointers(&["/a", "/a/b", "/ab"])[..] else { panic!() };
    assert!(outer.holds(inner) && outer.holds(outer));
    assert!(!inner.holds(outer) && !outer.holds(other));
}

/// Without `known` of the tree each element goes all the way through the list that it stands in: a
/// minute here, in place of a moment.
#[test]
fn what_stands_beside_a_long_list_is_looked_for_once() {
    let scheme = open(
        &["/data/items"],
        vec![rule(&["root:/data/account", "/id"], &["root:/data/items/9999/id"])],
    );
    let items: Vec<_> = (0..10_000).map(|n| format!(r#"{{"id":{n}}}"#)).collect();
    let body = format!(r#"{{"data":{{"items":[{}],"account":"a"}}}}"#, items.join(","));
    let began = std::time::Instant::now();
    let events = events(&scheme, &body);
    let took = began.elapsed();
    assert_eq!(events.len(), 10_000);
    assert_eq!(events[7].key.as_str(), "a:7");
    assert_eq!(events[7].kind.as_str(), "9999");
    assert!(took.as_secs() < 10, "{took:?}");
}

#[test]
fn rules_are_bounded_for_each_may_look_at_every_element() {
    let rules = vec![rule(&["/id"], &["/type"]); 66];
    let options = GenericOptions { rules, ..Default::default() };
    let refused = Generic::new(options, Proof::Unverified).unwrap_err();
    assert_eq!(refused.to_string(), "there are more than 64 rules");
}
