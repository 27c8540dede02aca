//! `WASenderApi`: a gateway that speaks to `WhatsApp` as one of its own clients does.
//!
//! Proves the sender by `X-Webhook-Signature`, which is the secret itself: nothing signs the body.
//! Takes credentials out before anything else, and cuts a request into single-element events, of
//! which a message is one however many names announce it. Has no session in any key: which session
//! it is, the source's path says.

mod conversation;
mod element;
mod message;
mod name;
mod other;
mod secret;
mod status;
mod walk;

use std::borrow::Cow;

use crate::event::NewEvent;

use super::cut::{self, Part, Parts};
use super::signature::Verified;
use super::{Origin, Proof, Request, Scheme, Signed, Unproven, Unsigned};
use secret::SECRETS;

/// The header that has the secret.
const HEADER: &str = "X-Webhook-Signature";

/// The scheme of `WASenderApi`'s webhooks.
#[derive(Debug)]
pub struct Wasender {
    proof: Proof,
}

impl Wasender {
    /// Takes requests that `proof` proves.
    pub fn new(proof: Proof) -> Self {
        Self { proof }
    }
}

impl Scheme for Wasender {
    fn verify(&self, request: Request) -> Result<Verified, Unproven> {
        if let Proof::Secrets(_) = self.proof {
            claimed(&request)?;
        }
        Verified::prove(request, &self.proof, |request, secret| {
            claimed(request).is_ok_and(|claimed| secret.matches(claimed))
        })
    }

    fn parse(&self, verified: &Verified, origin: &Origin) -> Vec<NewEvent> {
        let body = SECRETS.redacted(verified.body());
        let unreadable: Part = |body| Cow::Owned(SECRETS.redacted_unreadable(body));
        cut::events_by(&Parts { unreadable, ..Parts::default() }, &body, origin, walk::find)
    }

    fn sign(&self, _: &Unsigned<'_>) -> Signed {
        let secret = self.proof.first();
        Signed::json(secret.map(|secret| (HEADER.to_owned(), secret.expose().to_owned())))
    }
}

/// The secret that a request claims to know.
fn claimed(request: &Request) -> Result<&str, Unproven> {
    let claimed = std::str::from_utf8(request.only_header(HEADER)?.as_bytes());
    claimed.ok().filter(|claimed| !claimed.is_empty()).ok_or(Unproven::Malformed)
}
