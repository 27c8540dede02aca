//! Meta: WhatsApp's Cloud API and whatever else signs and shapes its webhooks so.
//!
//! Proves the sender by `X-Hub-Signature-256` over the raw bytes, answers the `hub.*` challenge, and
//! cuts a request into single-element events. Knows nothing of what a message says: only where its
//! id, kind, account, sender and time are; everything else is opaque.

mod challenge;
mod contacts;
mod cut;
mod family;
mod frame;
mod history;
mod walk;

use crate::event::NewEvent;

use super::signature::{hmac_sha256_hex, hmac_sha256_matches};
use super::{Challenge, Origin, Proof, Request, Scheme, Secret, Unproven, Verified};

const SIGNATURE: &str = "X-Hub-Signature-256";
const PREFIX: &str = "sha256=";

/// The scheme of Meta's webhooks.
#[derive(Debug)]
pub struct Meta {
    proof: Proof,
    verify_token: Option<Secret>,
}

impl Meta {
    /// Takes requests that `proof` proves, and challenges that come with `verify_token`; without
    /// one, every challenge is refused.
    pub fn new(proof: Proof, verify_token: Option<Secret>) -> Self {
        Self { proof, verify_token }
    }
}

impl Scheme for Meta {
    fn verify(&self, request: Request) -> Result<Verified, Unproven> {
        let tag = match self.proof {
            Proof::Secrets(_) => signature(&request)?,
            Proof::Unverified => [0; 32],
        };
        // Meta's bytes on the wire are what it signed, escapes and all; a parsed and printed body
        // would fail as soon as there is an accent in it.
        Verified::prove(request, &self.proof, |request, secret| {
            hmac_sha256_matches(secret, &request.body, &tag)
        })
    }

    fn parse(&self, verified: &Verified, origin: &Origin) -> Vec<NewEvent> {
        cut::events(verified.body(), origin)
    }

    fn challenge(&self, query: &str) -> Challenge {
        challenge::answer(query, self.verify_token.as_ref())
    }

    fn sign(&self, body: &[u8]) -> Option<Vec<(&'static str, String)>> {
        let Proof::Secrets(secrets) = &self.proof else { return None };
        let hex = hmac_sha256_hex(secrets.first()?, body);
        Some(vec![(SIGNATURE, [PREFIX, &hex].concat())])
    }
}

/// The signature that a request claims. One header only: of two, an intermediary and we might each
/// look at another. The legacy `X-Hub-Signature` (SHA-1) is no proof.
fn signature(request: &Request) -> Result<[u8; 32], Unproven> {
    let mut headers = request.headers.get_all(SIGNATURE).iter();
    let header = headers.next().ok_or(Unproven::Missing)?;
    let hex = header.as_bytes().strip_prefix(PREFIX.as_bytes()).ok_or(Unproven::Malformed)?;
    let mut tag = [0; 32];
    // Refuses every length but 64 and every byte that is no hex digit.
    hex::decode_to_slice(hex, &mut tag).map_err(|_| Unproven::Malformed)?;
    if headers.next().is_some() { Err(Unproven::Malformed) } else { Ok(tag) }
}
