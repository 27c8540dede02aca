//! What Twilio signs: its address in one spelling or another, and a form's parameters in order.

use axum::http::Uri;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hookonce::scheme::signature::Hash;
use hookonce::scheme::twilio::Twilio;
use hookonce::scheme::{Proof, Scheme, Secret, Unproven, Unsigned};

use crate::bed::scheme::{self, request};

const TOKEN: &str = "test_auth_token";
const URL: &str = "https://hooks.example.test/twilio";
const FORM_TYPE: (&str, &[u8]) = ("content-type", b"application/x-www-form-urlencoded");
const JSON_TYPE: (&str, &[u8]) = ("content-type", b"application/json; charset=utf-8");
/// In another order than they are signed in.
const FORM: &str = "To=whatsapp%3A%2B15550002222&MessageSid=SM00000000000000000000000000000001&From=whatsapp%3A%2B15550001111&Body=hi";
/// Of this form at `URL` with `?x=1` behind it.
const FORM_SIGNED: &str = "vwIKDRNMSzcCXRHwpNDFu8KsAXM=";

fn twilio(tokens: &[&str], url: &str) -> Twilio {
    let secrets = tokens.iter().map(|token| Secret::new(token).unwrap()).collect();
    Twilio::new(Proof::Secrets(secrets), Some(url.to_owned()))
}

/// What is said of a request with this body to this path, with this signature.
fn said(
    twilio: &Twilio,
    target: &str,
    body: &str,
    kind: (&str, &[u8]),
    tag: &str,
) -> Result<Option<usize>, Unproven> {
    let mut request = request(body.as_bytes(), &[kind, ("X-Twilio-Signature", tag.as_bytes())]);
    request.target = target.parse::<Uri>().unwrap();
    twilio.verify(request).map(|verified| verified.secret)
}

/// The signature of a text.
fn tag(text: &str) -> String {
    STANDARD.encode(Hash::Sha1.sign(TOKEN.as_bytes(), &[text.as_bytes()]))
}

#[test]
fn a_form_is_signed_in_order_of_its_names_behind_the_address() {
    let by =
        |twilio: &Twilio, target, body: &str| said(twilio, target, body, FORM_TYPE, FORM_SIGNED);
    let own = twilio(&[TOKEN], URL);
    assert_eq!(by(&own, "/any?x=1", FORM), Ok(Some(0)));
    let ordered: Vec<_> = FORM.split('&').rev().collect();
    assert_eq!(by(&own, "/any?x=1", &ordered.join("&")), Ok(Some(0)));
    for (target, body) in [
        ("/any", FORM.to_owned()),
        ("/any?x=2", FORM.to_owned()),
        ("/any?x=1", FORM.replace("hi", "ho")),
        ("/any?x=1", format!("{FORM}&New=")),
        ("/any?x=1", format!("{FORM}&Body=ho")),
        ("/any?x=1", String::new()),
    ] {
        assert_eq!(by(&own, target, &body), Err(Unproven::Wrong), "{target} {body}");
    }
    assert_eq!(by(&twilio(&["other"], URL), "/any?x=1", FORM), Err(Unproven::Wrong));
    assert_eq!(by(&twilio(&["new", TOKEN, "old"], URL), "/any?x=1", FORM), Ok(Some(1)));
    let elsewhere = twilio(&[TOKEN], "https://evil.example.test/twilio");
    assert_eq!(by(&elsewhere, "/any?x=1", FORM), Err(Unproven::Wrong));
}

