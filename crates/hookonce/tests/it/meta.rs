//! Meta's scheme: who signed, what was asked, and which events are in a request.

#![allow(clippy::unwrap_used, reason = "a test stops where its own input is wrong")]

mod conservation;
mod hostile;

use hookonce::event::NewEvent;
use hookonce::scheme::meta::Meta;
use hookonce::scheme::{Challenge, Proof, Scheme, Secret, Unproven, Verified};
use serde_json::Value;

use crate::bed::scheme::{self, request};

/// The events of a request, whoever sent it.
fn events(body: &[u8]) -> Vec<NewEvent> {
    scheme::events(&Meta::new(Proof::Unverified, None), body)
}

#[test]
fn each_vector_gives_its_events() {
    assert!(scheme::check_vectors("meta", &Meta::new(Proof::Unverified, None)) > 15);
}

const EMPTY: &str = r#"{"object":"whatsapp_business_account","entry":[]}"#;
const EMPTY_SIGNED: &str = "dec6a680679a968e7e0319355b23599cbfc54502c0784668e9618baa0c633756";
const ESCAPED: &str = r#"{"object":"whatsapp_business_account","entry":[{"id":"1","changes":[{"field":"messages","value":{"t":"\u00e4\/<@%"}}]}]}"#;
const ESCAPED_SIGNED: &str = "6a2f95d3d6a8c6a4c8332ff86c14c3fbd63eb93f74d6e6bf6852cb1f5f4966c4";

fn signed_by(secrets: &[&str]) -> Meta {
    let secrets = secrets.iter().map(|secret| Secret::new(secret).unwrap()).collect();
    Meta::new(Proof::Secrets(secrets), None)
}

fn verify(meta: &Meta, body: &str, signature: &[u8]) -> Result<Verified, Unproven> {
    meta.verify(request(body.as_bytes(), &[("x-hub-signature-256", signature)]))
}

#[test]
fn the_signature_is_over_the_bytes_received() {
    let meta = signed_by(&["test_app_secret"]);
    for (body, hex) in [(EMPTY, EMPTY_SIGNED), (ESCAPED, ESCAPED_SIGNED)] {
        let signature = format!("sha256={hex}");
        assert!(verify(&meta, body, signature.as_bytes()).is_ok());
        let upper = format!("sha256={}", hex.to_uppercase());
        assert!(verify(&meta, body, upper.as_bytes()).is_ok());
        let headers = meta.sign(&scheme::unsigned(body)).headers;
        assert!(headers.contains(&("X-Hub-Signature-256".into(), signature.clone())));
        let longer = format!("{body} ");
        assert_eq!(verify(&meta, &longer, signature.as_bytes()).unwrap_err(), Unproven::Wrong);
        let other = signed_by(&["another"]);
        assert_eq!(verify(&other, body, signature.as_bytes()).unwrap_err(), Unproven::Wrong);
    }
    // What a receiver sees that parses the body and prints it again.
    let printed = serde_json::from_str::<Value>(ESCAPED).unwrap().to_string();
    let signature = format!("sha256={ESCAPED_SIGNED}");
    assert_eq!(verify(&meta, &printed, signature.as_bytes()).unwrap_err(), Unproven::Wrong);
}

#[test]
fn any_of_several_secrets_proves_the_sender() {
    let signature = format!("sha256={EMPTY_SIGNED}");
    let meta = signed_by(&["new", "test_app_secret", "old"]);
    assert_eq!(verify(&meta, EMPTY, signature.as_bytes()).unwrap().secret, Some(1));
    assert_eq!(verify(&signed_by(&[]), EMPTY, signature.as_bytes()).unwrap_err(), Unproven::Wrong);
}

#[test]
fn a_signature_of_another_form_proves_nothing() {
    let meta = signed_by(&["test_app_secret"]);
    let short = &EMPTY_SIGNED[1..];
    let cut = &EMPTY_SIGNED[2..];
    let malformed = [
        String::new(),
        "sha256=".into(),
        "sha256=abc".into(),
        format!("sha256={short}"),
        format!("sha256={EMPTY_SIGNED}0"),
        format!("sha256={EMPTY_SIGNED}00"),
        format!("sha256={}", "z".repeat(64)),
        format!("sha256={cut}é"),
        format!("sha256={short}é"),
        EMPTY_SIGNED.into(),
        format!("sha1={EMPTY_SIGNED}"),
        format!("SHA256={EMPTY_SIGNED}"),
        format!("sha256= {EMPTY_SIGNED}"),
        format!("sha256=0x{cut}"),
        format!("sha256={EMPTY_SIGNED},sha256={EMPTY_SIGNED}"),
        "a".repeat(10_000),
    ];
    for signature in &malformed {
        let refused = verify(&meta, EMPTY, signature.as_bytes()).unwrap_err();
        assert_eq!(refused, Unproven::Malformed, "{signature}");
    }
    let high = verify(&meta, EMPTY, &[b"sha256=".as_slice(), &[0xff; 64]].concat());
    assert_eq!(high.unwrap_err(), Unproven::Malformed);
    let right = format!("sha256={EMPTY_SIGNED}");
    let header = |name| (name, right.as_bytes());
    let twice = [header("x-hub-signature-256"), header("x-hub-signature-256")];
    let refused = meta.verify(request(EMPTY.as_bytes(), &twice));
    assert_eq!(refused.unwrap_err(), Unproven::Malformed);
    for headers in [&[][..], &[header("x-hub-signature")]] {
        let refused = meta.verify(request(EMPTY.as_bytes(), headers));
        assert_eq!(refused.unwrap_err(), Unproven::Missing);
    }
    assert!(meta.verify(request(EMPTY.as_bytes(), &[header("X-HUB-SIGNATURE-256")])).is_ok());
}

