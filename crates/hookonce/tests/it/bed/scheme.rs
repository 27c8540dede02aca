//! Asks a scheme: requests made by hand, and vectors, which are requests beside the events that they
//! must give.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::http::{HeaderMap, HeaderName, HeaderValue, Uri};
use hookonce::event::{Lane, NewEvent};
use hookonce::scheme::{Origin, Request, Scheme, Unsigned};
use jiff::Timestamp;
use serde_json::{Value, json};

/// When every request of these tests arrives.
pub(crate) fn now() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().unwrap()
}

/// A request with this body and these headers.
pub(crate) fn request(body: &[u8], headers: &[(&str, &[u8])]) -> Request {
    let header = |(name, value): &(&str, &[u8])| {
        (name.parse::<HeaderName>().unwrap(), HeaderValue::from_bytes(value).unwrap())
    };
    let mut map = HeaderMap::new();
    for (name, value) in headers.iter().map(header) {
        map.append(name, value);
    }
    let target = Uri::from_static("/webhooks/source");
    Request { headers: map, body: body.to_vec().into(), target, base: None, received_at: now() }
}

/// A body that is to be signed.
pub(crate) fn unsigned(body: &str) -> Unsigned<'_> {
    let url = "http://127.0.0.1:8080/webhooks/source";
    Unsigned { body: body.as_bytes(), url, id: "msg_test1", at: now() }
}

/// The events of a request that an unverified source takes.
pub(crate) fn events(scheme: &dyn Scheme, body: &[u8]) -> Vec<NewEvent> {
    events_of(scheme, request(body, &[]))
}

/// The events of a request that the scheme must take for proven.
pub(crate) fn events_of(scheme: &dyn Scheme, request: Request) -> Vec<NewEvent> {
    let origin = Origin {
        source: Arc::from("source"),
        scope: Arc::from("scope"),
        received_at: request.received_at,
    };
    let verified = scheme.verify(request).expect("it is proven");
    scheme.parse(&verified, &origin)
}

/// Holds that of twenty elements these can't be read, each for its reason, and the others have ids.
pub(crate) fn check_twenty(found: &[NewEvent], broken: [(usize, &str); 2], about: &str) {
    assert_eq!(found.len(), 20, "{about}");
    for (n, found) in found.iter().enumerate() {
        let right = broken.iter().find(|(at, _)| *at == n).map(|(_, reason)| *reason);
        assert_eq!((found.unreadable, found.weak_key), (right, right.is_some()), "{about} {n}");
    }
}

/// Compares the events of each request in `tests/it/{folder}` with those in the file beside it,
/// which `UPDATE=1` rewrites; gives how many there were.
pub(crate) fn check_vectors(folder: &str, scheme: &dyn Scheme) -> usize {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it").join(folder);
    let files = std::fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path());
    let is_request = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        let is_data = [".json", ".form"].iter().any(|ending| name.ends_with(ending));
        is_data && !name.ends_with(".events.json")
    };
    let mut seen = 0;
    for path in files.filter(is_request) {
        let found = events(scheme, &std::fs::read(&path).unwrap());
        let found: Vec<Value> = found.iter().map(shown).collect();
        let found = serde_json::to_string_pretty(&found).unwrap() + "\n";
        let expected = path.with_extension("events.json");
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&expected, &found).unwrap();
        }
        let right = std::fs::read_to_string(&expected).unwrap();
        assert_eq!(found, right, "{}", path.display());
        seen += 1;
    }
    seen
}

fn shown(event: &NewEvent) -> Value {
    let mut shown = json!({
        "key": event.key.as_str(),
        "kind": event.kind.as_str(),
        "lane": event.lane.as_ref().map(Lane::as_str),
        "priority": event.priority,
        "element": event.element,
        "sent_at": event.sent_at,
        "payload": event.payload,
    });
    // Only what is out of the ordinary, so that the files can be read.
    if event.content_type != "application/json" {
        shown["content_type"] = event.content_type.into();
    }
    if let Some(reason) = event.unreadable {
        shown["unreadable"] = reason.into();
    }
    assert_eq!(event.weak_key, event.key.as_str().starts_with("hash:"));
    shown
}
