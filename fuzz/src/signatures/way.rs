//! Every way of signing that there is: the scheme, beside what is known of it here.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hookonce::scheme::evolution::{Evolution, EvolutionSignature};
use hookonce::scheme::generic::{Generic, GenericOptions, JwtSigning, Signing};
use hookonce::scheme::twilio::Twilio;
use hookonce::scheme::waha::Waha;
use hookonce::scheme::wasender::Wasender;
use hookonce::scheme::{Proof, Request, Scheme, Secret};
use jiff::SignedDuration;
use sha2::{Digest as _, Sha256};

use super::super::mac::{Hash, SHA1, SHA256, SHA512, hmac};
use super::mac;
use super::token::{Age, Token};

/// The secrets of every source.
pub const SECRETS: [&str; 2] = [
    "user:a secret",
    "user:é, and longer than the block of the hash, which has 64 bytes or 128 of them: so it is hashed first, which is seldom looked at",
];

/// Stands for the query string among the names of headers.
pub const QUERY: &str = "?";

const URL: &str = "https://hooks.example.org/webhooks/source";

/// What is found by a look at a request.
type Look<T> = Box<dyn Fn(&Request) -> T>;

/// A way of signing.
pub struct Way {
    pub scheme: Box<dyn Scheme>,
    /// The headers that are looked at, that of the signature first.
    pub headers: &'static [&'static str],
    /// Headers that are always there.
    pub beside: Vec<(&'static str, &'static [u8])>,
    /// What would be right, under either secret, and what would be wrong.
    pub texts: Look<[String; 3]>,
    /// What a request proves.
    pub proven: Look<Proven>,
}

/// What a request proves.
#[derive(Debug, PartialEq, Eq)]
pub enum Proven {
    /// That its sender knows this secret.
    By(usize),
    Not,
    /// It isn't known here.
    Perhaps,
}

/// Every way.
pub fn all() -> Vec<Way> {
    let header = |name: &str| name.parse().expect("it is a name");
    let evolution = |signature| Evolution::new(proof(), signature);
    let told = |name: &str, prefix: &str| {
        generic(Signing::Header { name: header(name), prefix: prefix.to_owned() })
    };
    let mut ways = vec![
        plain(Wasender::new(proof()), &["x-webhook-signature"], ""),
        plain(evolution(EvolutionSignature::Header(header("x-key"))), &["x-key"], ""),
        plain(told("x-token", "Token "), &["x-token"], "Token "),
        credentials(generic(Signing::Bearer), "bearer", str::to_owned),
        credentials(generic(Signing::Basic), "basic", |secret| STANDARD.encode(secret)),
        token(
            evolution(EvolutionSignature::Jwt),
            Token { early: 300, late: 1200, age: Age::Any, ..Token::default() },
        ),
        token(generic(Signing::Jwt(JwtSigning::default())), Token::default()),
        token(
            generic(Signing::Jwt(JwtSigning {
                body_claim: Some("body".to_owned()),
                tolerance: Some(SignedDuration::from_secs(60)),
            })),
            Token { early: 60, late: 60, age: Age::Always(60), has_time: true, has_body: true },
        ),
        waha(),
        twilio(),
    ];
    ways.extend(mac::all());
    ways
}

/// The scheme that is told how its sender signs.
pub fn generic(signing: Signing) -> Generic {
    let public_url = Some(URL.to_owned());
    let options = GenericOptions { signing: Some(signing), public_url, ..Default::default() };
    Generic::new(options, proof()).expect("these are secrets of any form")
}

pub fn proof() -> Proof {
    let secret = |text| Secret::new(text).expect("it is not empty");
    Proof::Secrets(SECRETS.map(secret).to_vec())
}

/// The one value of a header.
pub fn only<'r>(request: &'r Request, name: &str) -> Option<&'r [u8]> {
    let values: Vec<_> = request.headers.get_all(name).iter().collect();
    if let [value] = values[..] { Some(value.as_bytes()) } else { None }
}

/// That the text is right for one of the secrets.
pub fn by(is_right: impl Fn(&str) -> bool) -> Proven {
    SECRETS.iter().position(|secret| is_right(secret)).map_or(Proven::Not, Proven::By)
}

fn way(
    scheme: impl Scheme + 'static,
    headers: &'static [&'static str],
    texts: impl Fn(&Request, &str) -> String + 'static,
    proven: impl Fn(&Request) -> Proven + 'static,
) -> Way {
    let texts = move |request: &Request| {
        let [first, second] = SECRETS.map(|secret| texts(request, secret));
        let wrong = first.replacen(|c: char| c.is_ascii_alphanumeric(), "_", 1);
        [first, second, wrong]
    };
    let (texts, proven) = (Box::new(texts), Box::new(proven));
    Way { scheme: Box::new(scheme), headers, beside: Vec::new(), texts, proven }
}

