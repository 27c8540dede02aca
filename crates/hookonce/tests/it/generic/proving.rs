//! Who is proven: vectors of senders, and every form that proves nothing.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hookonce::scheme::generic::{
    Encoding, Generic, GenericOptions, HmacSigning, SecretForm, Signing, Template, TimestampPlace,
};
use hookonce::scheme::signature::Hash;
use hookonce::scheme::{Scheme as _, Unproven};
use jiff::{SignedDuration, Timestamp};

use super::secrets;
use crate::bed::scheme::{now, request, unsigned};

/// GitHub's way, with the secret and body of its own documentation.
fn github() -> HmacSigning {
    HmacSigning {
        hash: Hash::Sha256,
        encoding: Encoding::Hex,
        header: "x-hub-signature-256".parse().unwrap(),
        separator: None,
        prefix: "sha256=".into(),
        template: Template::body(),
        timestamp: None,
        tolerance: None,
        secret_form: SecretForm::default(),
    }
}

fn place(header: &str, prefix: &str) -> TimestampPlace {
    TimestampPlace { header: header.parse().unwrap(), prefix: prefix.into() }
}

fn standard_webhooks() -> HmacSigning {
    HmacSigning {
        encoding: Encoding::Base64,
        header: "webhook-signature".parse().unwrap(),
        separator: Some(" ".into()),
        prefix: "v1,".into(),
        template: "{header:webhook-id}.{timestamp}.{body}".parse().unwrap(),
        timestamp: Some(place("webhook-timestamp", "")),
        tolerance: Some(SignedDuration::from_mins(5)),
        secret_form: SecretForm { prefix: "whsec_".into(), encoding: Encoding::Base64 },
        ..github()
    }
}

fn stripe() -> HmacSigning {
    HmacSigning {
        header: "stripe-signature".parse().unwrap(),
        separator: Some(",".into()),
        prefix: "v1=".into(),
        template: "{timestamp}.{body}".parse().unwrap(),
        timestamp: Some(place("stripe-signature", "t=")),
        tolerance: Some(SignedDuration::from_mins(5)),
        ..github()
    }
}

fn scheme(signing: Signing, secret: &[&str]) -> Generic {
    let public_url = Some("https://hooks.example.test/bird".to_owned());
    let options =
        GenericOptions { signing: Some(signing), public_url, ..GenericOptions::default() };
    Generic::new(options, secrets(secret)).unwrap()
}

/// What is said of a request that arrives at this second.
fn said(
    scheme: &Generic,
    body: &str,
    headers: &[(&str, &str)],
    at: i64,
) -> Result<Option<usize>, Unproven> {
    let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_bytes())).collect();
    let mut request = request(body.as_bytes(), &headers);
    request.received_at = Timestamp::from_second(at).unwrap();
    scheme.verify(request).map(|verified| verified.secret)
}

const AT: i64 = 1_760_000_000;

