//! What makes an element an event: keys, kinds, lanes, times, and what is the same in a copy.

use hookonce::event::{NewEvent, Priority};
use hookonce::scheme::generic::{Generic, GenericOptions, Question, Rule};
use hookonce::scheme::{Proof, Scheme as _};

use super::{event, open, parts, rule, when};
use crate::bed::scheme::{events_of, request};

fn key(parts: &[&str], body: &str) -> String {
    event(&open(&[""], vec![rule(parts, &[])]), body).key.as_str().to_owned()
}

#[test]
fn a_key_has_every_digit_and_letter_as_it_was_sent() {
    for (value, text) in [
        ("9007199254740993", "9007199254740993"),
        ("9007199254740992", "9007199254740992"),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
        ("1", "1"),
        ("1.0", "1.0"),
        ("1e3", "1e3"),
        ("-0", "-0"),
        (r#""1""#, "1"),
        (r#""a:b%""#, "a%3Ab%25"),
        (r#""A\u00e9""#, "A\u{e9}"),
        (r#"" ""#, " "),
        (r#""\ud83d""#, r#""\ud83d""#),
    ] {
        let key = key(&["literal:m", "/id"], &format!(r#"{{"id":{value}}}"#));
        assert_eq!(key, format!("m:{text}"), "{value}");
    }
}

#[test]
fn a_key_that_lacks_a_part_is_a_hash() {
    let scheme = open(&[""], vec![rule(&["literal:m", "/id", "/b/c"], &[])]);
    for body in [
        r#"{"b":{"c":1}}"#,
        r#"{"id":null,"b":{"c":1}}"#,
        r#"{"id":"","b":{"c":1}}"#,
        r#"{"id":true,"b":{"c":1}}"#,
        r#"{"id":{},"b":{"c":1}}"#,
        r#"{"id":["x"],"b":{"c":1}}"#,
        r#"{"id":1,"b":{"d":1}}"#,
        r#"{"id":1,"b":"c"}"#,
        r#"{"ID":1,"b":{"c":1}}"#,
    ] {
        let event = event(&scheme, body);
        assert!(event.weak_key && event.key.as_str().starts_with("hash:"), "{body}");
        assert_eq!(event.unreadable, None);
    }
    assert_eq!(key(&["literal:m", "/id"], r#"{"id":1,"\u0069d":2}"#), "m:2", "the last counts");
    assert!(key(&[], r#"{"id":1}"#).starts_with("hash:"));
    let verified = scheme.verify(request(br#"{"id":1}"#, &[])).unwrap();
    assert_eq!(scheme.lacks(&verified), [["/b/c"]]);
}

#[test]
fn the_first_place_that_has_a_text_counts() {
    let parts = ["/a or /b/0 or root:/c or literal:none"];
    for (body, right) in [
        (r#"{"a":1,"b":[2]}"#, "1"),
        (r#"{"a":null,"b":[2]}"#, "2"),
        (r#"{"a":"","b":{"0":3}}"#, "3"),
        (r#"{"c":4}"#, "4"),
        (r#"{"d":5}"#, "none"),
    ] {
        assert_eq!(key(&parts, body), right, "{body}");
    }
}

fn with_headers(scheme: &Generic, headers: &[(&str, &str)]) -> NewEvent {
    let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_bytes())).collect();
    events_of(scheme, request(br#"{"action":"Opened"}"#, &headers)).remove(0)
}

#[test]
fn headers_give_keys_and_kinds_where_there_is_one_of_them() {
    let scheme = open(&[""], vec![rule(&["header:X-Id"], &["header:x-event", "/action"])]);
    let event = with_headers(&scheme, &[("X-Event", "issues"), ("x-id", "A")]);
    assert_eq!((event.key.as_str(), event.kind.as_str()), ("A", "issues.opened"));
    for headers in [&[][..], &[("x-id", "")], &[("x-id", "A"), ("x-id", "B")]] {
        let event = with_headers(&scheme, headers);
        assert!(event.weak_key);
        assert_eq!(event.kind.as_str(), "opened");
    }
}

#[test]
fn a_kind_is_what_is_there_of_its_words() {
    let kind = |parts: &[&str], body: &str| {
        event(&open(&[""], vec![rule(&[], parts)]), body).kind.as_str().to_owned()
    };
    let both = ["literal:message", "/type"];
    assert_eq!(kind(&both, r#"{"type":"Text"}"#), "message.text");
    assert_eq!(kind(&both, r#"{"type":"mms:downloaded-1"}"#), "message.mms_downloaded_1");
    for body in [r#"{"x":1}"#, r#"{"type":""}"#, r#"{"type":null}"#, r#"{"type":[]}"#] {
        assert_eq!(kind(&both, body), "message.unknown", "{body}");
        assert_eq!(kind(&["/type"], body), "unknown");
        assert_eq!(kind(&[], body), "unknown");
        assert_eq!(kind(&["literal:New Order", "/type"], body), "new_order.unknown");
        assert_eq!(kind(&["literal:ping"], body), "ping");
        assert_eq!(kind(&["/type or literal:ping"], body), "ping");
    }
    assert_eq!(kind(&["/a", "/b"], r#"{"a":3,"b":true}"#), "3.true");
    assert_eq!(kind(&["/a", "/b"], r#"{"b":"x"}"#), "x");
}

#[test]
fn the_first_rule_that_takes_an_element_decides() {
    let echo = Rule { when: when("/from_me", &["true"]), ..rule(&["/id"], &["literal:echo"]) };
    let status = Rule {
        when: when("/status", &["*"]),
        lane: parts(&["/chat"]),
        ..rule(&["/id", "/status"], &["literal:status"])
    };
    let message = Rule {
        when: when("/type", &["text", "1"]),
        priority: Priority::Urgent,
        lane: parts(&["root:/account", "/chat"]),
        time: Some("/at".parse().unwrap()),
        ..rule(&["/id"], &["literal:message"])
    };
    let scheme = open(&[""], vec![echo, status, message]);
    let kind = |body: &str| event(&scheme, body).kind.as_str().to_owned();
    assert_eq!(kind(r#"{"id":1,"from_me":true,"status":"read"}"#), "echo");
    assert_eq!(kind(r#"{"id":1,"from_me":"true"}"#), "echo");
    assert_eq!(kind(r#"{"id":1,"from_me":false,"type":1}"#), "message");
    assert_eq!(kind(r#"{"id":1,"status":"","type":"text"}"#), "message");
    assert_eq!(kind(r#"{"id":1,"type":"Text"}"#), "unknown");
    let taken =
        event(&scheme, r#"{"id":1,"type":"text","chat":"c","account":7,"at":1760000000123}"#);
    assert_eq!(taken.lane.unwrap().as_str(), "7:c");
    assert_eq!(taken.priority, Priority::Urgent);
    assert_eq!(taken.sent_at.unwrap().to_string(), "2025-10-09T08:53:20.123Z");
    let without = event(&scheme, r#"{"id":1,"type":"text","chat":"c","at":"soon"}"#);
    assert_eq!((without.lane, without.sent_at), (None, None));
    let else_ = event(&scheme, r#"{"id":1}"#);
    assert!(else_.weak_key && else_.priority == Priority::Normal);
}

#[test]
fn a_copy_is_the_same_in_its_content() {
    let rule = Rule { content: Some("/data".parse().unwrap()), ..rule(&["/id"], &[]) };
    let scheme = open(&[""], vec![rule.clone()]);
    let digest = |body| event(&scheme, body).digest;
    assert_eq!(
        digest(r#"{"id":1,"tries":1,"data":[1]}"#),
        digest(r#"{"id":1,"tries":2,"data":[1]}"#)
    );
    assert_ne!(digest(r#"{"id":1,"data":[1]}"#), digest(r#"{"id":1,"data":[2]}"#));
    assert_ne!(digest(r#"{"id":1,"tries":1}"#), digest(r#"{"id":1,"tries":2}"#));
    let rule = Rule { key: parts(&["/id", "digest"]), ..rule };
    let scheme = open(&[""], vec![rule]);
    let key = |body| event(&scheme, body).key.as_str().to_owned();
    assert_eq!(key(r#"{"id":1,"tries":1,"data":1}"#), key(r#"{"id":1,"tries":2,"data":1}"#));
    assert_ne!(key(r#"{"id":1,"data":1}"#), key(r#"{"id":1,"data":2}"#));
}

#[test]
fn a_question_is_answered_and_is_no_event() {
    let question = Question {
        when: when("/type", &["url_verification"]),
        answer: "/challenge".parse().unwrap(),
    };
    let options = GenericOptions { question: Some(question), ..GenericOptions::default() };
    let scheme = Generic::new(options, Proof::Unverified).unwrap();
    let asked =
        |body: &str| scheme.question(&scheme.verify(request(body.as_bytes(), &[])).unwrap());
    let body = r#"{"type":"url_verification","challenge":"3e\u0041<"}"#;
    assert_eq!(asked(body).as_deref(), Some("3eA<"));
    let long = format!(r#"{{"type":"url_verification","challenge":"{}"}}"#, "a".repeat(1025));
    for no in [
        r#"{"type":"event_callback","challenge":"x"}"#,
        r#"{"type":"url_verification"}"#,
        r#"{"type":"url_verification","challenge":""}"#,
        r#"{"type":"url_verification","challenge":{}}"#,
        &long,
        "[]",
        "no",
    ] {
        assert_eq!(asked(no), None, "{no}");
    }
}
