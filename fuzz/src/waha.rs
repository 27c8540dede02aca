//! WAHA: what must hold for its requests.

use hookonce::scheme::Proof;
use hookonce::scheme::waha::Waha;

use super::gateway::elements;
use super::parse::{check_parse, check_payloads};

/// The bytes are the body of a request.
pub fn waha_parse(bytes: &[u8]) {
    let waha = Waha::new(Proof::Unverified);
    let events = check_parse(&waha, bytes);
    check_payloads(&waha, &events);
    if let Some(counted) = elements(bytes, "payload") {
        assert_eq!(events.len(), counted);
    }
}
