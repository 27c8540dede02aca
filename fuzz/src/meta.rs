//! Meta: what must hold for its requests, signatures and challenges.

mod count;
mod query;

use hookonce::element::pointer;
use hookonce::event::JSON;
use hookonce::scheme::meta::Meta;
use hookonce::scheme::{Challenge, Proof, Scheme as _, Secret};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::mac::{SHA256, hmac};
use super::parse::{check_parse, check_payloads};
use super::request::{request, signed};

const SECRETS: [&str; 2] =
    ["new secret", "a secret that is longer than the block of its hash, which has 64 bytes"];
const TOKEN: &str = "to ken+é";
const SIGNATURE: &str = "x-hub-signature-256";

/// The bytes are the body of a request.
pub fn meta_parse(bytes: &[u8]) {
    let meta = Meta::new(Proof::Unverified, None);
    let events = check_parse(&meta, bytes);
    check_payloads(&meta, &events);
    for event in &events {
        assert_eq!(event.weak_key, event.key.as_str().starts_with("hash:"));
        let element =
            pointer(&event.payload, &event.element).filter(|_| event.content_type == JSON);
        if let Some(element) = element {
            assert_eq!(event.digest, <[u8; 32]>::from(Sha256::digest(element)));
        }
    }
    // Not all JSON is read: neither lone surrogates nor what is nested to the very limit.
    let Ok(body) = serde_json::from_slice::<Value>(bytes) else { return };
    let counted = count::elements(&body);
    if events[0].unreadable.is_some_and(|why| why.starts_with("more than ")) {
        let expanded = counted.saturating_mul(2 * bytes.len());
        assert!(events.len() == 1 && (counted > 20_000 || expanded > 64 << 20), "{counted}");
    } else {
        assert_eq!(events.len(), counted);
    }
}

/// The first line is what is sent as signature, in as many headers as carriage returns cut it into;
/// the rest is the body.
pub fn meta_signature(bytes: &[u8]) {
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    let (line, body) = (&bytes[..end], bytes.get(end + 1..).unwrap_or_default());
    let secrets = SECRETS.map(|secret| Secret::new(secret).expect("it is not empty"));
    let meta = Meta::new(Proof::Secrets(secrets.to_vec()), None);
    let verify = |values: &[&[u8]], body: &[u8]| {
        let headers: Vec<_> = values.iter().map(|value| (SIGNATURE, *value)).collect();
        request(&headers, body).map(|request| meta.verify(request))
    };
    let tags = SECRETS.map(|secret| hmac(SHA256, secret.as_bytes(), &[body]));

    let values: Vec<_> = line.split(|byte| *byte == b'\r').collect();
    if let Some(verified) = verify(&values, body) {
        let right = |tag: &Vec<u8>| {
            let hex = ["sha256=", &hex::encode(tag)].concat();
            let is_prefixed = values[0].starts_with(b"sha256=");
            values.len() == 1 && is_prefixed && values[0].eq_ignore_ascii_case(hex.as_bytes())
        };
        let secret = tags.iter().position(right);
        assert_eq!(verified.ok().map(|verified| verified.secret), secret.map(Some));
    }

    // Which bit is wrong is taken from the bytes.
    let at = bytes.iter().fold(0_usize, |sum, byte| (sum + usize::from(*byte)) % 256);
    for (n, tag) in tags.iter().enumerate() {
        let sent = |tag: &[u8]| ["sha256=", &hex::encode(tag)].concat();
        let verified = verify(&[sent(tag).as_bytes()], body).expect("it can be sent");
        assert_eq!(verified.expect("it is right").secret, Some(n));
        let mut wrong = tag.clone();
        wrong[at / 8] ^= 1 << (at % 8);
        assert!(verify(&[sent(&wrong).as_bytes()], body).expect("it can be sent").is_err());
        let longer = [body, b"\0"].concat();
        assert!(verify(&[sent(tag).as_bytes()], &longer).expect("it can be sent").is_err());
    }
    let signed = signed(&meta, body, &[]);
    assert_eq!(signed.headers[SIGNATURE], ["sha256=", &hex::encode(&tags[0])].concat());
}

/// The bytes are a query string.
pub fn meta_challenge(bytes: &[u8]) {
    let Ok(query) = std::str::from_utf8(bytes) else { return };
    let token = Secret::new(TOKEN).expect("it is not empty");
    let right = query::answer(query, TOKEN);
    assert_eq!(Meta::new(Proof::Unverified, Some(token)).challenge(query), right);
    let unset = Meta::new(Proof::Unverified, None).challenge(query);
    assert!(!matches!(unset, Challenge::Answer(_)), "there is no token");
}
