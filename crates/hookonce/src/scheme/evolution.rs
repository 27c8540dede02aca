//! Evolution API, a gateway to `WhatsApp`: an event's name, its instance, and one thing or several.
//!
//! Proves the sender by a token or a static secret in a header, which say nothing of the body. Takes
//! the instance's API key and the codes that would connect another device out of a body before
//! anything else looks at it.

mod family;
mod message;
mod token;

use std::borrow::Cow;

use axum::http::HeaderName;

use crate::element::Json;
use crate::event::NewEvent;

use super::redact::redact;
use super::{Origin, Proof, Request, Scheme, Signed, Unproven, Unsigned, Verified, cut, envelope};
use token::Token;

/// Members that hold a key to the gateway, in every request.
const KEYS: [&str; 2] = ["apikey", "instanceToken"];
/// Members that hold what connects another device, in events about that.
const CODES: [&str; 8] =
    ["qrcode", "qr", "qr_code", "base64", "code", "pairingCode", "pairing_code", "token"];

/// The scheme of Evolution API's webhooks.
#[derive(Debug)]
pub struct Evolution {
    proof: Proof,
    signature: EvolutionSignature,
}

/// What proves that a request comes from Evolution API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EvolutionSignature {
    /// `Authorization: Bearer` and a JSON Web Token under HS256, which Evolution API makes where its
    /// webhook's headers have a `jwt_key`.
    Jwt,
    /// A header of this name that is the secret itself.
    Header(HeaderName),
}

impl Evolution {
    /// Takes requests that `proof` proves by this sort of signature.
    pub fn new(proof: Proof, signature: EvolutionSignature) -> Self {
        Self { proof, signature }
    }

    fn verify_token(&self, request: Request) -> Result<Verified, Unproven> {
        let header = request.only_header("Authorization")?.clone();
        let token = Token::of(&header)?;
        let now = request.received_at;
        let verified = Verified::prove(request, &self.proof, |_, secret| token.is_under(secret))?;
        token.check(now)?;
        Ok(verified)
    }

    fn verify_header(&self, request: Request, name: &HeaderName) -> Result<Verified, Unproven> {
        let value = request.only_header(name.as_str())?.clone();
        let given = str::from_utf8(value.as_bytes()).map_err(|_| Unproven::Malformed)?;
        Verified::prove(request, &self.proof, |_, secret| secret.matches(given))
    }
}

impl Scheme for Evolution {
    fn verify(&self, request: Request) -> Result<Verified, Unproven> {
        match (&self.proof, &self.signature) {
            (Proof::Unverified, _) => Verified::prove(request, &self.proof, |_, _| false),
            (Proof::Secrets(_), EvolutionSignature::Jwt) => self.verify_token(request),
            (Proof::Secrets(_), EvolutionSignature::Header(name)) => {
                self.verify_header(request, name)
            }
        }
    }

    fn parse(&self, verified: &Verified, origin: &Origin) -> Vec<NewEvent> {
        cut::events(&redacted(verified.body()), origin, family::find)
    }

    fn sign(&self, unsigned: &Unsigned<'_>) -> Signed {
        Signed::json(self.proof.first().map(|secret| match &self.signature {
            EvolutionSignature::Jwt => {
                ("Authorization".to_owned(), format!("Bearer {}", token::sign(secret, unsigned.at)))
            }
            EvolutionSignature::Header(name) => {
                (name.as_str().to_owned(), secret.expose().to_owned())
            }
        }))
    }
}

/// The body without keys and codes.
fn redacted(body: &[u8]) -> Cow<'_, [u8]> {
    let body = redact(body, &KEYS);
    if !tells_codes(&body) {
        return body;
    }
    match redact(&body, &CODES) {
        Cow::Owned(redacted) => Cow::Owned(redacted),
        Cow::Borrowed(_) => body,
    }
}

/// Whether a body is about codes. Of one that can't be read nobody knows, so that it is if the word
/// stands in it anywhere.
fn tells_codes(body: &[u8]) -> bool {
    const WORD: &[u8] = b"qrcode";
    match Json::read(body) {
        Ok(root) => {
            let name = root.get("event").and_then(Json::text);
            name.is_some_and(|name| envelope::dotted(&name).starts_with("qrcode"))
        }
        Err(_) => body.windows(WORD.len()).any(|part| part.eq_ignore_ascii_case(WORD)),
    }
}
