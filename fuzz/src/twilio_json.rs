//! Twilio's event streams: what must hold for the JSON that they post.

use hookonce::event::NewEvent;
use hookonce::scheme::twilio::Twilio;
use hookonce::scheme::{Origin, Proof, Request, Scheme, Signed, Unproven, Unsigned, Verified};
use serde_json::Value;

use super::parse::{check_parse, check_payloads};

/// The bytes are the body of a request that says it is JSON.
pub fn twilio_json(bytes: &[u8]) {
    let twilio = Stream(Twilio::new(Proof::Unverified, None));
    let events = check_parse(&twilio, bytes);
    check_payloads(&twilio, &events);
    let Ok(body) = serde_json::from_slice::<Value>(bytes) else { return };
    if events[0].unreadable != Some("more than 20000 elements") {
        assert_eq!(events.len(), body.as_array().map_or(1, |items| items.len().max(1)));
    }
}

/// A sender that says of everything that it is JSON, whatever it looks like.
#[derive(Debug)]
struct Stream(Twilio);

impl Scheme for Stream {
    fn verify(&self, request: Request) -> Result<Verified, Unproven> {
        self.0.verify(request)
    }

    fn parse(&self, verified: &Verified, origin: &Origin) -> Vec<NewEvent> {
        self.0.parse(verified, origin)
    }

    fn sign(&self, _: &Unsigned<'_>) -> Signed {
        Signed::json([])
    }
}
