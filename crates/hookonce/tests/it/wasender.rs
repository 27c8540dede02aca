//! The scheme of `WASenderApi`: who sent it, what is kept of it, and which events are in a request.

mod conservation;
mod content;
mod forms;
mod hostile;
mod secrets;

use hookonce::event::NewEvent;
use hookonce::scheme::wasender::Wasender;
use hookonce::scheme::{Challenge, Proof, Scheme, Secret, Unproven, Verified};

use crate::bed::scheme::{self, request};

/// The events of a request, whoever sent it.
fn events(body: &[u8]) -> Vec<NewEvent> {
    scheme::events(&Wasender::new(Proof::Unverified), body)
}

/// The one event of a request.
fn one(body: &str) -> NewEvent {
    let mut events = events(body.as_bytes());
    assert_eq!(events.len(), 1, "{body}");
    events.remove(0)
}

/// Key, kind and digest: what must be the same in two announcements of one event.
fn same(body: &str) -> (String, String, [u8; 32]) {
    let event = one(body);
    assert_eq!(event.unreadable, None, "{body}");
    (event.key.as_str().to_owned(), event.kind.as_str().to_owned(), event.digest)
}

#[test]
fn each_vector_gives_its_events() {
    assert!(scheme::check_vectors("wasender", &Wasender::new(Proof::Unverified)) > 30);
}

fn known_by(secrets: &[&str]) -> Wasender {
    let secrets = secrets.iter().map(|secret| Secret::new(secret).unwrap()).collect();
    Wasender::new(Proof::Secrets(secrets))
}

fn verify(wasender: &Wasender, headers: &[(&str, &[u8])]) -> Result<Verified, Unproven> {
    wasender.verify(request(b"{}", headers))
}

const HEADER: &str = "x-webhook-signature";

#[test]
fn the_header_is_the_secret_itself_whatever_the_body() {
    let wasender = known_by(&["new", " s3cr\u{e9}t ", "old"]);
    let right = "s3cr\u{e9}t".as_bytes();
    assert_eq!(verify(&wasender, &[(HEADER, right)]).unwrap().secret, Some(1));
    assert_eq!(verify(&wasender, &[("X-WEBHOOK-SIGNATURE", b"old")]).unwrap().secret, Some(2));
    let other = wasender.verify(request(b"[1]", &[(HEADER, right)]));
    assert_eq!(other.unwrap().secret, Some(1));
    let headers = wasender.sign(&scheme::unsigned("{}")).headers;
    assert!(headers.contains(&("X-Webhook-Signature".into(), "new".into())));
    assert_eq!(wasender.challenge("hub.mode=subscribe"), Challenge::NotAsked);
}

#[test]
fn any_other_header_proves_nothing() {
    let wasender = known_by(&["s3cret"]);
    let refused = |headers: &[(&str, &[u8])]| verify(&wasender, headers).unwrap_err();
    let hmac = b"sha256=3e3f8a55dde9e05519e898b10b89bf0d0b3b0fdf11fdbf09b6b90476301b98d8";
    for wrong in [&b"s3cre"[..], b"s3crets", b"S3CRET", b"s3cret,s3cret", b"Bearer s3cret", hmac] {
        assert_eq!(refused(&[(HEADER, wrong)]), Unproven::Wrong);
    }
    assert_eq!(refused(&[(HEADER, b"")]), Unproven::Malformed);
    assert_eq!(refused(&[(HEADER, b"\xff")]), Unproven::Malformed);
    assert_eq!(refused(&[(HEADER, b"s3cret"), (HEADER, b"s3cret")]), Unproven::Malformed);
    assert_eq!(refused(&[]), Unproven::Missing);
    assert_eq!(refused(&[("x-webhook-secret", b"s3cret")]), Unproven::Missing);
    // Nothing is equal to nothing.
    let unset = known_by(&[]);
    assert_eq!(verify(&unset, &[]).unwrap_err(), Unproven::Missing);
    assert_eq!(verify(&unset, &[(HEADER, b"")]).unwrap_err(), Unproven::Malformed);
    assert_eq!(verify(&unset, &[(HEADER, b"x")]).unwrap_err(), Unproven::Wrong);
}
