//! What proves Evolution API: a token under HS256 and nothing else, or a secret in a header.

use axum::http::HeaderName;
use base64::Engine as _;
use base64::engine::general_purpose::{URL_SAFE, URL_SAFE_NO_PAD};
use hookonce::scheme::evolution::{Evolution, EvolutionSignature};
use hookonce::scheme::signature::Hash;
use hookonce::scheme::{Proof, Scheme, Secret, Unproven};

use crate::bed::scheme::{self, now, request};

const SECRET: &str = "test_jwt_key";
const HS256: &str = r#"{"alg":"HS256","typ":"JWT"}"#;
/// Made by another program, ten minutes before it ends.
const MADE_ELSEWHERE: &str = "Bearer eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJpYXQiOjE3NjcyMjU2MDAsImV4cCI6MTc2NzIyNjIwMCwiYXBwIjoiZXZvbHV0aW9uIiwiYWN0aW9uIjoid2ViaG9vayJ9.fK7ieC9OisNtzdc9qVP8Gjb6BdGDufp-qFwN8yBAkIM";
const BODY: &str = "{}";

fn evolution(secrets: &[&str], signature: EvolutionSignature) -> Evolution {
    let secrets = secrets.iter().map(|secret| Secret::new(secret).unwrap()).collect();
    Evolution::new(Proof::Secrets(secrets), signature)
}

fn by_token(secrets: &[&str]) -> Evolution {
    evolution(secrets, EvolutionSignature::Jwt)
}

fn said(evolution: &Evolution, headers: &[(&str, &str)]) -> Result<Option<usize>, Unproven> {
    let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_bytes())).collect();
    evolution.verify(request(BODY.as_bytes(), &headers)).map(|verified| verified.secret)
}

/// What is said of a value of `Authorization`.
fn of_token(value: &str) -> Result<Option<usize>, Unproven> {
    said(&by_token(&[SECRET]), &[("Authorization", value)])
}

/// A token with this header and these claims.
fn token(header: &str, claims: &str) -> String {
    let [header, claims] = [header, claims].map(|part| URL_SAFE_NO_PAD.encode(part));
    let signed = format!("{header}.{claims}");
    let tag = Hash::Sha256.sign(SECRET.as_bytes(), &[signed.as_bytes()]);
    format!("Bearer {signed}.{}", URL_SAFE_NO_PAD.encode(tag))
}

