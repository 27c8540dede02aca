//! Who is proven by the secret itself, or by a token that it signs.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use hookonce::scheme::generic::{Generic, GenericOptions, JwtSigning, Part, Signing};
use hookonce::scheme::signature::Hash;
use hookonce::scheme::{Scheme as _, Unproven};
use jiff::{SignedDuration, Timestamp};
use sha2::{Digest as _, Sha256};

use super::secrets;
use crate::bed::scheme::request;

const AT: i64 = 1_760_000_000;

fn scheme(signing: Signing, secret: &[&str]) -> Generic {
    let options = GenericOptions { signing: Some(signing), ..GenericOptions::default() };
    Generic::new(options, secrets(secret)).unwrap()
}

fn said(scheme: &Generic, name: &str, value: &str) -> Result<Option<usize>, Unproven> {
    let mut request = request(b"{}", &[(name, value.as_bytes())]);
    request.received_at = Timestamp::from_second(AT).unwrap();
    scheme.verify(request).map(|verified| verified.secret)
}

/// A token that was made at `at` under `key`.
fn bearer(at: i64, claims: &[(&str, String)]) -> String {
    let mut said = serde_json::json!({ "iat": at });
    for (name, text) in claims {
        let number = (*name == "exp").then(|| text.parse::<i64>().unwrap().into());
        said[*name] = number.unwrap_or_else(|| text.as_str().into());
    }
    let parts = [r#"{"alg":"HS256"}"#.to_owned(), said.to_string()];
    let signed = parts.map(|part| URL_SAFE_NO_PAD.encode(part)).join(".");
    let tag = Hash::Sha256.sign(b"key", &[signed.as_bytes()]);
    format!("Bearer {signed}.{}", URL_SAFE_NO_PAD.encode(tag))
}

#[test]
fn a_static_secret_proves_who_knows_it() {
    let header = Signing::Header { name: "x-token".parse().unwrap(), prefix: "Token ".into() };
    let header = scheme(header, &["a", "b"]);
    assert_eq!(said(&header, "X-Token", "Token b"), Ok(Some(1)));
    assert_eq!(said(&header, "X-Token", "Token B"), Err(Unproven::Wrong));
    assert_eq!(said(&header, "X-Token", "Token "), Err(Unproven::Wrong));
    assert_eq!(said(&header, "X-Token", "b"), Err(Unproven::Malformed));
    assert_eq!(said(&header, "Authorization", "Token b"), Err(Unproven::Missing));
    let bearer = scheme(Signing::Bearer, &["a b"]);
    assert_eq!(said(&bearer, "Authorization", "bearer  a b"), Ok(Some(0)));
    for wrong in ["Bearer", "Bearer ", "Basic a b", "a b", ""] {
        assert_eq!(said(&bearer, "Authorization", wrong), Err(Unproven::Malformed), "{wrong}");
    }
    assert_eq!(said(&bearer, "Authorization", "Bearer a"), Err(Unproven::Wrong));
}

#[test]
fn user_and_password_prove_who_knows_both() {
    let basic = scheme(Signing::Basic, &["user:pass:é"]);
    let asked =
        |pair: &str| said(&basic, "Authorization", &format!("Basic {}", STANDARD.encode(pair)));
    assert_eq!(asked("user:pass:é"), Ok(Some(0)));
    for wrong in ["user:pass", "User:pass:é", "", ":"] {
        assert!(asked(wrong).is_err(), "{wrong}");
    }
    assert_eq!(said(&basic, "Authorization", "Basic !"), Err(Unproven::Malformed));
    let options = GenericOptions { signing: Some(Signing::Basic), ..GenericOptions::default() };
    assert!(Generic::new(options, secrets(&["password"])).is_err());
}

#[test]
fn a_token_may_name_its_body_and_must_if_told_so() {
    let hash = hex::encode(Sha256::digest(b"{}"));
    let token = |claims: &[(&str, String)]| bearer(AT, claims);
    let named = JwtSigning { body_claim: Some("payload_hash".into()), tolerance: None };
    let named = scheme(Signing::Jwt(named), &["other", "key"]);
    let asked =
        |scheme: &Generic, claims: &[(&str, String)]| said(scheme, "Authorization", &token(claims));
    assert_eq!(asked(&named, &[("payload_hash", hash.clone())]), Ok(Some(1)));
    assert_eq!(asked(&named, &[("payload_hash", hash.to_uppercase())]), Ok(Some(1)));
    assert_eq!(asked(&named, &[("payload_hash", "0".repeat(64))]), Err(Unproven::Wrong));
    assert_eq!(asked(&named, &[("payload_hash", "x".into())]), Err(Unproven::Malformed));
    assert_eq!(asked(&named, &[]), Err(Unproven::Malformed));
    let unnamed = scheme(Signing::Jwt(JwtSigning::default()), &["key"]);
    assert_eq!(asked(&unnamed, &[]), Ok(Some(0)));
    assert_eq!(said(&unnamed, "Authorization", "Bearer a.b.c"), Err(Unproven::Malformed));
    assert_eq!(said(&unnamed, "Authorization", "Basic a.b.c"), Err(Unproven::Malformed));
}

#[test]
fn a_token_of_another_time_is_untimely() {
    let tolerance = Some(SignedDuration::from_secs(60));
    let strict = scheme(Signing::Jwt(JwtSigning { body_claim: None, tolerance }), &["key"]);
    let made = |at: i64| bearer(at, &[]);
    assert_eq!(said(&strict, "Authorization", &made(AT - 60)), Ok(Some(0)));
    for at in [AT - 61, AT + 61] {
        assert_eq!(said(&strict, "Authorization", &made(at)), Err(Unproven::Untimely), "{at}");
    }
}

#[test]
fn a_token_of_long_ago_is_untimely_whatever_its_end_where_there_is_a_tolerance() {
    let tolerance = Some(SignedDuration::from_secs(300));
    let strict = scheme(Signing::Jwt(JwtSigning { body_claim: None, tolerance }), &["key"]);
    let open = scheme(Signing::Jwt(JwtSigning::default()), &["key"]);
    let made = |at: i64| bearer(at, &[("exp", "4102444800".into())]);
    assert_eq!(said(&strict, "Authorization", &made(AT - 300)), Ok(Some(0)));
    let year = made(AT - 365 * 24 * 3600);
    assert_eq!(said(&strict, "Authorization", &year), Err(Unproven::Untimely));
    assert_eq!(said(&strict, "Authorization", &made(AT - 301)), Err(Unproven::Untimely));
    assert_eq!(said(&open, "Authorization", &year), Ok(Some(0)));
}

#[test]
fn what_a_signature_covers_is_known() {
    let part = |text: &str| text.parse::<Part>().unwrap();
    let named = JwtSigning { body_claim: Some("h".into()), tolerance: None };
    assert!(Signing::Jwt(named).covers(&part("/id or literal:x")));
    for signing in [Signing::Jwt(JwtSigning::default()), Signing::Bearer, Signing::Basic] {
        assert!(signing.covers(&part("literal:x")));
        for not in ["/id", "root:/id", "digest", "header:x", "literal:x or /y", "header:a or /b"] {
            let covered = signing.covers(&part(not));
            // A literal goes to its end.
            assert_eq!(covered, not.starts_with("literal:"), "{not}");
        }
    }
}
