//! Signatures on what is sent: Standard Webhooks, and those of senders whose handlers exist already.

use axum::http::{HeaderMap, HeaderName};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;

use super::attributes::value;
use super::{HttpSinkError, SignAs};
use crate::scheme::Secret;
use crate::scheme::signature::Hash;

/// Signs requests with one secret.
#[derive(Debug)]
pub(super) struct Signer {
    secret: Secret,
    sign_as: Option<SignAs>,
    /// The bytes that the secret stands for.
    key: Key,
}

/// Bytes that are not shown.
struct Key(Vec<u8>);

impl Signer {
    pub(super) fn new(secret: Secret, sign_as: Option<SignAs>) -> Result<Self, HttpSinkError> {
        let key = match secret.expose().strip_prefix("whsec_") {
            Some(text) => {
                let key = STANDARD.decode(text).map_err(|_| HttpSinkError::Secret)?;
                if key.is_empty() {
                    return Err(HttpSinkError::Secret);
                }
                key
            }
            None => secret.expose().as_bytes().to_vec(),
        };
        Ok(Self { secret, sign_as, key: Key(key) })
    }

    /// Adds the signatures of `body`. A retry has the same id and another time and signature.
    pub(super) fn sign(&self, headers: &mut HeaderMap, id: &str, at: Timestamp, body: &[u8]) {
        let at = at.as_second().to_string();
        let parts = [id.as_bytes(), b".", at.as_bytes(), b".", body];
        let signature = format!("v1,{}", STANDARD.encode(Hash::Sha256.sign(&self.key.0, &parts)));
        headers.insert(HeaderName::from_static("webhook-id"), value(id));
        headers.insert(HeaderName::from_static("webhook-timestamp"), value(&at));
        headers.insert(HeaderName::from_static("webhook-signature"), value(&signature));
        if let Some(SignAs::Meta) = self.sign_as {
            let tag = Hash::Sha256.sign(self.secret.bytes(), &[body]);
            let signature = format!("sha256={}", hex::encode(tag));
            headers.insert(HeaderName::from_static("x-hub-signature-256"), value(&signature));
        }
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key(…)")
    }
}