#[test]
fn a_challenge_is_answered_verbatim_to_the_right_token_only() {
    let meta = Meta::new(Proof::Unverified, Secret::new("to ken+ä"));
    let asked = |query: &str| meta.challenge(query);
    let right = "hub.mode=subscribe&hub.verify_token=to+ken%2B%C3%A4&hub.challenge=";
    for (challenge, answer) in
        [("00123", "00123"), ("a%20b+c%3C%26", "a b c<&"), ("x=y", "x=y"), ("%C3%A9", "é")]
    {
        assert_eq!(asked(&format!("{right}{challenge}")), Challenge::Answer(answer.into()));
        assert_eq!(asked(&format!("a=1&&{right}{challenge}&b")), Challenge::Answer(answer.into()));
    }
    assert_eq!(asked(&format!("{right}{}", "1".repeat(1024))), Challenge::Answer("1".repeat(1024)));
    for query in [
        &format!("{right}{}", "1".repeat(1025)),
        &format!("{right}%ff"),
        &format!("{right}1&hub.challenge=2"),
        &format!("{right}1&hub.mode=subscribe"),
        &format!("{right}1&hub.verify_token=to+ken%2B%C3%A4"),
        "hub.mode=subscribe&hub.verify_token=wrong&hub.challenge=1",
        "hub.mode=subscribe&hub.verify_token=&hub.challenge=1",
        "hub.mode=subscribe&hub.challenge=1",
        "hub.mode=unsubscribe&hub.verify_token=to+ken%2B%C3%A4&hub.challenge=1",
        "hub.verify_token=to+ken%2B%C3%A4&hub.challenge=1",
        "hub.challenge=1",
    ] {
        assert_eq!(asked(query), Challenge::Refused, "{query}");
    }
    for query in ["", "a=1", "mode=subscribe", "%ff=1", right, &right[..right.len() - 15]] {
        assert_eq!(asked(query), Challenge::NotAsked, "{query}");
    }
    let unset = Meta::new(Proof::Unverified, None);
    for query in [&format!("{right}1"), "hub.mode=subscribe&hub.verify_token=&hub.challenge=1"] {
        assert_eq!(unset.challenge(query), Challenge::Refused);
    }
}

const TEXT_SIGNED_BY_360DIALOG: &str =
    "1b1fdc36f8b28c396c5a1a56e276923dc35a006fc6bcf1d1a66ea67815a34baa";

#[test]
fn what_360dialog_passes_on_has_a_bare_signature_and_no_challenge() {
    let secrets = vec![Secret::new("test_platform_secret").unwrap()];
    let meta = Meta::dialog360(Proof::Secrets(secrets));
    let asked = |name, value: &str| {
        meta.verify(request(EMPTY.as_bytes(), &[(name, value.as_bytes())])).map(|_| ())
    };
    let header = "x-360dialog-signature";
    assert_eq!(asked(header, TEXT_SIGNED_BY_360DIALOG), Ok(()));
    let prefixed = format!("sha256={TEXT_SIGNED_BY_360DIALOG}");
    assert_eq!(asked(header, &prefixed), Err(Unproven::Malformed));
    assert_eq!(asked("x-hub-signature-256", &prefixed), Err(Unproven::Missing));
    assert_eq!(asked(header, EMPTY_SIGNED), Err(Unproven::Wrong));
    let headers = meta.sign(&scheme::unsigned(EMPTY)).headers;
    assert!(headers.contains(&(header.into(), TEXT_SIGNED_BY_360DIALOG.into())));
    let query = "hub.mode=subscribe&hub.verify_token=a&hub.challenge=1";
    assert_eq!(meta.challenge(query), Challenge::NotAsked);
}
