//! JSON Web Tokens of one algorithm: HMAC-SHA256 (HS256), as senders of webhooks use them.
//!
//! Such a token is three parts in base64 and one HMAC, so that a library for tokens would bring only
//! what must not be here: other algorithms, and a choice that the token itself makes.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value};

use crate::element::Json;

use super::signature::Hash;
use super::{Request, Unproven, instant};

/// The one header that we sign under.
const HEADER: &str = r#"{"alg":"HS256","typ":"JWT"}"#;

/// A token as it was presented.
#[derive(Debug)]
pub(super) struct Token {
    /// Header and claims, as they are signed.
    signed: String,
    claims: Vec<u8>,
    tag: Vec<u8>,
}

/// How far the times of a token may be from ours.
#[derive(Debug, Clone, Copy)]
pub(super) struct Leeway {
    /// How long before it begins it is taken.
    pub(super) early: SignedDuration,
    /// How long after it ended it is still taken.
    pub(super) late: SignedDuration,
    /// How long after it was made it is still taken.
    pub(super) age: Age,
}

/// How old a token may be.
#[derive(Debug, Clone, Copy)]
pub(super) enum Age {
    /// As old as its end allows, if it has one.
    Any,
    /// As old as its end allows, or this old where it has none.
    WithoutEnd(SignedDuration),
    /// This old, whatever its end.
    Always(SignedDuration),
}

impl Token {
    /// The token that a request presents. One of another algorithm, `none` above all, is malformed.
    pub(super) fn of(request: &Request) -> Result<Self, Unproven> {
        Self::read(request.credentials("Bearer")?).ok_or(Unproven::Malformed)
    }

    fn read(token: &str) -> Option<Self> {
        let (signed, tag) = token.rsplit_once('.')?;
        let (header, claims) = signed.split_once('.')?;
        // A further dot is in no base64.
        let decode = |part: &str| URL_SAFE_NO_PAD.decode(part).ok();
        let header = decode(header)?;
        let header = Json::read(&header).ok()?.object()?;
        // Named by the token itself, so that it is only ever compared with the one we take; and what
        // it says is critical has to be understood, and nothing of it is.
        (header.text("alg")? == "HS256" && header.get("crit").is_none()).then_some(())?;
        let tag = decode(tag).filter(|tag| tag.len() == Hash::Sha256.length())?;
        Some(Self { signed: signed.to_owned(), claims: decode(claims)?, tag })
    }

    /// Whether it was made with this key.
    pub(super) fn is_under(&self, key: &[u8]) -> bool {
        Hash::Sha256.matches(key, &[self.signed.as_bytes()], &self.tag)
    }

    /// The text of a claim, or the digits of one that is a number. To be asked once it is proven.
    pub(super) fn claim(&self, name: &str) -> Option<String> {
        Some(Json::read(&self.claims).ok()?.object()?.text(name)?.into_owned())
    }

    /// Checks the times that it names, and says whether it names any. To be asked once it is proven.
    pub(super) fn check(&self, now: Timestamp, leeway: Leeway) -> Result<bool, Unproven> {
        let claims = Json::read(&self.claims).ok().and_then(Json::object);
        let claims = claims.ok_or(Unproven::Malformed)?;
        let at = |name| match claims.get(name) {
            Some(value) => instant_of(value).map(Some).ok_or(Unproven::Malformed),
            None => Ok(None),
        };
        let (made, begins, ends) = (at("iat")?, at("nbf")?, at("exp")?);
        let early =
            |at: Option<Timestamp>| at.is_some_and(|at| at.duration_since(now) > leeway.early);
        let late = |at: Option<Timestamp>, by| at.is_some_and(|at| now.duration_since(at) > by);
        let old = match leeway.age {
            Age::Any => false,
            Age::WithoutEnd(age) => ends.is_none() && late(made, age),
            Age::Always(age) => late(made, age),
        };
        if early(made) || early(begins) || late(ends, leeway.late) || old {
            return Err(Unproven::Untimely);
        }
        Ok(made.is_some() || ends.is_some())
    }
}