#[test]
fn the_port_may_be_signed_or_not() {
    let signed = |url: &str| {
        tag(&format!(
            "{url}BodyhiFromwhatsapp:+15550001111MessageSidSM00000000000000000000000000000001Towhatsapp:+15550002222"
        ))
    };
    for (own, theirs) in [
        (URL, "https://hooks.example.test:443/twilio"),
        ("https://hooks.example.test:443/twilio", URL),
        ("https://hooks.example.test:8443/twilio", URL),
        ("https://hooks.example.test:8443/twilio", "https://hooks.example.test:8443/twilio"),
        ("http://hooks.example.test/a%2Fb", "http://hooks.example.test:80/a%2Fb"),
    ] {
        let twilio = twilio(&[TOKEN], own);
        assert_eq!(
            said(&twilio, "/", FORM, FORM_TYPE, &signed(theirs)),
            Ok(Some(0)),
            "{own} {theirs}"
        );
    }
    for (own, theirs) in [
        (URL, "https://hooks.example.test:8443/twilio"),
        (URL, "http://hooks.example.test/twilio"),
        ("http://hooks.example.test/a%2Fb", "http://hooks.example.test/a%2fb"),
    ] {
        let twilio = twilio(&[TOKEN], own);
        let said = said(&twilio, "/", FORM, FORM_TYPE, &signed(theirs));
        assert_eq!(said, Err(Unproven::Wrong), "{own} {theirs}");
    }
}

#[test]
fn equal_names_are_signed_with_each_value_once_in_order() {
    let twilio = twilio(&[TOKEN], URL);
    let signed = tag(&format!("{URL}Aa bAcBé+C"));
    for body in ["B=%C3%A9%2B&A=c&C&A=a+b&A=c", "A=a%20b&A=c&B=%c3%a9%2b&C=&&"] {
        assert_eq!(said(&twilio, "/", body, FORM_TYPE, &signed), Ok(Some(0)), "{body}");
    }
}

#[test]
fn bytes_that_are_no_text_are_signed_as_they_are() {
    let twilio = twilio(&[TOKEN], URL);
    let parts = [URL.as_bytes(), b"A\xff"];
    let signed = STANDARD.encode(Hash::Sha1.sign(TOKEN.as_bytes(), &parts));
    assert_eq!(said(&twilio, "/", "A=%FF", FORM_TYPE, &signed), Ok(Some(0)));
    for other in ["A=%FE", "A=%EF%BF%BD"] {
        assert_eq!(said(&twilio, "/", other, FORM_TYPE, &signed), Err(Unproven::Wrong));
    }
}

#[test]
fn a_body_that_is_no_form_has_its_hash_in_the_query() {
    use sha2::Digest as _;
    let twilio = twilio(&[TOKEN], URL);
    let body = r#"[{"id":"EZ1"}]"#;
    let hash = hex::encode(sha2::Sha256::digest(body));
    let query = format!("a=1&bodySHA256={hash}");
    let signed = tag(&format!("{URL}?{query}"));
    let by = |query: &str, body: &str, tag: &str| {
        said(&twilio, &format!("/x?{query}"), body, JSON_TYPE, tag)
    };
    assert_eq!(by(&query, body, &signed), Ok(Some(0)));
    let upper = query.replace(&hash, &hash.to_uppercase());
    assert_eq!(by(&upper, body, &tag(&format!("{URL}?{upper}"))), Ok(Some(0)));
    assert_eq!(by(&query, "[]", &signed), Err(Unproven::Wrong));
    let other = query.replace(&hash, &"0".repeat(64));
    assert_eq!(by(&other, body, &signed), Err(Unproven::Wrong));
    assert_eq!(by(&other, body, &tag(&format!("{URL}?{other}"))), Err(Unproven::Wrong));
    for malformed in ["a=1".to_owned(), format!("{query}&{query}"), "bodySHA256".to_owned()] {
        let signed = tag(&format!("{URL}?{malformed}"));
        assert_eq!(by(&malformed, body, &signed), Err(Unproven::Malformed), "{malformed}");
    }
    // As a form, its text is a parameter that nobody signed.
    let target = format!("/x?{query}");
    assert_eq!(said(&twilio, &target, body, FORM_TYPE, &signed), Err(Unproven::Wrong));
}

#[test]
fn a_signature_of_another_form_proves_nothing() {
    let twilio = twilio(&[TOKEN], URL);
    for malformed in [
        "",
        "AAAA",
        "vwIKDRNMSzcCXRHwpNDFu8KsAXM",
        "vwIKDRNMSzcCXRHwpNDFu8KsAXM=A",
        " =",
        "bf020a0d134c4b37025d11f0a4d0c5bbc2ac0173",
    ] {
        let said = said(&twilio, "/?x=1", FORM, FORM_TYPE, malformed);
        assert_eq!(said, Err(Unproven::Malformed), "{malformed}");
    }
    let header = ("x-twilio-signature", FORM_SIGNED.as_bytes());
    let mut twice = request(FORM.as_bytes(), &[FORM_TYPE, header, header]);
    twice.target = Uri::from_static("/?x=1");
    assert_eq!(twilio.verify(twice).unwrap_err(), Unproven::Malformed);
    let none = twilio.verify(request(FORM.as_bytes(), &[FORM_TYPE]));
    assert_eq!(none.unwrap_err(), Unproven::Missing);
}

