//! The ways in which a sender proves itself.

use axum::http::{HeaderName, header::AUTHORIZATION};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::SignedDuration;
use serde_json::Map;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use super::super::jwt::{self, Age, Leeway, Token};
use super::super::{Proof, Request, Secret, Unproven, Unsigned, Verified};
use super::mac::HmacSigning;
use super::{Misspelt, Part};

/// How far a clock may be from ours where nothing says how far.
const LEEWAY: SignedDuration = SignedDuration::from_secs(300);

/// How a sender proves itself. Only the first way, and the last where the token names the body, say
/// anything of the body.
#[derive(Debug, Clone)]
pub enum Signing {
    /// By an HMAC over the body.
    Hmac(HmacSigning),
    /// By the secret itself in a header, behind a prefix.
    Header {
        /// The header.
        name: HeaderName,
        /// What stands in front of the secret.
        prefix: String,
    },
    /// By the secret itself: `Authorization: Bearer SECRET`.
    Bearer,
    /// By user and password, which are the secret: `Authorization: Basic …`.
    Basic,
    /// By a token that is signed with the secret: `Authorization: Bearer TOKEN`.
    Jwt(JwtSigning),
}

/// What a token must say.
#[derive(Debug, Clone, Default)]
pub struct JwtSigning {
    /// The claim that has the SHA-256 of the body, in hex digits. Where it is named, every token must
    /// have it.
    pub body_claim: Option<String>,
    /// How far the token's times may be from ours. Where it is given, a token must have one, and one
    /// that says when it was made is taken for this long, whatever its end.
    pub tolerance: Option<SignedDuration>,
}

impl Signing {
    /// Refuses a secret that can't be one of this sender's, with what to write.
    pub fn check(&self, secret: &Secret) -> Result<(), Misspelt> {
        match self {
            Self::Hmac(hmac) if hmac.key(secret).is_none() => {
                let form = hmac.secret_form.encoding.in_words();
                Err(Misspelt::new(format!("it is not {form}, as `secret_encoding` says")))
            }
            Self::Basic if !secret.expose().contains(':') => {
                Err(Misspelt::new("it has no `:`; write user and password as `user:password`"))
            }
            _ => Ok(()),
        }
    }

    /// Whether the body is proven to be the sender's.
    pub fn covers_body(&self) -> bool {
        match self {
            // No template is without it.
            Self::Hmac(_) => true,
            Self::Jwt(jwt) => jwt.body_claim.is_some(),
            Self::Header { .. } | Self::Bearer | Self::Basic => false,
        }
    }

    /// Whether whatever `part` may be taken from is proven to be the sender's.
    pub fn covers(&self, part: &Part) -> bool {
        let header: &dyn Fn(&str) -> bool = match self {
            Self::Hmac(hmac) => &|name| {
                let place = hmac.timestamp.as_ref().filter(|_| hmac.template.has_timestamp());
                hmac.template.has_header(name)
                    || place.is_some_and(|place| place.header == name && place.prefix.is_empty())
            },
            Self::Jwt(_) | Self::Header { .. } | Self::Bearer | Self::Basic => &|_| false,
        };
        (self.covers_body() || !part.needs_body()) && part.headers().all(header)
    }

    pub(super) fn verify(
        &self,
        request: Request,
        proof: &Proof,
        public_url: Option<&str>,
    ) -> Result<Verified, Unproven> {
        match self {
            Self::Hmac(hmac) => hmac.verify(request, proof, public_url),
            Self::Header { name, prefix } => {
                let value = request.header_text(name.as_str())?;
                let secret = value.strip_prefix(&**prefix).ok_or(Unproven::Malformed)?.to_owned();
                Verified::prove(request, proof, |_, known| known.matches(&secret))
            }
            Self::Bearer => {
                let secret = request.credentials("Bearer")?.to_owned();
                Verified::prove(request, proof, |_, known| known.matches(&secret))
            }
            Self::Basic => {
                let encoded = request.credentials("Basic")?.to_owned();
                let pair = STANDARD.decode(encoded).map_err(|_| Unproven::Malformed)?;
                Verified::prove(request, proof, |_, known| known.bytes().ct_eq(&pair).into())
            }
            Self::Jwt(jwt) => jwt.verify(request, proof),
        }
    }

    /// The headers that the sender would put on such a body.
    pub(super) fn sign(&self, secret: &Secret, unsigned: &Unsigned<'_>) -> Vec<(String, String)> {
        let authorization = |scheme: &str, text: &str| {
            vec![(AUTHORIZATION.to_string(), format!("{scheme} {text}"))]
        };
        match self {
            Self::Hmac(hmac) => hmac.sign(secret, unsigned),
            Self::Header { name, prefix } => {
                vec![(name.to_string(), [&**prefix, secret.expose()].concat())]
            }
            Self::Bearer => authorization("Bearer", secret.expose()),
            Self::Basic => authorization("Basic", &STANDARD.encode(secret.expose())),
            Self::Jwt(jwt) => authorization("Bearer", &jwt.sign(secret, unsigned)),
        }
    }
}

impl JwtSigning {
    fn verify(&self, request: Request, proof: &Proof) -> Result<Verified, Unproven> {
        let token = Token::of(&request)?;
        let verified = Verified::prove(request, proof, |_, secret| token.is_under(secret.bytes()))?;
        self.accept(&token, verified.request())?;
        Ok(verified)
    }

    /// Whether a proven token is for this body, and for this time.
    fn accept(&self, token: &Token, request: &Request) -> Result<(), Unproven> {
        if let Some(name) = &self.body_claim {
            let mut hash = [0; 32];
            let claimed = token.claim(name).ok_or(Unproven::Malformed)?;
            hex::decode_to_slice(claimed, &mut hash).map_err(|_| Unproven::Malformed)?;
            if !bool::from(Sha256::digest(&request.body)[..].ct_eq(&hash)) {
                return Err(Unproven::Wrong);
            }
        }
        let tolerance = self.tolerance.unwrap_or(LEEWAY);
        let age = self.tolerance.map_or(Age::WithoutEnd(LEEWAY), Age::Always);
        let leeway = Leeway { early: tolerance, late: tolerance, age };
        let has_time = token.check(request.received_at, leeway)?;
        if self.tolerance.is_some() && !has_time { Err(Unproven::Untimely) } else { Ok(()) }
    }

    fn sign(&self, secret: &Secret, unsigned: &Unsigned<'_>) -> String {
        let mut claims = Map::new();
        claims.insert("iat".into(), unsigned.at.as_second().into());
        claims.insert("jti".into(), unsigned.id.into());
        if let Some(name) = &self.body_claim {
            claims.insert(name.clone(), hex::encode(Sha256::digest(unsigned.body)).into());
        }
        jwt::sign(claims, secret.bytes())
    }
}
