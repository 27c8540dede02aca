//! What a JSON Web Token proves.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::super::mac::{SHA256, hmac};
use super::super::request::NOW;
use super::way::{Proven, SECRETS, by};

/// What stands around a token's header and claims, and between them, where one is to be made.
const PARTS: [char; 3] = ['\u{4}', '\u{5}', '\u{6}'];

/// What a token must say.
#[derive(Debug, Clone, Copy)]
pub struct Token {
    /// How far ahead its beginning may be, in seconds, and how long ago its end.
    pub early: i64,
    pub late: i64,
    /// How long ago it may have been made, in seconds.
    pub age: Age,
    pub has_time: bool,
    pub has_body: bool,
}

/// Which tokens are too old.
#[derive(Debug, Clone, Copy)]
pub enum Age {
    Any,
    /// Those made before that which name no end.
    WithoutEnd(i64),
    /// Those made before that.
    Always(i64),
}

impl Default for Token {
    fn default() -> Self {
        let age = Age::WithoutEnd(300);
        Self { early: 300, late: 300, age, has_time: false, has_body: false }
    }
}

/// The text with the tokens made that it asks for, under the first secret.
pub fn with_tokens(text: &str) -> String {
    let made = || {
        let (before, rest) = text.split_once(PARTS[0])?;
        let (header, rest) = rest.split_once(PARTS[1])?;
        let (claims, rest) = rest.split_once(PARTS[2])?;
        let signed = [header, claims].map(|part| URL_SAFE_NO_PAD.encode(part)).join(".");
        Some(format!("{before}{signed}.{}{rest}", tag(&signed, SECRETS[0])))
    };
    made().unwrap_or_else(|| text.to_owned())
}

fn tag(signed: &str, secret: &str) -> String {
    URL_SAFE_NO_PAD.encode(hmac(SHA256, secret.as_bytes(), &[signed.as_bytes()]))
}

impl Token {
    /// What a token proves of a request with this body.
    pub fn proven(self, token: &str, body: &[u8]) -> Proven {
        let parts: Vec<_> = token.split('.').collect();
        let [header, claims, given] = parts[..] else { return Proven::Not };
        let signed = format!("{header}.{claims}");
        let prover = by(|secret| tag(&signed, secret) == given);
        if prover == Proven::Not {
            return Proven::Not;
        }
        let read = |part| -> Option<Value> {
            serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).ok()?).ok()
        };
        // Another parser may take what this one doesn't.
        let (Some(header), Some(claims)) = (read(header), read(claims)) else {
            return Proven::Perhaps;
        };
        let is_known =
            header.get("alg").is_some_and(|alg| alg == "HS256") && header.get("crit").is_none();
        if !is_known || !claims.is_object() || (self.has_body && !tells_body(&claims, body)) {
            return Proven::Not;
        }
        match self.is_timely(&claims) {
            Some(true) => prover,
            Some(false) => Proven::Not,
            None => Proven::Perhaps,
        }
    }

    /// Whether it is good now; `None` where a time has a fraction.
    fn is_timely(self, claims: &Value) -> Option<bool> {
        let mut times = [None; 3];
        for (time, name) in times.iter_mut().zip(["iat", "nbf", "exp"]) {
            match claims.get(name) {
                None => {}
                Some(Value::Number(number)) if number.is_f64() => return None,
                Some(value) => match value.as_i64().filter(|number| *number > 0) {
                    Some(number) if number < 100_000_000_000 => *time = Some(number * 1000),
                    Some(number) if number < 200_000_000_000_000 => *time = Some(number),
                    Some(_) => return None,
                    None => return Some(false),
                },
            }
        }
        let [made, begins, ends] = times;
        let now = NOW.as_millisecond();
        let early = |at: Option<i64>| at.is_some_and(|at| at - now > self.early * 1000);
        let late = |at: Option<i64>, by: i64| at.is_some_and(|at| now - at > by * 1000);
        let old = match self.age {
            Age::Any => false,
            Age::WithoutEnd(age) => ends.is_none() && late(made, age),
            Age::Always(age) => late(made, age),
        };
        let untimely = early(made) || early(begins) || late(ends, self.late) || old;
        let has_time = made.is_some() || ends.is_some();
        Some(!untimely && (has_time || !self.has_time))
    }
}

fn tells_body(claims: &Value, body: &[u8]) -> bool {
    let hash = hex::encode(Sha256::digest(body));
    claims.get("body").and_then(Value::as_str).is_some_and(|told| told.eq_ignore_ascii_case(&hash))
}
