//! Who sent it: secrets, and the proof that a request was signed with one of them.

use std::fmt;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use super::{Request, Unproven};

/// A secret shared with a sender; never shown, never empty.
#[derive(Clone, Eq)]
pub struct Secret(Box<str>);

impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        self.matches(&other.0)
    }
}

impl Secret {
    /// Takes a secret with the white space around it removed; `None` if nothing is left.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| Self(text.into()))
    }

    /// The secret itself.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether `other` is this secret, in time that depends on neither.
    pub fn matches(&self, other: &str) -> bool {
        use subtle::ConstantTimeEq as _;
        self.0.as_bytes().ct_eq(other.as_bytes()).into()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// What a source takes as proof of its sender.
#[derive(Debug, Clone)]
pub enum Proof {
    /// A signature made with any of these: several apps, or a rotation.
    Secrets(Vec<Secret>),
    /// Nothing; only where the configuration says so aloud.
    Unverified,
}

/// A request whose sender is proven. The only thing that can be parsed.
#[derive(Debug)]
pub struct Verified {
    request: Request,
    /// Which of the source's secrets matched, for finishing a rotation safely.
    pub secret: usize,
}

impl Verified {
    /// The one way to a verified request: `matches` holds for one of the proof's secrets. Every
    /// secret is tried, whichever matches, so that time tells nothing of which.
    pub fn prove(
        request: Request,
        proof: &Proof,
        matches: impl Fn(&Request, &Secret) -> bool,
    ) -> Result<Self, Unproven> {
        let secret = match proof {
            Proof::Unverified => Some(0),
            Proof::Secrets(secrets) => {
                let mut found = None;
                for (n, secret) in secrets.iter().enumerate() {
                    if matches(&request, secret) {
                        found = found.or(Some(n));
                    }
                }
                found
            }
        };
        secret.map(|secret| Self { request, secret }).ok_or(Unproven::Wrong)
    }

    /// The body as it was received.
    pub fn body(&self) -> &[u8] {
        &self.request.body
    }
}

/// Whether `tag` is the HMAC-SHA256 of `body` under `secret`, compared in constant time.
pub fn hmac_sha256_matches(secret: &Secret, body: &[u8], tag: &[u8]) -> bool {
    hmac_sha256(secret, body).verify_slice(tag).is_ok()
}

/// Hex of the HMAC-SHA256 of `body` under `secret`.
pub fn hmac_sha256_hex(secret: &Secret, body: &[u8]) -> String {
    hex::encode(hmac_sha256(secret, body).finalize().into_bytes())
}

fn hmac_sha256(secret: &Secret, body: &[u8]) -> Hmac<Sha256> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.expose().as_bytes())
        .expect("HMAC takes a key of any length");
    mac.update(body);
    mac
}
