//! Evolution API: what must hold for its requests, whatever credentials are in them.

use hookonce::scheme::Proof;
use hookonce::scheme::evolution::{Evolution, EvolutionSignature};

use super::gateway::{elements, may_be_hidden};
use super::parse::{check_json_payloads, check_parse};
use super::planted::{check_unseen, plant};

/// Names whose values are credentials in any event.
const KEYS: [&str; 2] = ["apikey", "instancetoken"];

/// The bytes are the body of a request, with marks where a credential is put.
pub fn evolution_parse(bytes: &[u8]) {
    let Some(body) = plant(bytes, &KEYS) else { return };
    let evolution = Evolution::new(Proof::Unverified, EvolutionSignature::Jwt);
    let events = check_parse(&evolution, &body);
    check_json_payloads(&evolution, &events);
    check_unseen(&body, &events, &KEYS);
    if let Some(counted) = elements(&body, "data") {
        // Something that has lists in it may be as many as they hold.
        let has_lists = events.iter().any(|event| {
            event.element.ends_with("/messages/0") || event.element.ends_with("/keys/0")
        });
        let is_hidden = events.len() == 1 && may_be_hidden(&body);
        assert!(events.len() == counted || is_hidden || has_lists && events.len() > counted);
    }
}
