//! Meta: WhatsApp's Cloud API and whatever else signs and shapes its webhooks so.
//!
//! Proves the sender by `X-Hub-Signature-256` over the raw bytes, answers the `hub.*` challenge, and
//! cuts a request into single-element events. Knows nothing of what a message says: only where its
//! id, kind, account, sender and time are; everything else is opaque.

mod challenge;
mod contacts;
mod family;
mod history;
mod walk;

use crate::event::NewEvent;

use super::signature::Hash;
use super::{
    Challenge, Origin, Proof, Request, Scheme, Secret, Signed, Unproven, Unsigned, Verified, cut,
};

/// The scheme of Meta's webhooks.
#[derive(Debug)]
pub struct Meta {
    proof: Proof,
    signature: MetaSignature,
    verify_token: Option<Secret>,
}

/// Who signs what Meta sends, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MetaSignature {
    /// Meta itself: `X-Hub-Signature-256: sha256=` and the HMAC under the app secret.
    #[default]
    Meta,
    /// 360dialog, which passes Meta's bodies on: `x-360dialog-signature`, the bare HMAC under the
    /// platform secret. It asks no challenge.
    Dialog360,
}

impl MetaSignature {
    /// The header that has the signature, and what stands in front of its hex digits.
    fn header(self) -> (&'static str, &'static str) {
        match self {
            Self::Meta => ("X-Hub-Signature-256", "sha256="),
            Self::Dialog360 => ("x-360dialog-signature", ""),
        }
    }
}

impl Meta {
    /// Takes requests that `proof` proves, and challenges that come with `verify_token`; without
    /// one, every challenge is refused.
    pub fn new(proof: Proof, verify_token: Option<Secret>) -> Self {
        Self { proof, signature: MetaSignature::Meta, verify_token }
    }

    /// Takes requests that 360dialog passes on, which `proof` proves.
    pub fn dialog360(proof: Proof) -> Self {
        Self { proof, signature: MetaSignature::Dialog360, verify_token: None }
    }

    /// The signature that a request claims. The legacy `X-Hub-Signature` (SHA-1) is no proof.
    fn tag(&self, request: &Request) -> Result<[u8; 32], Unproven> {
        let (name, prefix) = self.signature.header();
        let header = request.only_header(name)?.as_bytes();
        let hex = header.strip_prefix(prefix.as_bytes()).ok_or(Unproven::Malformed)?;
        let mut tag = [0; 32];
        // Refuses every length but 64 and every byte that is no hex digit.
        hex::decode_to_slice(hex, &mut tag).map_err(|_| Unproven::Malformed)?;
        Ok(tag)
    }
}

impl Scheme for Meta {
    fn verify(&self, request: Request) -> Result<Verified, Unproven> {
        let tag = match self.proof {
            Proof::Secrets(_) => self.tag(&request)?,
            Proof::Unverified => [0; 32],
        };
        // Meta's bytes on the wire are what it signed, escapes and all; a parsed and printed body
        // would fail as soon as there is an accent in it.
        Verified::prove(request, &self.proof, |request, secret| {
            Hash::Sha256.matches(secret.bytes(), &[&request.body], &tag)
        })
    }

    fn parse(&self, verified: &Verified, origin: &Origin) -> Vec<NewEvent> {
        cut::events(verified.body(), origin, walk::find)
    }

    fn sign(&self, unsigned: &Unsigned<'_>) -> Signed {
        Signed::json(self.proof.first().map(|secret| {
            let (name, prefix) = self.signature.header();
            let tag = Hash::Sha256.sign(secret.bytes(), &[unsigned.body]);
            (name.to_owned(), [prefix, &hex::encode(tag)].concat())
        }))
    }

    fn challenge(&self, query: &str) -> Challenge {
        match self.signature {
            MetaSignature::Meta => challenge::answer(query, self.verify_token.as_ref()),
            MetaSignature::Dialog360 => Challenge::NotAsked,
        }
    }
}
