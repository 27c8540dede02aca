//! WAHA, a gateway to `WhatsApp`: one event a request, announced under one name or several.
//!
//! Proves the sender by `X-Webhook-Hmac` over the raw bytes. Takes keys and codes out of a body before
//! anything else looks at it. Knows nothing of the engines below it but where they put a number and
//! the sort of a message.

mod family;
mod message;

use crate::event::NewEvent;

use super::cut::{self, Parts};
use super::redact::{cut_off, redact};
use super::signature::Hash;
use super::{Origin, Proof, Request, Scheme, Signed, Unproven, Unsigned, Verified};

const SIGNATURE: &str = "X-Webhook-Hmac";
const ALGORITHM: &str = "X-Webhook-Hmac-Algorithm";

/// Members, at any depth, that some engines pass on: what `WhatsApp`'s own encryption needs, and codes
/// that would connect another device.
const SECRET: [&str; 3] = ["appstatesynckeyshare", "historysyncnotification", "qr"];

/// The scheme of WAHA's webhooks.
#[derive(Debug)]
pub struct Waha {
    proof: Proof,
}

impl Waha {
    /// Takes requests that `proof` proves.
    pub fn new(proof: Proof) -> Self {
        Self { proof }
    }
}

impl Scheme for Waha {
    fn verify(&self, request: Request) -> Result<Verified, Unproven> {
        let tag = match self.proof {
            Proof::Secrets(_) => tag(&request)?,
            Proof::Unverified => [0; 64],
        };
        Verified::prove(request, &self.proof, |request, secret| {
            Hash::Sha512.matches(secret.bytes(), &[&request.body], &tag)
        })
    }

    fn parse(&self, verified: &Verified, origin: &Origin) -> Vec<NewEvent> {
        let body = redact(verified.body(), &SECRET);
        let parts = Parts { unreadable: |body| cut_off(body, &SECRET), ..Parts::default() };
        cut::events_by(&parts, &body, origin, family::find)
    }

    fn sign(&self, unsigned: &Unsigned<'_>) -> Signed {
        let headers = self.proof.first().map(|secret| {
            let tag = Hash::Sha512.sign(secret.bytes(), &[unsigned.body]);
            [(SIGNATURE.to_owned(), hex::encode(tag)), (ALGORITHM.to_owned(), "sha512".to_owned())]
        });
        Signed::json(headers.into_iter().flatten())
    }
}

/// The signature that a request claims.
fn tag(request: &Request) -> Result<[u8; 64], Unproven> {
    let header = request.only_header(SIGNATURE)?;
    // It isn't signed, so that another word proves nothing but a sender of another version.
    match request.only_header(ALGORITHM) {
        Ok(word) if !word.as_bytes().eq_ignore_ascii_case(b"sha512") => {
            return Err(Unproven::Malformed);
        }
        Ok(_) | Err(Unproven::Missing) => {}
        Err(why) => return Err(why),
    }
    let mut tag = [0; 64];
    // Refuses every length but 128 and every byte that is no hex digit.
    hex::decode_to_slice(header, &mut tag).map_err(|_| Unproven::Malformed)?;
    Ok(tag)
}
