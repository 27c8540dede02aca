//! Twilio's scheme: what is signed, what is answered, and which event a form is.

#![allow(clippy::unwrap_used, reason = "a test stops where its own input is wrong")]

mod conversation;
mod cut;
mod hostile;
mod signed;

use hookonce::event::NewEvent;
use hookonce::scheme::twilio::Twilio;
use hookonce::scheme::{Proof, Scheme};

use crate::bed::scheme;

fn open() -> Twilio {
    Twilio::new(Proof::Unverified, None)
}

/// The events of a request, whoever sent it.
fn events(body: &[u8]) -> Vec<NewEvent> {
    scheme::events(&open(), body)
}

#[test]
fn each_vector_gives_its_events() {
    assert_eq!(scheme::check_vectors("twilio", &open()), 21);
}

#[test]
fn the_answer_is_an_empty_document() {
    let answer = open().answer().unwrap();
    assert_eq!(answer.content_type, "text/xml");
    assert!(answer.body.ends_with("<Response/>"));
}

#[test]
fn a_copy_in_another_order_or_with_new_parameters_is_no_mismatch() {
    let digest = |body: &str| {
        let events = events(body.as_bytes());
        assert_eq!(events[0].key.as_str(), "message:SM1");
        events[0].digest
    };
    let first = digest("MessageSid=SM1&From=1&To=2&Body=a+b");
    assert_eq!(first, digest("Body=a%20b&New=1&To=2&MessageSid=SM1&From=1"));
    // What Twilio adds for the address that it falls back to.
    assert_eq!(first, digest("MessageSid=SM1&From=1&To=2&Body=a+b&ErrorCode=11200&ErrorUrl=x"));
    for other in ["Body=b&From=1&To=2", "Body=a+b&From=1&To=3", "Body=a+b&From=1&To=2&MediaUrl0=x"]
    {
        assert_ne!(first, digest(&format!("MessageSid=SM1&{other}")));
    }
}

#[test]
fn a_status_says_why_in_its_digest() {
    let digest = |rest: &str| {
        events(format!("MessageSid=SM1&MessageStatus=failed{rest}").as_bytes())[0].digest
    };
    assert_ne!(digest("&ErrorCode=1"), digest("&ErrorCode=2"));
    assert_eq!(digest("&ErrorCode=1&RawDlrDoneDate=1"), digest("&ErrorCode=1"));
}

#[test]
fn a_message_and_its_statuses_are_different_events() {
    let key = |body: &str| events(body.as_bytes())[0].key.clone();
    let keys = [
        key("MessageSid=SM1"),
        key("MessageSid=SM1&MessageStatus=sent"),
        key("MessageSid=SM1&MessageStatus=delivered"),
        key("MessageSid=sm1"),
        key("CallSid=SM1&CallStatus=completed"),
    ];
    for (n, key) in keys.iter().enumerate() {
        assert_eq!(keys.iter().position(|other| other == key), Some(n));
    }
    assert_eq!(key("MessageSid=SM1&SmsStatus=received"), keys[0]);
    assert_eq!(key("SmsSid=SM1&SmsStatus=sent"), keys[1]);
}

#[test]
fn keys_pressed_in_one_call_are_different_events() {
    let key = |digits| {
        let body = format!("CallSid=CA1&CallStatus=in-progress&Digits={digits}");
        events(body.as_bytes())[0].key.clone()
    };
    assert_ne!(key(1), key(2));
    assert_eq!(key(1), key(1));
}
