//! Twilio: messages and status callbacks as forms, event streams as JSON.
//!
//! Proves the sender by `X-Twilio-Signature` over the address that Twilio used and the parameters of
//! the form, and answers with a `TwiML` document that asks for nothing. Knows nothing of `TwiML`
//! otherwise: it answers no call and sends no reply.

mod address;
mod family;
mod form;
mod stream;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

use crate::element::Unreadable;
use crate::event::{BASE64, FORM, NewEvent};

use super::cut::{self, Whole};
use super::identity::Identity;
use super::signature::Hash;
use super::{Answer, Origin, Proof, Request, Scheme, Signed, Unproven, Unsigned, Verified};
use form::Form;

const SIGNATURE: &str = "X-Twilio-Signature";

/// The header of those who have chosen to have requests signed with SHA-256 under a shared key:
/// `key=…,algorithm=HMAC_SHA256`.
const SETTINGS: &str = "X-Twilio-Webhooks-Signature-Settings";

/// The parameter of the query that has the hash of a body which is no form.
const BODY_HASH: &str = "bodySHA256";

/// An answer that makes Twilio do nothing; what it can't read as `TwiML` it reports as an error.
const NOTHING: Answer = Answer {
    content_type: "text/xml",
    body: r#"<?xml version="1.0" encoding="UTF-8"?><Response/>"#,
};

/// The scheme of Twilio's webhooks.
#[derive(Debug)]
pub struct Twilio {
    proof: Proof,
    public_url: Option<String>,
}

impl Twilio {
    /// Takes requests that `proof` proves, which Twilio sends to `public_url`; without one, to the
    /// address that a trusted proxy tells.
    pub fn new(proof: Proof, public_url: Option<String>) -> Self {
        Self { proof, public_url }
    }
}

impl Scheme for Twilio {
    fn verify(&self, request: Request) -> Result<Verified, Unproven> {
        if let Proof::Unverified = self.proof {
            return Verified::prove(request, &self.proof, |_, _| false);
        }
        let hash = hash(&request)?;
        let tag = tag(&request, hash)?;
        // Without the address nothing can be proven.
        let url = request.url(self.public_url.as_deref()).ok_or(Unproven::Wrong)?;
        let body = request.body.clone();
        let form = if is_form(&request) {
            Form::read(&body).ok_or(Unproven::Malformed)?
        } else {
            check_body_hash(&request)?;
            Form::default()
        };
        let parameters = form.signed();
        let urls = address::spellings(&url);
        Verified::prove(request, &self.proof, |_, secret| {
            let is_of = |url: &String| {
                let parts = [&[url.as_bytes()], &parameters[..]].concat();
                hash.matches(secret.bytes(), &parts, &tag)
            };
            urls.iter().any(is_of)
        })
    }

    fn parse(&self, verified: &Verified, origin: &Origin) -> Vec<NewEvent> {
        let body = verified.body();
        if !is_form(verified.request()) {
            return cut::events(body, origin, stream::find);
        }
        let whole = Whole::new(body, origin);
        let Ok(text) = str::from_utf8(body) else {
            return vec![whole.unreadable(Unreadable::NotUtf8)];
        };
        if text.contains('\0') {
            // PostgreSQL takes a NUL in no text.
            let identity = Identity::unreadable("a NUL that is not escaped");
            return vec![whole.of_text(&STANDARD.encode(body), BASE64, (identity, None))];
        }
        let Some(form) = Form::read(body) else {
            let identity = Identity::unreadable("more than 20000 parameters");
            return vec![whole.of_text(text, FORM, (identity, None))];
        };
        vec![whole.of_text(text, FORM, family::identify(&form))]
    }

    fn sign(&self, unsigned: &Unsigned<'_>) -> Signed {
        let mut url = self.public_url.clone().unwrap_or_else(|| unsigned.url.to_owned());
        let as_form = !looks_like_json(unsigned.body);
        let content_type = if as_form { FORM } else { crate::event::JSON };
        let mut headers = vec![("content-type".to_owned(), content_type.to_owned())];
        let query = (!as_form).then(|| format!("{BODY_HASH}={}", body_hash(unsigned.body)));
        if let Some(query) = &query {
            url.extend([if url.contains('?') { "&" } else { "?" }, query]);
        }
        let form = if as_form { Form::read(unsigned.body) } else { None }.unwrap_or_default();
        if let Some(secret) = self.proof.first() {
            let parts = [&[url.as_bytes()], &form.signed()[..]].concat();
            let tag = STANDARD.encode(Hash::Sha1.sign(secret.bytes(), &parts));
            headers.push((SIGNATURE.to_owned(), tag));
        }
        Signed { headers, query }
    }

    fn answer(&self) -> Option<Answer> {
        Some(NOTHING)
    }
}

/// The signature that a request claims.
fn tag(request: &Request, hash: Hash) -> Result<Vec<u8>, Unproven> {
    let tag = STANDARD.decode(request.only_header(SIGNATURE)?.as_bytes());
    tag.ok().filter(|tag| tag.len() == hash.length()).ok_or(Unproven::Malformed)
}

/// What it claims to be signed with. Whoever claims another has to have the key all the same.
fn hash(request: &Request) -> Result<Hash, Unproven> {
    if !request.headers.contains_key(SETTINGS) {
        return Ok(Hash::Sha1);
    }
    let pairs = request.header_text(SETTINGS)?.split(',').filter_map(|pair| pair.split_once('='));
    let mut named = pairs.filter(|(name, _)| name.trim() == "algorithm");
    match (named.next().map(|(_, hash)| hash.trim()), named.next()) {
        (None | Some("" | "HMAC_SHA1"), None) => Ok(Hash::Sha1),
        (Some("HMAC_SHA256"), None) => Ok(Hash::Sha256),
        _ => Err(Unproven::Malformed),
    }
}

/// Checks that the body is the one whose hash is in the query, which is a part of what is signed.
fn check_body_hash(request: &Request) -> Result<(), Unproven> {
    let pairs = request.query().split('&').filter_map(|pair| pair.split_once('='));
    let mut hashes = pairs.filter(|(name, _)| *name == BODY_HASH).map(|(_, value)| value);
    let (Some(hash), None) = (hashes.next(), hashes.next()) else {
        return Err(Unproven::Malformed);
    };
    if hash.eq_ignore_ascii_case(&body_hash(&request.body)) { Ok(()) } else { Err(Unproven::Wrong) }
}

fn body_hash(body: &[u8]) -> String {
    hex::encode(Sha256::digest(body))
}

/// Whether a request is a form. A request that doesn't say, such as a sample from a file, is one
/// unless it looks like JSON.
fn is_form(request: &Request) -> bool {
    let given = request.headers.get("content-type").and_then(|value| value.to_str().ok());
    let media_type = given.map(|value| value.split(';').next().unwrap_or_default().trim());
    match media_type {
        Some(media_type) if media_type.eq_ignore_ascii_case(FORM) => true,
        Some(media_type) if media_type.to_ascii_lowercase().ends_with("json") => false,
        _ => !looks_like_json(&request.body),
    }
}

fn looks_like_json(body: &[u8]) -> bool {
    matches!(body.trim_ascii_start().first(), Some(b'{' | b'['))
}
