//! Evolution API, a gateway to `WhatsApp`: an event's name, its instance, and one thing or several.
//!
//! Proves the sender by a token or a static secret in a header, which say nothing of the body. Takes
//! the instance's API key and the codes that would connect another device out of a body before
//! anything else looks at it.

mod change;
mod family;
mod message;

use std::borrow::Cow;

use axum::http::HeaderName;
use jiff::{SignedDuration, Timestamp};
use serde_json::Map;

use crate::event::NewEvent;

use super::cut::{self, Part, Parts};
use super::gateway::Secrets;
use super::jwt::{self, Age, Leeway, Token};
use super::redact::redact_where;
use super::{Origin, Proof, Request, Scheme, Secret, Signed, Unproven, Unsigned, Verified};

/// How far the times of a token may be from ours. Evolution API makes one that is good for 10 minutes
/// and sends it with each attempt, the last of which comes up to 29 minutes later; a refusal would be
/// final, and the event lost.
const LEEWAY: Leeway = Leeway {
    early: SignedDuration::from_mins(5),
    late: SignedDuration::from_mins(20),
    age: Age::Any,
};
/// For how long a token of Evolution API's is good.
const LIFETIME: SignedDuration = SignedDuration::from_mins(10);

/// Keys to the gateway, codes that connect another device, and what `WhatsApp`'s own encryption needs.
const SECRETS: Secrets = Secrets {
    always: &[
        "apikey",
        "instancetoken",
        "qrcode",
        "qr",
        "pairingcode",
        "appstatesynckeyshare",
        "historysyncnotification",
    ],
    outermost: &["token"],
    codes: &["base64", "code", "token"],
    unreadable: &[],
    kept: &["event", "instance", "datetime", "destination", "sender", "serverurl"],
};

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
        let token = Token::of(&request)?;
        let verified =
            Verified::prove(request, &self.proof, |_, secret| token.is_under(secret.bytes()))?;
        token.check(verified.request().received_at, LEEWAY)?;
        Ok(verified)
    }

    fn verify_header(&self, request: Request, name: &HeaderName) -> Result<Verified, Unproven> {
        let given = request.header_text(name.as_str())?.to_owned();
        Verified::prove(request, &self.proof, |_, secret| secret.matches(&given))
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
        let body = SECRETS.redacted(verified.body());
        let unreadable: Part = |body| Cow::Owned(SECRETS.redacted_unreadable(body));
        cut::events_by(&Parts { alike, unreadable }, &body, origin, family::find)
    }

    fn sign(&self, unsigned: &Unsigned<'_>) -> Signed {
        Signed::json(self.proof.first().map(|secret| match &self.signature {
            EvolutionSignature::Jwt => {
                ("Authorization".to_owned(), format!("Bearer {}", token(secret, unsigned.at)))
            }
            EvolutionSignature::Header(name) => {
                (name.as_str().to_owned(), secret.expose().to_owned())
            }
        }))
    }
}

/// The token that Evolution API would make under this secret.
fn token(secret: &Secret, at: Timestamp) -> String {
    let mut claims = Map::new();
    claims.insert("iat".into(), at.as_second().into());
    claims.insert("exp".into(), (at.as_second() + LIFETIME.as_secs()).into());
    claims.insert("app".into(), "evolution".into());
    claims.insert("action".into(), "webhook".into());
    jwt::sign(claims, secret.bytes())
}

/// What is the same in each copy of a request: an instance's webhook and the global one differ in
/// where they go.
fn alike(body: &[u8]) -> Cow<'_, [u8]> {
    redact_where(body, |member| member.is_outermost() && member.is("destination"))
}
