//! Signatures that are an HMAC of the body and what is around it.

use axum::http::HeaderName;
use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use jiff::SignedDuration;
use subtle::ConstantTimeEq as _;

use super::super::signature::Hash;
use super::super::{Proof, Request, Secret, Unproven, Unsigned, Verified, instant};
use super::template::{Filling, Template, header_of};

/// How many signatures of one request are looked at. A sender that rotates has two.
const SIGNATURE_LIMIT: usize = 16;

/// The usual alphabet, whether or not there are `=` at the end.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// How a sender makes its HMAC, and where it puts it.
#[derive(Debug, Clone)]
pub struct HmacSigning {
    /// The hash that it is made with.
    pub hash: Hash,
    /// How it is written.
    pub encoding: Encoding,
    /// The header it stands in.
    pub header: HeaderName,
    /// What stands between several in that header; those that begin with `prefix` are signatures.
    pub separator: Option<String>,
    /// What stands in front of each.
    pub prefix: String,
    /// What it is over.
    pub template: Template,
    /// Where the time is that is signed with it.
    pub timestamp: Option<TimestampPlace>,
    /// How far that may be from ours, either way. Needs a time that the template has.
    pub tolerance: Option<SignedDuration>,
    /// How secrets are written.
    pub secret_form: SecretForm,
}

/// How bytes are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// As they are; no signature is.
    Text,
    /// In hex digits of either case.
    Hex,
    /// In base64, with or without `=` at the end.
    Base64,
}

/// Where a sender's time is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimestampPlace {
    /// The header it stands in.
    pub header: HeaderName,
    /// What stands in front of it. Where it stands among signatures, this tells it from them.
    pub prefix: String,
}

/// How secrets are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretForm {
    /// What may stand in front, and is no part of the secret.
    pub prefix: String,
    /// How the rest stands for the bytes of the key.
    pub encoding: Encoding,
}

impl Encoding {
    fn decode(self, text: &[u8]) -> Option<Vec<u8>> {
        match self {
            Self::Text => Some(text.to_vec()),
            Self::Hex => hex::decode(text).ok(),
            Self::Base64 => BASE64.decode(text).ok(),
        }
    }

    fn encode(self, bytes: &[u8]) -> String {
        match self {
            Self::Hex => hex::encode(bytes),
            Self::Text | Self::Base64 => BASE64.encode(bytes),
        }
    }

    pub(super) fn in_words(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Hex => "hex digits",
            Self::Base64 => "base64",
        }
    }
}

impl Default for SecretForm {
    fn default() -> Self {
        Self { prefix: String::new(), encoding: Encoding::Text }
    }
}

impl HmacSigning {
    /// The key that a secret stands for; `None` where it can't stand for one.
    pub(super) fn key(&self, secret: &Secret) -> Option<Vec<u8>> {
        let text = secret.expose();
        let text = text.strip_prefix(&*self.secret_form.prefix).unwrap_or(text);
        self.secret_form.encoding.decode(text.as_bytes()).filter(|key| !key.is_empty())
    }

    /// Proves a request. Its time is looked at last, so that only what the sender signed is called
    /// untimely.
    pub(super) fn verify(
        &self,
        request: Request,
        proof: &Proof,
        public_url: Option<&str>,
    ) -> Result<Verified, Unproven> {
        let claimed = self.claimed(&request)?;
        let timestamp = self.timestamp(&request)?;
        let url = if self.template.has_url() { request.url(public_url) } else { None };
        let (timestamp, url) = (timestamp.as_deref(), url.as_deref());
        let filling = Filling { body: &request.body, timestamp, url };
        let content = self.template.fill(&filling, |name| header_of(&request, name))?;
        let at = match (self.tolerance, timestamp) {
            (None, _) => None,
            (Some(tolerance), text) => {
                let at = text.and_then(instant::of_text).ok_or(Unproven::Malformed)?;
                Some((at, tolerance))
            }
        };
        let verified = Verified::prove(request, proof, |_, secret| {
            let Some(key) = self.key(secret) else { return false };
            let right = self.hash.sign(&key, &borrowed(&content));
            // Each is compared, whichever matches.
            claimed.iter().fold(false, |found, tag| found | bool::from(right.ct_eq(tag)))
        })?;
        match at {
            Some((at, tolerance))
                if verified.request().received_at.duration_since(at).abs() > tolerance =>
            {
                Err(Unproven::Untimely)
            }
            _ => Ok(verified),
        }
    }

    /// The signatures that a request claims.
    fn claimed(&self, request: &Request) -> Result<Vec<Vec<u8>>, Unproven> {
        let header = request.only_header(self.header.as_str())?;
        let header = header.to_str().map_err(|_| Unproven::Malformed)?;
        let items: Box<dyn Iterator<Item = &str>> = match &self.separator {
            Some(separator) => Box::new(header.split(&**separator).map(str::trim)),
            None => Box::new(std::iter::once(header)),
        };
        let signatures = items.filter_map(|item| item.strip_prefix(&*self.prefix));
        let tags: Vec<_> = signatures
            .take(SIGNATURE_LIMIT)
            .filter_map(|signature| self.encoding.decode(signature.as_bytes()))
            .filter(|tag| tag.len() == self.hash.length())
            .collect();
        if tags.is_empty() { Err(Unproven::Malformed) } else { Ok(tags) }
    }

    /// The time as it was sent.
    fn timestamp(&self, request: &Request) -> Result<Option<String>, Unproven> {
        let Some(place) = &self.timestamp else { return Ok(None) };
        let header = request.only_header(place.header.as_str())?;
        let header = header.to_str().map_err(|_| Unproven::Malformed)?;
        let mut items: Vec<_> = match &self.separator {
            Some(separator) if place.header == self.header => {
                header.split(&**separator).map(str::trim).collect()
            }
            _ => vec![header],
        };
        items.retain(|item| item.starts_with(&*place.prefix));
        // Of two times, we and the sender might each mean another.
        let [item] = items[..] else { return Err(Unproven::Malformed) };
        Ok(Some(item[place.prefix.len()..].to_owned()))
    }

    /// The headers that the sender would put on such a body.
    pub(super) fn sign(&self, secret: &Secret, unsigned: &Unsigned<'_>) -> Vec<(String, String)> {
        let mut headers: Vec<(String, String)> = Vec::new();
        let id = |name: &HeaderName| (name.to_string(), unsigned.id.to_owned());
        headers.extend(self.template.headers().map(id));
        let time = unsigned.at.as_second().to_string();
        let body = bytes::Bytes::copy_from_slice(unsigned.body);
        let filling = Filling { body: &body, timestamp: Some(&time), url: Some(unsigned.url) };
        let own = |_: &HeaderName| Ok(bytes::Bytes::copy_from_slice(unsigned.id.as_bytes()));
        let content = self.template.fill(&filling, own).unwrap_or_default();
        let tag = self.hash.sign(&self.key(secret).unwrap_or_default(), &borrowed(&content));
        let mut signature = [&*self.prefix, &self.encoding.encode(&tag)].concat();
        if let Some(place) = &self.timestamp {
            let time = [&*place.prefix, &time].concat();
            match &self.separator {
                Some(separator) if place.header == self.header => {
                    signature = [&*time, &**separator, &*signature].concat();
                }
                _ => headers.push((place.header.to_string(), time)),
            }
        }
        headers.push((self.header.to_string(), signature));
        headers
    }
}

fn borrowed(content: &[bytes::Bytes]) -> Vec<&[u8]> {
    content.iter().map(|piece| &**piece).collect()
}