#[test]
fn the_vectors_of_senders_are_proven() {
    let hello = "Hello, World!";
    let signed = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
    let scheme_of = |signing: HmacSigning, secret| scheme(Signing::Hmac(signing), &[secret]);
    let of_github = scheme_of(github(), "It's a Secret to Everybody");
    assert_eq!(said(&of_github, hello, &[("X-Hub-Signature-256", signed)], AT), Ok(Some(0)));
    let std = scheme_of(standard_webhooks(), "whsec_AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=");
    let headers = [
        ("webhook-id", "msg_test1"),
        ("webhook-timestamp", "1760000000"),
        ("webhook-signature", "v1,pYfr1t/WK2QZDbeK9q81dpbLvQsV61Glk805D0sHiao="),
    ];
    assert_eq!(said(&std, r#"{"a":1}"#, &headers, AT), Ok(Some(0)));
    let ycloud = HmacSigning {
        header: "ycloud-signature".parse().unwrap(),
        prefix: "s=".into(),
        timestamp: Some(place("ycloud-signature", "t=")),
        ..stripe()
    };
    let signed = "t=1760000000,s=f495e119a46eb6023c06ab057f70eee20b42a99ccba7a692b6af681055bfadd9";
    let ycloud = scheme_of(ycloud, "whsec_test");
    assert_eq!(said(&ycloud, r#"{"a":1}"#, &[("YCloud-Signature", signed)], AT), Ok(Some(0)));
    let bird = HmacSigning {
        encoding: Encoding::Base64,
        header: "messagebird-signature".parse().unwrap(),
        prefix: String::new(),
        template: "{timestamp}\n{url}\n{body_sha256}".parse().unwrap(),
        timestamp: Some(place("messagebird-request-timestamp", "")),
        ..github()
    };
    let headers = [
        ("messagebird-signature", "SVhugmpeAGloPB9xSQcIQs5OCDvE4CbdOEMcrO9CbLw="),
        ("messagebird-request-timestamp", "1760000000"),
    ];
    let bird = scheme_of(bird, "test_signing_key");
    assert_eq!(said(&bird, r#"{"a":1}"#, &headers, AT), Ok(Some(0)));
    assert_eq!(said(&bird, r#"{"a":2}"#, &headers, AT), Err(Unproven::Wrong));
}

#[test]
fn each_hash_and_encoding_is_taken_in_its_own_form_only() {
    for (hash, length) in [(Hash::Sha1, 20), (Hash::Sha256, 32), (Hash::Sha512, 64)] {
        for encoding in [Encoding::Hex, Encoding::Base64] {
            let scheme = scheme(
                Signing::Hmac(HmacSigning { hash, encoding, prefix: String::new(), ..github() }),
                &["secret"],
            );
            let tag = hash.sign(b"secret", &[b"{}"]);
            assert_eq!(tag.len(), length);
            let (hex, base64) = (hex::encode(&tag), STANDARD.encode(&tag));
            let said = |value: &str| said(&scheme, "{}", &[("x-hub-signature-256", value)], AT);
            let (right, other) =
                if encoding == Encoding::Hex { (&hex, &base64) } else { (&base64, &hex) };
            assert_eq!(said(right), Ok(Some(0)));
            assert!(said(other).is_err());
            assert!(said(&right[1..]).is_err());
            let (upper, is_same) = (right.to_uppercase(), encoding == Encoding::Hex);
            assert_eq!(said(&upper).is_ok(), is_same);
            // Senders leave the padding away, some of them.
            let bare = right.trim_end_matches('=');
            assert_eq!(said(bare), Ok(Some(0)));
        }
    }
}

#[test]
fn a_signature_of_another_form_proves_nothing() {
    let scheme = scheme(Signing::Hmac(github()), &["secret"]);
    let tag = hex::encode(Hash::Sha256.sign(b"secret", &[b"{}"]));
    let said = |value: &str| said(&scheme, "{}", &[("x-hub-signature-256", value)], AT);
    assert_eq!(said(&format!("sha256={tag}")), Ok(Some(0)));
    for wrong in [
        String::new(),
        "sha256=".into(),
        tag.clone(),
        format!("SHA256={tag}"),
        format!("sha256= {tag}"),
        format!("sha256={tag}0"),
        format!("sha256={tag}00"),
        format!("sha256={tag},sha256={tag}"),
        format!("sha256={}", &tag[2..]),
        format!("sha256={}", "a".repeat(100_000)),
    ] {
        assert_eq!(said(&wrong), Err(Unproven::Malformed), "{wrong}");
    }
    assert_eq!(said(&format!("sha256={}", "0".repeat(64))), Err(Unproven::Wrong));
    let header = ("x-hub-signature-256", &*format!("sha256={tag}"));
    assert_eq!(super::proving::said(&scheme, "{}", &[], AT), Err(Unproven::Missing));
    let twice = super::proving::said(&scheme, "{}", &[header, header], AT);
    assert_eq!(twice, Err(Unproven::Malformed));
}

/// The value of Stripe's header with these signatures.
fn stripe_header(at: i64, tags: &[String]) -> String {
    let tags: Vec<_> = tags.iter().map(|tag| format!("v1={tag}")).collect();
    format!("t={at},{}", tags.join(","))
}

fn stripe_tag(at: i64, secret: &str) -> String {
    hex::encode(Hash::Sha256.sign(secret.as_bytes(), &[format!("{at}.").as_bytes(), b"{}"]))
}

#[test]
fn any_of_several_signatures_is_good_and_not_endlessly_many_are_looked_at() {
    let scheme = scheme(Signing::Hmac(stripe()), &["new", "old"]);
    let said = |value: &str| said(&scheme, "{}", &[("stripe-signature", value)], AT);
    let (good, wrong) = (stripe_tag(AT, "old"), "0".repeat(64));
    assert_eq!(said(&stripe_header(AT, std::slice::from_ref(&good))), Ok(Some(1)));
    assert_eq!(said(&stripe_header(AT, &[wrong.clone(), good.clone()])), Ok(Some(1)));
    assert_eq!(said(&stripe_header(AT, &["zz".into(), good.clone()])), Ok(Some(1)));
    assert_eq!(said(&format!("t={AT}, v0={wrong} , v1={good}")), Ok(Some(1)));
    assert_eq!(said(&format!("v1={good},t={AT}")), Ok(Some(1)));
    let mut many = vec![wrong.clone(); 15];
    many.push(good.clone());
    assert_eq!(said(&stripe_header(AT, &many)), Ok(Some(1)));
    many.insert(0, wrong.clone());
    assert_eq!(said(&stripe_header(AT, &many)), Err(Unproven::Wrong));
    for malformed in [
        format!("t={AT}"),
        format!("t={AT},v0={good}"),
        format!("v1={good}"),
        format!("t={AT},t={AT},v1={good}"),
        format!("t=,v1={good}"),
        format!("t=soon,v1={good}"),
    ] {
        assert_eq!(said(&malformed), Err(Unproven::Malformed), "{malformed}");
    }
}

#[test]
fn a_signed_time_may_be_off_by_the_tolerance_either_way() {
    let scheme = scheme(Signing::Hmac(stripe()), &["s"]);
    let header = stripe_header(AT, &[stripe_tag(AT, "s")]);
    let at = |second| said(&scheme, "{}", &[("stripe-signature", &*header)], second);
    for second in [AT - 300, AT, AT + 300] {
        assert_eq!(at(second), Ok(Some(0)), "{second}");
    }
    for second in [AT - 301, AT + 301, 0] {
        assert_eq!(at(second), Err(Unproven::Untimely), "{second}");
    }
    // Another time was not signed, and so it is no question of lateness.
    let forged = stripe_header(AT + 1000, &[stripe_tag(AT, "s")]);
    let forged = said(&scheme, "{}", &[("stripe-signature", &*forged)], AT + 1000);
    assert_eq!(forged, Err(Unproven::Wrong));
}

#[test]
fn a_secret_is_decoded_as_its_sender_writes_it() {
    let encoded = "AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=";
    let headers = [
        ("webhook-id", "msg_test1"),
        ("webhook-timestamp", "1760000000"),
        ("webhook-signature", "v1,pYfr1t/WK2QZDbeK9q81dpbLvQsV61Glk805D0sHiao="),
    ];
    for secret in [encoded, encoded.trim_end_matches('='), &format!("whsec_{encoded}")] {
        let scheme = scheme(Signing::Hmac(standard_webhooks()), &["b3RoZXI=", secret]);
        assert_eq!(said(&scheme, r#"{"a":1}"#, &headers, AT), Ok(Some(1)), "{secret}");
    }
    for wrong in ["whsec_", "not base64!", "whsk_AQID"] {
        let options = GenericOptions {
            signing: Some(Signing::Hmac(standard_webhooks())),
            ..GenericOptions::default()
        };
        assert!(Generic::new(options, secrets(&[wrong])).is_err(), "{wrong}");
    }
    assert!(Generic::new(GenericOptions::default(), secrets(&["a"])).is_err());
}

#[test]
fn the_address_is_the_one_that_the_sender_was_given() {
    let hmac = HmacSigning { template: "{url}{body}".parse().unwrap(), ..github() };
    let options = |public_url: Option<&str>| GenericOptions {
        signing: Some(Signing::Hmac(hmac.clone())),
        public_url: public_url.map(str::to_owned),
        ..GenericOptions::default()
    };
    let url = b"https://hooks.example.test/x".as_slice();
    let tag = format!("sha256={}", hex::encode(Hash::Sha256.sign(b"s", &[url, b"{}"])));
    let headers = [("x-hub-signature-256", &*tag)];
    let known =
        Generic::new(options(Some("https://hooks.example.test/x")), secrets(&["s"])).unwrap();
    assert_eq!(said(&known, "{}", &headers, AT), Ok(Some(0)));
    // Whatever `Host` says.
    let unknown = Generic::new(options(None), secrets(&["s"])).unwrap();
    let host = ("host", "hooks.example.test");
    assert_eq!(said(&unknown, "{}", &[headers[0], host], AT), Err(Unproven::Missing));
}

#[test]
fn what_is_signed_by_us_is_proven_to_us() {
    let hmac = |template: &str| HmacSigning {
        template: template.parse().unwrap(),
        timestamp: Some(place("x-time", "at ")),
        tolerance: Some(SignedDuration::from_secs(1)),
        ..github()
    };
    let jwt = hookonce::scheme::generic::JwtSigning {
        body_claim: Some("payload_hash".into()),
        tolerance: Some(SignedDuration::from_secs(1)),
    };
    let signings = [
        Signing::Hmac(github()),
        Signing::Hmac(standard_webhooks()),
        Signing::Hmac(stripe()),
        Signing::Hmac(hmac("{timestamp}|{url}|{header:x-id}|{body_sha256_hex}|{body_sha256}")),
        Signing::Header { name: "x-token".parse().unwrap(), prefix: "Token ".into() },
        Signing::Bearer,
        Signing::Basic,
        Signing::Jwt(jwt),
    ];
    for signing in signings {
        let is_basic = matches!(signing, Signing::Basic);
        let secret = if is_basic { "user:pass:word" } else { "c2VjcmV0" };
        let scheme = scheme(signing, &[secret]);
        let headers = scheme.sign(&unsigned("{}")).headers;
        let headers: Vec<_> =
            headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let found = said(&scheme, "{}", &headers, now().as_second());
        assert_eq!(found, Ok(Some(0)), "{headers:?}");
    }
}
