//! What holds for the events of any request, whatever the scheme.
//!
//! Which elements a request has is not known here: that is counted scheme by scheme.

use hookonce::element::{Json, pointer};
use hookonce::event::{BASE64, EventId, JSON, Lane, NewEvent, PLAIN_TEXT};
use hookonce::scheme::{Origin, Scheme};
use serde_json::value::RawValue;

use super::request::{NOW, signed};

const SOURCE: &str = "source";
const SCOPE: &str = "scope";

/// The most events of a request, and the most bytes that their payloads take, with some room for
/// what is added around a body that can't be cut.
const EVENTS: usize = 20_000;
const EXPANDED: usize = (64 << 20) + (64 << 10);

/// Parses a request of these bytes, whose sender is proven, and checks what holds for the events of
/// any scheme.
pub fn check_parse(scheme: &dyn Scheme, bytes: &[u8]) -> Vec<NewEvent> {
    let events = parse(scheme, bytes);
    assert!((1..=EVENTS).contains(&events.len()), "{} events", events.len());
    let expanded: usize = events.iter().map(|event| event.payload.len()).sum();
    // One event may be as large as its request, which base64 makes larger by a third.
    assert!(expanded <= EXPANDED.max(2 * bytes.len()), "{expanded} bytes of payloads");
    for event in &events {
        check_event(event);
    }
    let again = parse(scheme, bytes);
    assert!(events.iter().map(identity).eq(again.iter().map(identity)), "not the same again");
    events
}

/// Checks that each payload is itself a request that gives its event and no other.
pub fn check_payloads(scheme: &dyn Scheme, events: &[NewEvent]) {
    for event in events.iter().filter(|event| event.content_type != BASE64) {
        let again = parse(scheme, event.payload.as_bytes());
        let [again] = &again[..] else { panic!("{} events of {}", again.len(), event.payload) };
        // A hash is over the whole request, and that is another one now.
        let key = |event: &NewEvent| (!event.weak_key).then(|| event.key.clone());
        let parts = |event: &NewEvent| {
            let texts = (event.payload.clone(), event.element.clone(), event.content_type);
            (key(event), event.kind.clone(), event.lane.clone(), texts, event.digest)
        };
        assert_eq!(parts(again), parts(event));
        assert_eq!((again.sent_at, again.unreadable), (event.sent_at, event.unreadable));
        assert_eq!(again.priority, event.priority);
    }
}

/// The same for those alone that are JSON: of a body that can't be read, what may be a credential is
/// taken out, and more of it where less is left.
pub fn check_json_payloads(scheme: &dyn Scheme, events: &[NewEvent]) {
    let json: Vec<_> = events.iter().filter(|event| event.content_type == JSON).cloned().collect();
    check_payloads(scheme, &json);
}

fn parse(scheme: &dyn Scheme, bytes: &[u8]) -> Vec<NewEvent> {
    let verified = scheme.verify(signed(scheme, bytes, &[])).expect("what a scheme signs it takes");
    let (source, scope) = (SOURCE.into(), SCOPE.into());
    scheme.parse(&verified, &Origin { source, scope, received_at: NOW })
}

fn check_event(event: &NewEvent) {
    let key = event.key.as_str();
    assert!(!key.is_empty() && is_plain(key, 512), "key {key:?}");
    assert_eq!(event.id, EventId::of(SCOPE, key));
    let kind = event.kind.as_str();
    let letter = |b: u8| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'.');
    assert!((1..=64).contains(&kind.len()) && kind.bytes().all(letter), "kind {kind:?}");
    let lane = event.lane.as_ref().map_or("", Lane::as_str);
    assert!(is_plain(lane, 256), "lane {lane:?}");
    assert!(event.unreadable.is_none() || kind == "unreadable", "{kind} can't be read");
    assert_eq!((&*event.source, event.received_at), (SOURCE, NOW));
    assert!(event.tasks.is_empty(), "a scheme knows no route");
    check_payload(event);
}

/// Whether a store may keep the text as it is.
fn is_plain(text: &str, limit: usize) -> bool {
    text.len() <= limit && !text.chars().any(|c| c.is_control() || c == '\u{fffd}')
}

fn check_payload(event: &NewEvent) {
    let payload = &event.payload;
    if event.content_type != JSON {
        let unread = [PLAIN_TEXT, BASE64].contains(&event.content_type);
        assert!(!unread || event.unreadable.is_some(), "{} is handled", event.content_type);
        // What a store's text can't hold is base64.
        assert!(!payload.contains('\0'));
        return;
    }
    assert!(serde_json::from_str::<&RawValue>(payload).is_ok(), "no JSON: {payload}");
    if Json::read(payload.as_bytes()).is_ok() {
        assert!(pointer(payload, &event.element).is_some(), "{} in {payload}", event.element);
    } else {
        assert!(event.unreadable.is_some() && event.element.is_empty(), "too deep and handled");
    }
}

/// What makes an event the same on every node and on every day.
fn identity(event: &NewEvent) -> (EventId, [u8; 32], &str, &str) {
    (event.id, event.digest, &event.payload, &event.element)
}