#[test]
fn without_an_address_that_is_trusted_nothing_is_proven() {
    let secrets = vec![Secret::new(TOKEN).unwrap()];
    let twilio = Twilio::new(Proof::Secrets(secrets), None);
    let headers = [
        FORM_TYPE,
        ("X-Twilio-Signature", FORM_SIGNED.as_bytes()),
        ("Host", b"hooks.example.test"),
        ("X-Forwarded-Host", b"hooks.example.test"),
        ("X-Forwarded-Proto", b"https"),
    ];
    let mut asked = request(FORM.as_bytes(), &headers);
    asked.target = Uri::from_static("/twilio?x=1");
    assert_eq!(twilio.verify(asked.clone()).unwrap_err(), Unproven::Wrong);
    asked.base = Some("https://hooks.example.test".to_owned());
    assert!(twilio.verify(asked).is_ok());
}

#[test]
fn what_is_signed_here_is_proven_here() {
    let local = "http://127.0.0.1:8080/webhooks/twilio";
    for (twilio, kind) in [(twilio(&[TOKEN], URL), FORM_TYPE), (twilio(&[TOKEN], URL), JSON_TYPE)] {
        let body = if kind == JSON_TYPE { "[{}]" } else { FORM };
        let unsigned = Unsigned { url: local, ..scheme::unsigned(body) };
        let signed = twilio.sign(&unsigned);
        let value = |name: &str| {
            let found = signed.headers.iter().find(|(header, _)| header.eq_ignore_ascii_case(name));
            found.unwrap().1.clone()
        };
        assert_eq!(kind == JSON_TYPE, signed.query.is_some());
        let target = format!("/webhooks/twilio?{}", signed.query.clone().unwrap_or_default());
        let target = target.trim_end_matches('?');
        let content_type = value("content-type");
        let kind = ("content-type", content_type.as_bytes());
        assert_eq!(said(&twilio, target, body, kind, &value("x-twilio-signature")), Ok(Some(0)));
    }
}

#[test]
fn an_account_may_have_chosen_sha_256_and_says_so() {
    let twilio = twilio(&[TOKEN], URL);
    let form = b"MessageSid=SM1";
    let url = format!("{URL}?x=1");
    let parts: [&[u8]; 3] = [url.as_bytes(), b"MessageSid", b"SM1"];
    let [sha1, sha256] =
        [Hash::Sha1, Hash::Sha256].map(|hash| STANDARD.encode(hash.sign(TOKEN.as_bytes(), &parts)));
    let said = |settings: &str, tag: &str| {
        let signature = ("x-twilio-signature", tag.as_bytes());
        let settings = ("x-twilio-webhooks-signature-settings", settings.as_bytes());
        let mut request = request(form, &[FORM_TYPE, signature, settings]);
        request.target = Uri::from_static("/?x=1");
        twilio.verify(request).map(|_| ())
    };
    assert_eq!(said("key=webhooks_sharedkey_1,algorithm=HMAC_SHA256", &sha256), Ok(()));
    assert_eq!(said("algorithm=HMAC_SHA1", &sha1), Ok(()));
    assert_eq!(said("key=1", &sha1), Ok(()));
    for (settings, tag) in [
        ("algorithm=HMAC_SHA256", &sha1),
        ("algorithm=HMAC_SHA1", &sha256),
        ("algorithm=HMAC_MD5", &sha1),
        ("algorithm=hmac_sha256", &sha256),
        ("algorithm=HMAC_SHA256,algorithm=HMAC_SHA1", &sha256),
    ] {
        assert_eq!(said(settings, tag), Err(Unproven::Malformed), "{settings}");
    }
}
