//! `WASenderApi`: what must hold for its requests, whatever credentials are in them.

mod count;

use hookonce::event::NewEvent;
use hookonce::scheme::Proof;
use hookonce::scheme::wasender::Wasender;

use super::parse::{check_json_payloads, check_parse};
use super::planted::{check_unseen, plant};

/// Names whose values are credentials in any event.
const NAMES: [&str; 3] = ["sessionid", "qr", "qrcode"];

/// The bytes are the body of a request, with marks where a credential is put.
pub fn wasender_parse(bytes: &[u8]) {
    let Some(body) = plant(bytes, &NAMES) else { return };
    let wasender = Wasender::new(Proof::Unverified);
    let events = check_parse(&wasender, &body);
    // What is an element and holds others as well is in its own payload with those.
    let is_one = |event: &&NewEvent| count::elements(event.payload.as_bytes()) == Some(1);
    let alone: Vec<_> = events.iter().filter(is_one).cloned().collect();
    check_json_payloads(&wasender, &alone);
    check_unseen(&body, &events, &NAMES);
    if let Some(counted) = count::elements(&body) {
        assert_eq!(events.len(), counted);
    }
}
