//! Who sent it: secrets, and the proof that a request was signed with one of them.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;
use sha2::{Sha256, Sha512};

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

    /// The secret as the key of an HMAC.
    pub fn bytes(&self) -> &[u8] {
        self.0.as_bytes()
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
    /// Which of the source's secrets matched, for finishing a rotation safely; `None` where nothing
    /// was asked for.
    pub secret: Option<usize>,
}

impl Proof {
    /// The secret to sign with.
    pub fn first(&self) -> Option<&Secret> {
        match self {
            Self::Secrets(secrets) => secrets.first(),
            Self::Unverified => None,
        }
    }
}

impl Verified {
    /// The one way to a verified request: `matches` holds for one of the proof's secrets. Every
    /// secret is tried, whichever matches, so that time tells nothing of which.
    pub fn prove(
        request: Request,
        proof: &Proof,
        matches: impl Fn(&Request, &Secret) -> bool,
    ) -> Result<Self, Unproven> {
        let Proof::Secrets(secrets) = proof else { return Ok(Self { request, secret: None }) };
        let mut found = None;
        for (n, secret) in secrets.iter().enumerate() {
            if matches(&request, secret) {
                found = found.or(Some(n));
            }
        }
        if found.is_none() { Err(Unproven::Wrong) } else { Ok(Self { request, secret: found }) }
    }

    /// The body as it was received.
    pub fn body(&self) -> &[u8] {
        &self.request.body
    }

    /// The request as it was received. Which of its headers are proven depends on what the sender
    /// signs.
    pub fn request(&self) -> &Request {
        &self.request
    }
}

/// The hash that a sender's HMAC is made with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hash {
    /// SHA-1: broken for documents, not as an HMAC.
    Sha1,
    /// SHA-256.
    Sha256,
    /// SHA-512.
    Sha512,
}

impl Hash {
    /// How many bytes it has.
    pub fn length(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => 32,
            Self::Sha512 => 64,
        }
    }

    /// The HMAC of the `parts`, one after another, under `key`.
    pub fn sign(self, key: &[u8], parts: &[&[u8]]) -> Vec<u8> {
        match self {
            Self::Sha1 => mac::<Hmac<Sha1>>(key, parts).finalize().into_bytes().to_vec(),
            Self::Sha256 => mac::<Hmac<Sha256>>(key, parts).finalize().into_bytes().to_vec(),
            Self::Sha512 => mac::<Hmac<Sha512>>(key, parts).finalize().into_bytes().to_vec(),
        }
    }

    /// Whether `tag` is that HMAC, whole, in time that doesn't depend on where it differs.
    pub fn matches(self, key: &[u8], parts: &[&[u8]], tag: &[u8]) -> bool {
        match self {
            Self::Sha1 => mac::<Hmac<Sha1>>(key, parts).verify_slice(tag).is_ok(),
            Self::Sha256 => mac::<Hmac<Sha256>>(key, parts).verify_slice(tag).is_ok(),
            Self::Sha512 => mac::<Hmac<Sha512>>(key, parts).verify_slice(tag).is_ok(),
        }
    }
}

fn mac<M: Mac + KeyInit>(key: &[u8], parts: &[&[u8]]) -> M {
    let mut mac = <M as KeyInit>::new_from_slice(key).expect("HMAC takes a key of any length");
    for part in parts {
        mac.update(part);
    }
    mac
}
