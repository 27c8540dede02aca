//! The ways in which a sender proves itself.

use std::cell::Cell;

use axum::http::{HeaderName, header::AUTHORIZATION};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::SignedDuration;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use super::super::{Proof, Request, Secret, Unproven, Unsigned, Verified, jwt};
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
    /// How far the token's times may be from ours. Where it is given, a token must have one.
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

    /// Whether whatever `part` may be taken from is proven to be the sender's.
    pub fn covers(&self, part: &Part) -> bool {
        let (body, header): (bool, &dyn Fn(&str) -> bool) = match self {
            Self::Hmac(hmac) => (true, &|name| {
                let place = hmac.timestamp.as_ref().filter(|_| hmac.template.has_timestamp());
                hmac.template.has_header(name)
                    || place.is_some_and(|place| place.header == name && place.prefix.is_empty())
            }),
            Self::Jwt(jwt) => (jwt.body_claim.is_some(), &|_| false),
            Self::Header { .. } | Self::Bearer | Self::Basic => (false, &|_| false),
        };
        (body || !part.needs_body()) && part.headers().all(header)
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
                let value = text(&request, name)?;
                let secret = value.strip_prefix(&**prefix).ok_or(Unproven::Malformed)?.to_owned();
                Verified::prove(request, proof, |_, known| known.matches(&secret))
            }
            Self::Bearer => {
                let secret = credentials(&request, "Bearer")?;
                Verified::prove(request, proof, |_, known| known.matches(&secret))
            }
            Self::Basic => {
                let encoded = credentials(&request, "Basic")?;
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
        let token = credentials(&request, "Bearer")?;
        let (now, tolerance) = (request.received_at, self.tolerance.unwrap_or(LEEWAY));
        jwt::check_form(&token)?;
        // Of the secret that made it, whether its times were right and its body this one.
        let outcome = Cell::new(Err(Unproven::Wrong));
        let verified = Verified::prove(request, proof, |request, secret| {
            let said = jwt::verify(&token, secret.bytes(), now, tolerance);
            let said = said.and_then(|claims| self.accept(&claims, request));
            let is_signed = !matches!(said, Err(Unproven::Wrong | Unproven::Malformed));
            if is_signed {
                outcome.set(said);
            }
            is_signed
        })?;
        if matches!(proof, Proof::Unverified) {
            return Ok(verified);
        }
        outcome.get().map(|()| verified)
    }

    /// Whether a proven token is for this body, and for this time.
    fn accept(&self, claims: &jwt::Claims, request: &Request) -> Result<(), Unproven> {
        if let Some(name) = &self.body_claim {
            let mut hash = [0; 32];
            let claimed = claims.text(name).ok_or(Unproven::Malformed)?;
            hex::decode_to_slice(claimed, &mut hash).map_err(|_| Unproven::Malformed)?;
            if !bool::from(Sha256::digest(&request.body)[..].ct_eq(&hash)) {
                return Err(Unproven::Wrong);
            }
        }
        let needs_time = self.tolerance.is_some();
        if needs_time && !claims.has_time() { Err(Unproven::Untimely) } else { Ok(()) }
    }

    fn sign(&self, secret: &Secret, unsigned: &Unsigned<'_>) -> String {
        let mut claims = vec![("jti", unsigned.id.to_owned())];
        if let Some(name) = &self.body_claim {
            claims.push((name, hex::encode(Sha256::digest(unsigned.body))));
        }
        jwt::sign(&claims, secret.bytes(), unsigned.at)
    }
}

/// What stands behind the name of the scheme in `Authorization`.
fn credentials(request: &Request, scheme: &str) -> Result<String, Unproven> {
    let value = text(request, &AUTHORIZATION)?;
    let (named, rest) = value.split_once(' ').ok_or(Unproven::Malformed)?;
    let rest = rest.trim();
    if rest.is_empty() || !named.eq_ignore_ascii_case(scheme) {
        return Err(Unproven::Malformed);
    }
    Ok(rest.to_owned())
}

fn text<'r>(request: &'r Request, name: &HeaderName) -> Result<&'r str, Unproven> {
    let value = request.only_header(name.as_str())?;
    std::str::from_utf8(value.as_bytes()).map_err(|_| Unproven::Malformed)
}