/// A time in seconds, of which a part may be given.
fn instant_of(value: Json<'_>) -> Option<Timestamp> {
    let raw = value.raw();
    instant::of_text(raw.split_once('.').map_or(raw, |(seconds, _)| seconds))
}

/// Makes a token with these claims.
pub(super) fn sign(claims: Map<String, Value>, key: &[u8]) -> String {
    let claims = Value::Object(claims).to_string();
    let signed = [HEADER, &claims].map(|part| URL_SAFE_NO_PAD.encode(part)).join(".");
    let tag = Hash::Sha256.sign(key, &[signed.as_bytes()]);
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(tag))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEEWAY: Leeway = Leeway {
        early: SignedDuration::from_secs(60),
        late: SignedDuration::from_secs(120),
        age: Age::WithoutEnd(SignedDuration::from_secs(120)),
    };

    fn token(header: &str, claims: &str) -> String {
        let signed = [header, claims].map(|part| URL_SAFE_NO_PAD.encode(part)).join(".");
        let tag = Hash::Sha256.sign(b"key", &[signed.as_bytes()]);
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(tag))
    }

    fn said(token: &str, now: i64) -> Result<bool, Unproven> {
        let token = Token::read(token).ok_or(Unproven::Malformed)?;
        assert!(token.is_under(b"key"));
        token.check(Timestamp::from_second(now).unwrap(), LEEWAY)
    }

    #[test]
    fn a_token_is_good_under_its_key_alone() {
        let claims = Map::from_iter([("a".to_owned(), Value::from("b"))]);
        let made = sign(claims, b"key");
        let token = Token::read(&made).unwrap();
        assert!(token.is_under(b"key") && !token.is_under(b"other"));
        assert_eq!(token.claim("a").as_deref(), Some("b"));
        let (front, tag) = made.rsplit_once('.').unwrap();
        let claims = URL_SAFE_NO_PAD.encode(r#"{"iat":1000}"#);
        let forged = format!("{}.{claims}.{tag}", front.split_once('.').unwrap().0);
        assert!(!Token::read(&forged).unwrap().is_under(b"key"));
        let cut = format!("{front}.{}", &tag[..4]);
        assert!(Token::read(&cut).is_none());
    }

    #[test]
    fn no_other_algorithm_is_taken_and_no_other_form() {
        for header in [
            r#"{"alg":"none"}"#,
            r#"{"alg":"HS512"}"#,
            r#"{"alg":"hs256"}"#,
            r#"{"alg":"HS256","crit":["exp"]}"#,
            "{}",
            "x",
        ] {
            assert!(Token::read(&token(header, "{}")).is_none(), "{header}");
        }
        let good = token(HEADER, "{}");
        assert_eq!(said(&good, 0), Ok(false));
        for wrong in ["", "a.b", "a.b.c", &good[1..], &format!("{good}="), &format!("{good}.a")] {
            assert!(Token::read(wrong).is_none(), "{wrong}");
        }
        for claims in ["[]", "x", r#"{"exp":"never"}"#, r#"{"iat":null}"#, r#"{"nbf":-1}"#] {
            assert_eq!(said(&token(HEADER, claims), 0), Err(Unproven::Malformed), "{claims}");
        }
    }

    #[test]
    fn a_token_of_another_time_is_untimely() {
        let late = Err(Unproven::Untimely);
        for (claims, first, last) in [
            (r#"{"iat":1000}"#, 940, 1120),
            (r#"{"iat":1000.9}"#, 940, 1120),
            (r#"{"iat":1000,"exp":1600}"#, 940, 1720),
            (r#"{"nbf":1000,"exp":1600}"#, 940, 1720),
        ] {
            let token = token(HEADER, claims);
            assert_eq!(
                [said(&token, first - 1), said(&token, first)],
                [late, Ok(true)],
                "{claims}"
            );
            assert_eq!([said(&token, last), said(&token, last + 1)], [Ok(true), late], "{claims}");
        }
    }
}
