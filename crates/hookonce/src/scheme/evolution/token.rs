//! The JSON Web Token that Evolution API makes, under HS256 alone.
//!
//! Such a token is three parts in base64 and one HMAC, so that a library for tokens would bring only
//! what must not be here: other algorithms, and a choice that the token itself makes.

use axum::http::HeaderValue;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use crate::element::Json;

use super::super::signature::Hash;
use super::super::{Secret, Unproven, instant};

/// How far the sender's clock may be from ours.
const CLOCK_TOLERANCE: SignedDuration = SignedDuration::from_mins(5);
/// How long after its end a token is still taken. Evolution API makes one that is good for 10 minutes
/// and sends it with each attempt, the last of which comes up to 29 minutes later; a refusal would be
/// final, and the event lost.
const LATE_TOLERANCE: SignedDuration = SignedDuration::from_mins(20);
/// For how long a token of Evolution API's is good.
const LIFETIME: SignedDuration = SignedDuration::from_mins(10);

/// A token as it was presented.
pub(super) struct Token<'h> {
    /// Header and claims, as they are signed.
    signed: &'h [u8],
    tag: [u8; 32],
    claims: Vec<u8>,
}

impl<'h> Token<'h> {
    /// Takes the value of `Authorization` apart. A token of another algorithm, `none` above all, is
    /// malformed.
    pub(super) fn of(header: &'h HeaderValue) -> Result<Self, Unproven> {
        Self::read(header.as_bytes()).ok_or(Unproven::Malformed)
    }

    fn read(header: &'h [u8]) -> Option<Self> {
        let (word, token) = header.split_at_checked("Bearer ".len())?;
        word.eq_ignore_ascii_case(b"Bearer ").then_some(())?;
        let dot = token.iter().rposition(|byte| *byte == b'.')?;
        let (signed, tag) = (&token[..dot], &token[dot + 1..]);
        let first = signed.iter().position(|byte| *byte == b'.')?;
        // A further dot is in no base64.
        let decode = |part: &[u8]| URL_SAFE_NO_PAD.decode(part).ok();
        let (header, claims) = (decode(&signed[..first])?, decode(&signed[first + 1..])?);
        let header = Json::read(&header).ok()?.object()?;
        // What a token says is critical has to be understood; nothing of it is.
        (header.text("alg")? == "HS256" && header.get("crit").is_none()).then_some(())?;
        Some(Self { signed, tag: decode(tag)?.try_into().ok()?, claims })
    }

    /// Whether it was made with this secret.
    pub(super) fn is_under(&self, secret: &Secret) -> bool {
        Hash::Sha256.matches(secret.bytes(), &[self.signed], &self.tag)
    }

    /// Checks the times that it gives, if it does. To be asked once it is proven.
    pub(super) fn check(&self, now: Timestamp) -> Result<(), Unproven> {
        let claims = Json::read(&self.claims).ok().and_then(Json::object);
        let claims = claims.ok_or(Unproven::Malformed)?;
        let at = |name| match claims.get(name) {
            Some(value) => instant_of(value).map(Some).ok_or(Unproven::Malformed),
            None => Ok(None),
        };
        let early = |at: Timestamp| at.duration_since(now) > CLOCK_TOLERANCE;
        let late = |at: Timestamp| now.duration_since(at) > LATE_TOLERANCE;
        let untimely = at("iat")?.is_some_and(early)
            || at("nbf")?.is_some_and(early)
            || at("exp")?.is_some_and(late);
        if untimely { Err(Unproven::Untimely) } else { Ok(()) }
    }
}

/// A time in seconds, of which a part may be given.
fn instant_of(value: Json<'_>) -> Option<Timestamp> {
    let raw = value.raw();
    instant::of_text(raw.split_once('.').map_or(raw, |(seconds, _)| seconds))
}

/// The token that Evolution API would make under this secret.
pub(super) fn sign(secret: &Secret, at: Timestamp) -> String {
    let iat = at.as_second();
    let exp = iat + LIFETIME.as_secs();
    let claims = json!({ "iat": iat, "exp": exp, "app": "evolution", "action": "webhook" });
    let header = json!({ "alg": "HS256", "typ": "JWT" });
    let [header, claims] = [header, claims].map(|part| URL_SAFE_NO_PAD.encode(part.to_string()));
    let signed = format!("{header}.{claims}");
    let tag = URL_SAFE_NO_PAD.encode(Hash::Sha256.sign(secret.bytes(), &[signed.as_bytes()]));
    format!("{signed}.{tag}")
}
