//! JSON Web Tokens of one algorithm: HMAC-SHA256 (HS256), as senders of webhooks use them.
//!
//! Takes no other algorithm, whatever a token says of itself, and looks up no keys.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::{SignedDuration, Timestamp};

use crate::element::Json;

use super::Unproven;
use super::signature::Hash;

/// The one header that we sign under.
const HEADER: &str = r#"{"alg":"HS256","typ":"JWT"}"#;

/// What a proven token says.
#[derive(Debug, Clone)]
pub struct Claims {
    text: String,
}

impl Claims {
    /// The text of a claim, or the digits of one that is a number.
    pub fn text(&self, name: &str) -> Option<String> {
        Some(self.read()?.get(name)?.text()?.into_owned())
    }

    /// Whether it says when it was made or until when it is good.
    pub fn has_time(&self) -> bool {
        self.time("exp").is_some() || self.time("iat").is_some()
    }

    /// A time in seconds, of which a fraction is left out.
    fn time(&self, name: &str) -> Option<Timestamp> {
        let text = self.text(name)?;
        let seconds = text.split('.').next()?.parse().ok()?;
        Timestamp::from_second(seconds).ok()
    }

    fn read(&self) -> Option<Json<'_>> {
        Json::read(self.text.as_bytes()).ok()
    }

    /// Whether `now` is within the times that it names. One that was made is good until `exp`, or
    /// where that is missing for as long as `tolerance`.
    fn is_timely(&self, now: Timestamp, tolerance: SignedDuration) -> bool {
        let (ends, made) = (self.time("exp"), self.time("iat"));
        let since = |at: Timestamp| now.duration_since(at);
        let begun = |at: Option<Timestamp>| at.is_none_or(|at| since(at) >= -tolerance);
        let last = ends.or(made);
        begun(self.time("nbf")) && begun(made) && last.is_none_or(|at| since(at) <= tolerance)
    }
}

/// Proves a token that was made with `key`, and gives what it says. `Untimely` where it was, but for
/// another time than `now`, give or take `tolerance`.
pub fn verify(
    token: &str,
    key: &[u8],
    now: Timestamp,
    tolerance: SignedDuration,
) -> Result<Claims, Unproven> {
    let (signed, claims, tag) = parts(token)?;
    if !Hash::Sha256.matches(key, &[signed.as_bytes()], &tag) {
        return Err(Unproven::Wrong);
    }
    let text = String::from_utf8(claims).map_err(|_| Unproven::Malformed)?;
    let claims = Claims { text };
    if !claims.read().is_some_and(Json::is_object) {
        return Err(Unproven::Malformed);
    }
    if claims.is_timely(now, tolerance) { Ok(claims) } else { Err(Unproven::Untimely) }
}

/// Whether a token is of the form that [`verify`] takes, whoever made it.
pub fn check_form(token: &str) -> Result<(), Unproven> {
    parts(token).map(|_| ())
}

/// Makes a token with these claims, made at `at`.
pub fn sign(claims: &[(&str, String)], key: &[u8], at: Timestamp) -> String {
    let mut members = serde_json::Map::new();
    members.insert("iat".into(), at.as_second().into());
    members.extend(claims.iter().map(|(name, text)| ((*name).to_owned(), text.as_str().into())));
    let claims = serde_json::Value::Object(members).to_string();
    let signed = [HEADER, &claims].map(|part| URL_SAFE_NO_PAD.encode(part)).join(".");
    let tag = Hash::Sha256.sign(key, &[signed.as_bytes()]);
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(tag))
}

/// What is signed of a token, what it says, and its signature.
fn parts(token: &str) -> Result<(&str, Vec<u8>, Vec<u8>), Unproven> {
    let read = || {
        let (signed, tag) = token.rsplit_once('.')?;
        let (header, claims) = signed.split_once('.')?;
        let decode = |part: &str| URL_SAFE_NO_PAD.decode(part).ok();
        let header = decode(header)?;
        // Named by the token itself, so that it is only ever compared with the one we take.
        let algorithm = Json::read(&header).ok()?.get("alg")?.text()?;
        (algorithm == "HS256").then_some(())?;
        Some((signed, decode(claims)?, decode(tag)?))
    };
    read().ok_or(Unproven::Malformed)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOLERANCE: SignedDuration = SignedDuration::from_secs(60);

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn token(header: &str, claims: &str) -> String {
        let signed = [header, claims].map(|part| URL_SAFE_NO_PAD.encode(part)).join(".");
        let tag = Hash::Sha256.sign(b"key", &[signed.as_bytes()]);
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(tag))
    }

    fn said(token: &str, now: i64) -> Result<(), Unproven> {
        verify(token, b"key", at(now), TOLERANCE).map(|_| ())
    }

    #[test]
    fn a_token_is_good_under_its_key_alone() {
        let token = sign(&[("a", "b".into())], b"key", at(1000));
        let claims = verify(&token, b"key", at(1000), TOLERANCE).unwrap();
        assert_eq!(claims.text("a").as_deref(), Some("b"));
        let other = verify(&token, b"other", at(1000), TOLERANCE);
        assert_eq!(other.unwrap_err(), Unproven::Wrong);
        let (front, tag) = token.rsplit_once('.').unwrap();
        let claims = URL_SAFE_NO_PAD.encode(r#"{"iat":1000}"#);
        let forged = format!("{}.{claims}.{tag}", front.split_once('.').unwrap().0);
        assert_eq!(said(&forged, 1000), Err(Unproven::Wrong));
    }

    #[test]
    fn no_other_algorithm_is_taken_and_no_other_form() {
        for header in [r#"{"alg":"none"}"#, r#"{"alg":"HS512"}"#, r#"{"alg":"hs256"}"#, "{}", "x"] {
            assert_eq!(said(&token(header, "{}"), 0), Err(Unproven::Malformed), "{header}");
        }
        let good = token(HEADER, "{}");
        assert_eq!(said(&good, 0), Ok(()));
        for wrong in ["", "a.b", "a.b.c", &good[1..], &format!("{good}="), &format!("{good}.a")] {
            assert!(said(wrong, 0).is_err(), "{wrong}");
        }
        assert_eq!(said(&token(HEADER, "[]"), 0), Err(Unproven::Malformed));
    }

    #[test]
    fn a_token_of_another_time_is_untimely() {
        let late = Err(Unproven::Untimely);
        for (claims, first, last) in [
            (r#"{"iat":1000}"#, 940, 1060),
            (r#"{"iat":1000.9}"#, 940, 1060),
            (r#"{"iat":1000,"exp":1600}"#, 940, 1660),
            (r#"{"nbf":1000,"exp":1600}"#, 940, 1660),
        ] {
            let token = token(HEADER, claims);
            assert_eq!([said(&token, first - 1), said(&token, first)], [late, Ok(())], "{claims}");
            assert_eq!([said(&token, last), said(&token, last + 1)], [Ok(()), late], "{claims}");
        }
    }
}
