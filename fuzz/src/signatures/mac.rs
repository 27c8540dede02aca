//! Senders whose signature is an HMAC over more than the body, among others in one header.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use hookonce::scheme::Request;
use hookonce::scheme::generic::{Encoding, HmacSigning, SecretForm, Signing, TimestampPlace};
use hookonce::scheme::signature::Hash as Named;
use jiff::{SignedDuration, Timestamp};
use sha2::{Digest as _, Sha256};

use super::super::mac::{Hash, SHA1, SHA256, SHA512, hmac};
use super::way::{Proven, SECRETS, Way, by, generic, only};

/// How far a time may be from ours, in seconds.
const TOLERANCE: i64 = 300;

/// A sender, as the scheme is told of it and as it is known here.
#[derive(Debug, Clone, Copy)]
struct Sender {
    hash: (Named, Hash),
    is_hex: bool,
    /// That of the signature, of the time and of the id.
    headers: &'static [&'static str],
    separator: Option<&'static str>,
    prefix: &'static str,
    /// What stands in front of the time, which is in the header of this number.
    time: Option<(usize, &'static str)>,
    template: &'static str,
    /// What is signed, of the time, the id and the body.
    content: fn(&str, &[u8], &[u8]) -> Vec<u8>,
}

const SENDERS: [Sender; 4] = [
    Sender {
        hash: (Named::Sha256, SHA256),
        is_hex: true,
        headers: &["x-signature"],
        separator: Some(","),
        prefix: "v1=",
        time: Some((0, "t=")),
        template: "{timestamp}.{body}",
        content: |time, _, body| [time.as_bytes(), b".", body].concat(),
    },
    Sender {
        hash: (Named::Sha256, SHA256),
        is_hex: false,
        headers: &["webhook-signature", "webhook-timestamp", "webhook-id"],
        separator: Some(" "),
        prefix: "v1,",
        time: Some((1, "")),
        template: "{header:webhook-id}.{timestamp}.{body}",
        content: |time, id, body| [id, b".", time.as_bytes(), b".", body].concat(),
    },
    Sender {
        hash: (Named::Sha512, SHA512),
        is_hex: false,
        headers: &["x-signature", "x-time"],
        separator: None,
        prefix: "",
        time: Some((1, "at ")),
        template: "{timestamp}\n{url}\n{body_sha256}{body_sha256_hex}",
        content: |time, _, body| {
            let hash = Sha256::digest(body);
            let url = "https://hooks.example.org/webhooks/source";
            let hex = hex::encode(hash);
            [time.as_bytes(), b"\n", url.as_bytes(), b"\n", &hash, hex.as_bytes()].concat()
        },
    },
    Sender {
        hash: (Named::Sha1, SHA1),
        is_hex: true,
        headers: &["x-signature"],
        separator: None,
        prefix: "sha1=",
        time: None,
        template: "{body}",
        content: |_, _, body| body.to_vec(),
    },
];

/// Every such way of signing.
pub fn all() -> impl Iterator<Item = Way> {
    SENDERS.into_iter().map(|sender| Way {
        scheme: Box::new(generic(sender.signing())),
        headers: sender.headers,
        beside: Vec::new(),
        texts: Box::new(move |request| sender.texts(request)),
        proven: Box::new(move |request| sender.proven(request)),
    })
}

impl Sender {
    fn signing(&self) -> Signing {
        let name = |at: usize| self.headers[at].parse().expect("it is a name");
        Signing::Hmac(HmacSigning {
            hash: self.hash.0,
            encoding: if self.is_hex { Encoding::Hex } else { Encoding::Base64 },
            header: name(0),
            separator: self.separator.map(str::to_owned),
            prefix: self.prefix.to_owned(),
            template: self.template.parse().expect("it has the body in it"),
            timestamp: self
                .time
                .map(|(at, prefix)| TimestampPlace { header: name(at), prefix: prefix.to_owned() }),
            tolerance: self.time.map(|_| SignedDuration::from_secs(TOLERANCE)),
            secret_form: SecretForm::default(),
        })
    }

    /// The text of a header that is there once.
    fn text<'r>(&self, request: &'r Request, at: usize) -> Option<&'r str> {
        let value = only(request, self.headers[at])?;
        let is_plain = value.iter().all(|byte| *byte == b'\t' || (b' '..=b'~').contains(byte));
        std::str::from_utf8(value).ok().filter(|_| is_plain)
    }

    /// What stands in a header.
    fn items<'r>(&self, request: &'r Request, at: usize) -> Vec<&'r str> {
        let text = self.text(request, at);
        let separator = self.separator.filter(|_| at == 0);
        match (text, separator) {
            (Some(text), Some(separator)) => text.split(separator).map(str::trim).collect(),
            (text, _) => text.into_iter().collect(),
        }
    }

    /// The one time that is told; empty where none is needed.
    fn time<'r>(&self, request: &'r Request) -> Option<&'r str> {
        let Some((at, prefix)) = self.time else { return Some("") };
        let items = self.items(request, at).into_iter();
        let times: Vec<_> = items.filter_map(|item| item.strip_prefix(prefix)).collect();
        if let [time] = times[..] { Some(time) } else { None }
    }

    /// The right signature under a secret; `None` where something is missing that is signed.
    fn tag(&self, request: &Request, secret: &str) -> Option<Vec<u8>> {
        let id = self.headers.get(2).map_or(Some(&b""[..]), |name| only(request, name));
        let content = (self.content)(self.time(request)?, id?, &request.body);
        Some(hmac(self.hash.1, secret.as_bytes(), &[&content]))
    }

    fn texts(&self, request: &Request) -> [String; 3] {
        let written =
            |tag: &[u8]| if self.is_hex { hex::encode(tag) } else { STANDARD_NO_PAD.encode(tag) };
        let tags = SECRETS.map(|secret| self.tag(request, secret).unwrap_or_default());
        let mut wrong = tags[0].clone();
        wrong.iter_mut().take(1).for_each(|byte| *byte ^= 16);
        [written(&tags[0]), written(&tags[1]), written(&wrong)]
    }

    fn proven(&self, request: &Request) -> Proven {
        if self.time.is_some() {
            let Some(at) = self.time(request).and_then(instant) else { return Proven::Not };
            let apart = request.received_at.as_millisecond() - at.as_millisecond();
            if apart.abs() > TOLERANCE * 1000 {
                return Proven::Not;
            }
            // It is told in parts of a millisecond.
            if apart.abs() == TOLERANCE * 1000 {
                return Proven::Perhaps;
            }
        }
        let items = self.items(request, 0).into_iter();
        let signatures: Vec<_> =
            items.filter_map(|item| item.strip_prefix(self.prefix)).take(16).collect();
        by(|secret| {
            let Some(tag) = self.tag(request, secret) else { return false };
            signatures.iter().any(|signature| self.is(signature, &tag))
        })
    }

    fn is(&self, signature: &str, tag: &[u8]) -> bool {
        if self.is_hex {
            return signature.eq_ignore_ascii_case(&hex::encode(tag));
        }
        // There may be `=` at the end or not, or fewer than there should be.
        let bare = signature.trim_end_matches('=');
        let most = bare.len().next_multiple_of(4);
        bare == STANDARD_NO_PAD.encode(tag) && signature.len() <= most
    }
}

fn instant(text: &str) -> Option<Timestamp> {
    match text.parse::<i64>() {
        Ok(number) if number <= 0 => None,
        Ok(number) if number < 100_000_000_000 => Timestamp::from_second(number).ok(),
        Ok(number) => Timestamp::from_millisecond(number).ok(),
        Err(_) => text.parse().ok(),
    }
}
