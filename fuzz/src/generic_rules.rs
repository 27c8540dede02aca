//! The generic scheme: what must hold for any rules and any body.

mod count;
mod rules;

use hookonce::element::pointer;
use hookonce::event::JSON;
use hookonce::scheme::Proof;
use hookonce::scheme::generic::Generic;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::parse::{check_parse, check_payloads};
use rules::Rules;

/// The bytes up to the first NUL are rules, see [`Rules::read`]; the rest is the body of a request.
pub fn generic_rules(bytes: &[u8]) {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    let (text, body) = (&bytes[..end], bytes.get(end + 1..).unwrap_or_default());
    let rules = Rules::read(&String::from_utf8_lossy(text));
    let is_array = body.trim_ascii_start().starts_with(b"[");
    let (places, contents) = (rules.places(), rules.contents());
    let (looks_elsewhere, options) = (rules.looks_elsewhere(is_array), rules.options);
    let generic = Generic::new(options, Proof::Unverified).expect("there are no secrets");
    let events = check_parse(&generic, body);
    if !looks_elsewhere {
        check_payloads(&generic, &events);
    }
    for event in events.iter().filter(|event| event.unreadable.is_none()) {
        assert_eq!(event.content_type, JSON);
        let element = pointer(&event.payload, &event.element).expect("it is there");
        // What is the same in every copy is a part of the element.
        let contents = contents.iter().filter_map(|content| pointer(element, content));
        let is = |text: &str| event.digest == <[u8; 32]>::from(Sha256::digest(text));
        assert!(is(element) || contents.into_iter().any(is), "a digest of something else");
    }
    let Ok(body) = serde_json::from_slice::<Value>(body) else { return };
    if !events[0].unreadable.is_some_and(|why| why.starts_with("more than ")) {
        assert_eq!(events.len(), count::elements(&body, &places));
    }
}