/// The header is the secret, behind a prefix.
fn plain(
    scheme: impl Scheme + 'static,
    headers: &'static [&'static str],
    prefix: &'static str,
) -> Way {
    way(
        scheme,
        headers,
        |_, secret| secret.to_owned(),
        move |request| {
            let given =
                only(request, headers[0]).and_then(|given| given.strip_prefix(prefix.as_bytes()));
            given.map_or(Proven::Not, |given| by(|secret| secret.as_bytes() == given))
        },
    )
}

/// What `Authorization` says behind this word, if it is text.
fn authorization<'r>(request: &'r Request, word: &str) -> Option<&'r str> {
    let value = std::str::from_utf8(only(request, "authorization")?).ok()?;
    let (first, rest) = (value.get(..word.len())?, value.get(word.len()..)?);
    (first.eq_ignore_ascii_case(word) && rest.starts_with(' ')).then(|| rest.trim())
}

fn credentials(
    scheme: impl Scheme + 'static,
    word: &'static str,
    written: fn(&str) -> String,
) -> Way {
    way(
        scheme,
        &["authorization"],
        move |_, secret| written(secret),
        move |request| {
            let given = authorization(request, word);
            given.map_or(Proven::Not, |given| by(|secret| written(secret) == given))
        },
    )
}

fn token(scheme: impl Scheme + 'static, token: Token) -> Way {
    let body_hash = |request: &Request, _: &str| hex::encode(Sha256::digest(&request.body));
    way(scheme, &["authorization"], body_hash, move |request| {
        let given = authorization(request, "bearer");
        given.map_or(Proven::Not, |given| token.proven(given, &request.body))
    })
}

fn waha() -> Way {
    let headers = &["x-webhook-hmac", "x-webhook-hmac-algorithm"];
    let tag = |request: &Request, secret: &str| {
        hex::encode(hmac(SHA512, secret.as_bytes(), &[&request.body]))
    };
    way(Waha::new(proof()), headers, tag, move |request| {
        let given = only(request, headers[0]);
        let is_told = request.headers.contains_key(headers[1]);
        let is_known =
            only(request, headers[1]).is_some_and(|word| word.eq_ignore_ascii_case(b"sha512"));
        let given = given.filter(|_| !is_told || is_known);
        let is = |given: &[u8], secret: &str| {
            given.eq_ignore_ascii_case(tag(request, secret).as_bytes())
        };
        given.map_or(Proven::Not, |given| by(|secret| is(given, secret)))
    })
}

/// Twilio's JSON: the signature is over the address, which has the hash of the body. Another header
/// may say that it is made with SHA-256.
fn twilio() -> Way {
    const SETTINGS: &str = "x-twilio-webhooks-signature-settings";
    let tag = |request: &Request, secret: &str, host: &str| {
        let query = request.target.query().map(|query| format!("?{query}")).unwrap_or_default();
        let url = format!("https://{host}/webhooks/source{query}");
        let hash = hash_of(request, SETTINGS).unwrap_or(SHA1);
        STANDARD.encode(hmac(hash, secret.as_bytes(), &[url.as_bytes()]))
    };
    let right = move |request: &Request, secret: &str| tag(request, secret, "hooks.example.org");
    let scheme = Twilio::new(proof(), Some(URL.to_owned()));
    let headers = &["x-twilio-signature", QUERY, SETTINGS];
    let mut way = way(scheme, headers, right, move |request| {
        let query = request.target.query().unwrap_or_default();
        let hashes: Vec<_> =
            query.split('&').filter_map(|pair| pair.strip_prefix("bodySHA256=")).collect();
        let body_hash = hex::encode(Sha256::digest(&request.body));
        let is_body = matches!(hashes[..], [hash] if hash.eq_ignore_ascii_case(&body_hash));
        let is_known = is_body && hash_of(request, SETTINGS).is_some();
        let Some(given) = only(request, "x-twilio-signature").filter(|_| is_known) else {
            return Proven::Not;
        };
        by(|secret| {
            let hosts = ["hooks.example.org", "hooks.example.org:443"];
            hosts.iter().any(|host| tag(request, secret, host).as_bytes() == given)
        })
    });
    way.beside = vec![("content-type", b"application/json")];
    way
}

/// The hash that a header of settings names: SHA-1 where it names none, `None` where another.
fn hash_of(request: &Request, settings: &str) -> Option<Hash> {
    if !request.headers.contains_key(settings) {
        return Some(SHA1);
    }
    let text = std::str::from_utf8(only(request, settings)?).ok()?;
    let pairs = text.split(',').filter_map(|pair| pair.split_once('='));
    let named = pairs.filter(|(name, _)| name.trim() == "algorithm");
    match named.map(|(_, hash)| hash.trim()).collect::<Vec<_>>()[..] {
        [] | ["" | "HMAC_SHA1"] => Some(SHA1),
        ["HMAC_SHA256"] => Some(SHA256),
        _ => None,
    }
}