/// Claims with a time so many seconds from now.
fn claims(name: &str, seconds: i64) -> String {
    format!(r#"{{"{name}":{}}}"#, now().as_second() + seconds)
}

#[test]
fn a_token_under_one_of_the_secrets_proves_the_sender() {
    let good = token(HS256, &claims("exp", 600));
    assert_eq!(of_token(&good), Ok(Some(0)));
    assert_eq!(of_token(&good.replacen("Bearer", "bearer", 1)), Ok(Some(0)));
    let headers = [("authorization", &*good)];
    assert_eq!(said(&by_token(&["new", SECRET]), &headers), Ok(Some(1)));
    assert_eq!(said(&by_token(&["other"]), &headers), Err(Unproven::Wrong));
    assert_eq!(said(&by_token(&[SECRET]), &[headers[0], headers[0]]), Err(Unproven::Malformed));
    assert_eq!(said(&by_token(&[SECRET]), &[]), Err(Unproven::Missing));
    assert_eq!(said(&by_token(&[SECRET]), &[("jwt_key", SECRET)]), Err(Unproven::Missing));
    assert_eq!(of_token(MADE_ELSEWHERE), Ok(Some(0)));
    let signed = by_token(&[SECRET]).sign(&scheme::unsigned(BODY));
    let (name, value) = signed.headers.last().unwrap();
    assert_eq!((&**name, of_token(value)), ("Authorization", Ok(Some(0))));
}

#[test]
fn another_algorithm_proves_nothing_however_it_is_signed() {
    let claims = claims("exp", 600);
    for header in [
        r#"{"alg":"none"}"#,
        r#"{"alg":"None"}"#,
        r#"{"alg":"HS384"}"#,
        r#"{"alg":"RS256"}"#,
        r#"{"alg":"hs256"}"#,
        r#"{"alg":["HS256"]}"#,
        r#"{"alg":null}"#,
        r#"{"alg":"HS256","alg":"none"}"#,
        r#"{"alg":"HS256","crit":["exp"]}"#,
        "{}",
        "[]",
        "",
        "HS256",
    ] {
        assert_eq!(of_token(&token(header, &claims)), Err(Unproven::Malformed), "{header}");
    }
    let good = token(HS256, &claims);
    let unsigned = &good[..=good.rfind('.').unwrap()];
    assert_eq!(of_token(unsigned), Err(Unproven::Malformed));
}

#[test]
fn a_token_of_another_form_proves_nothing() {
    let good = token(HS256, &claims("exp", 600));
    let bare = &good["Bearer ".len()..];
    let (signed, tag) = bare.rsplit_once('.').unwrap();
    let padded = URL_SAFE.encode(URL_SAFE_NO_PAD.decode(tag).unwrap());
    for malformed in [
        String::new(),
        "Bearer".into(),
        "Bearer ".into(),
        "Bearer ..".into(),
        bare.to_owned(),
        format!("Basic {bare}"),
        format!("{good}.x"),
        format!("{good}A"),
        format!("Bearer {signed}.{padded}"),
        format!("Bearer {signed}"),
        format!("Bearer {}", &signed[..signed.find('.').unwrap()]),
        format!("Bearer {bare}, {bare}"),
        "é".repeat(100),
    ] {
        assert_eq!(of_token(&malformed), Err(Unproven::Malformed), "{malformed}");
    }
    let other = token(HS256, &claims("exp", 601));
    let (_, other) = other.rsplit_once('.').unwrap();
    assert_eq!(of_token(&format!("Bearer {signed}.{other}")), Err(Unproven::Wrong));
}

#[test]
fn times_are_checked_where_they_are_given() {
    let of = |claims: &str| of_token(&token(HS256, claims));
    for good in ["{}", r#"{"app":"evolution"}"#, r#"{"exp":1767225600.5}"#] {
        assert_eq!(of(good), Ok(Some(0)), "{good}");
    }
    for (name, seconds) in
        [("exp", 1), ("exp", -1200), ("iat", 300), ("iat", -100_000), ("nbf", 300)]
    {
        assert_eq!(of(&claims(name, seconds)), Ok(Some(0)), "{name} {seconds}");
    }
    for (name, seconds) in [("exp", -1201), ("iat", 301), ("nbf", 301)] {
        assert_eq!(of(&claims(name, seconds)), Err(Unproven::Untimely), "{name} {seconds}");
    }
    for malformed in [r#"{"exp":"soon"}"#, r#"{"exp":null}"#, r#"{"iat":true}"#, "[]", "", "x"] {
        assert_eq!(of(malformed), Err(Unproven::Malformed), "{malformed}");
    }
}

#[test]
fn a_header_may_be_the_secret_itself() {
    let name = HeaderName::from_static("x-webhook-secret");
    let by = |secrets: &[&str], headers: &[(&str, &str)]| {
        said(&evolution(secrets, EvolutionSignature::Header(name.clone())), headers)
    };
    assert_eq!(by(&["s3cret"], &[("X-Webhook-Secret", "s3cret")]), Ok(Some(0)));
    assert_eq!(by(&["new", "s3crèt"], &[("X-Webhook-Secret", "s3crèt")]), Ok(Some(1)));
    for wrong in ["", "s3cre", "s3crett", "S3CRET", "Bearer s3cret"] {
        let said = by(&["s3cret"], &[("X-Webhook-Secret", wrong)]);
        assert_eq!(said, Err(Unproven::Wrong), "{wrong}");
    }
    let twice = [("X-Webhook-Secret", "s3cret"); 2];
    assert_eq!(by(&["s3cret"], &twice), Err(Unproven::Malformed));
    assert_eq!(by(&["s3cret"], &[("Authorization", "s3cret")]), Err(Unproven::Missing));
    let own = evolution(&["s3cret"], EvolutionSignature::Header(name));
    let headers = own.sign(&scheme::unsigned(BODY)).headers;
    assert!(headers.contains(&("x-webhook-secret".into(), "s3cret".into())));
}
