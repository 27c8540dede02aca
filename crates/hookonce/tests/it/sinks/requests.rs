//! What an HTTP sink sends.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use hookonce::scheme::Secret;
use hookonce::sink::http::{HttpOptions, HttpSink, HttpSinkError, SignAs};
use hookonce::step::{Done, Step as _};
use hookonce::store::Clock;
use hookonce::task::Claim;

use super::claim::{changed, claim, context};
use super::peer::{Peer, Received};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

/// What is sent for a claim by a sink with these options.
async fn sent(claim: Claim, change: impl FnOnce(&mut HttpOptions)) -> Received {
    let peer = Peer::listen().await;
    let mut options = HttpOptions::new(peer.url());
    change(&mut options);
    let sink = HttpSink::new(options).unwrap();
    let context = context(&claim);
    let (ran, received) = tokio::join!(sink.run(&context), async {
        let mut received = peer.receive().await;
        received.answer(OK).await;
        received
    });
    assert!(matches!(ran, Ok(Done::PLAIN)), "{ran:?}");
    received
}

fn hmac(key: &[u8], text: &str) -> Vec<u8> {
    let mut mac = Hmac::<sha2::Sha256>::new_from_slice(key).unwrap();
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

#[tokio::test]
async fn the_payload_is_sent_untouched_with_its_attributes_as_headers() {
    let claim = claim();
    let received = sent(claim.clone(), |_| ()).await;
    assert!(received.head.starts_with("POST /hook?token=of-the-url HTTP/1.1\r\n"));
    assert_eq!(received.body, claim.event.payload.as_deref().unwrap());
    let id = "c0fa7022-8b40-85d9-86c1-3f71bb80f8c7";
    let key = format!("{id}/crm/reply");
    let headers = [
        ("content-type", "application/json"),
        ("ce-specversion", "1.0"),
        ("ce-id", id),
        ("ce-source", "/webhooks/whatsapp"),
        ("ce-type", "message.text"),
        ("ce-time", "2026-01-02T03:04:05.678Z"),
        ("ce-subject", "200000000000001:Jos%C3%A9%20100%25"),
        ("ce-key", "message:200000000000001:wamid.TEST0001"),
        ("ce-route", "crm"),
        ("ce-epoch", "3"),
        ("ce-run", "1"),
        ("idempotency-key", &key),
    ];
    for (name, value) in headers {
        assert_eq!(received.header(name), Some(value), "{name}");
    }
    for name in ["webhook-id", "webhook-signature", "x-hub-signature-256"] {
        assert_eq!(received.header(name), None, "{name}");
    }
}

#[tokio::test]
async fn a_run_after_the_first_has_another_idempotency_key() {
    let received = sent(Claim { run: 2, ..claim() }, |_| ()).await;
    assert!(received.header("idempotency-key").unwrap().ends_with("/crm/reply/2"));
    assert_eq!(received.header("ce-run"), Some("2"));
}

#[tokio::test]
async fn an_event_without_a_lane_has_no_subject_and_a_form_its_own_content_type() {
    let form = "application/x-www-form-urlencoded";
    let claim = changed(|event| {
        event.lane = None;
        form.clone_into(&mut event.content_type);
        event.payload = Some("Body=a%20b".to_owned());
    });
    let received = sent(claim, |_| ()).await;
    assert_eq!(received.header("ce-subject"), None);
    assert_eq!((received.header("content-type"), &*received.body), (Some(form), "Body=a%20b"));
}

#[tokio::test]
async fn with_a_secret_requests_are_signed_after_standard_webhooks() {
    let now = "2026-01-02T03:04:05Z".parse().unwrap();
    let key = b"thirty-two bytes of a secret key";
    for secret in [format!("whsec_{}", STANDARD.encode(key)), String::from_utf8_lossy(key).into()] {
        let received = sent(claim(), |options| {
            options.secret = Secret::new(&secret);
            options.clock = Clock::new(move || now);
        })
        .await;
        let id = received.header("webhook-id").unwrap();
        assert_eq!(received.header("idempotency-key"), Some(id));
        assert_eq!(received.header("webhook-timestamp"), Some("1767323045"));
        let tag = hmac(key, &format!("{id}.1767323045.{}", received.body));
        let signature = format!("v1,{}", STANDARD.encode(tag));
        assert_eq!(received.header("webhook-signature"), Some(&*signature));
    }
}

#[tokio::test]
async fn signed_as_meta_a_request_has_the_signature_of_meta_too() {
    let received = sent(claim(), |options| {
        options.secret = Secret::new("app-secret");
        options.sign_as = Some(SignAs::Meta);
    })
    .await;
    let signature = format!("sha256={}", hex::encode(hmac(b"app-secret", &received.body)));
    assert_eq!(received.header("x-hub-signature-256"), Some(&*signature));
    assert!(received.header("webhook-signature").is_some());
}

#[tokio::test]
async fn options_that_cannot_work_are_refused_with_what_to_change() {
    let make = |url: &str, secret: &str, sign_as| {
        let secret = Secret::new(secret);
        HttpSink::new(HttpOptions { secret, sign_as, ..HttpOptions::new(url) })
    };
    for url in ["", "localhost:3000/x", "ftp://a/b", "/relative", "http://"] {
        assert!(matches!(make(url, "", None), Err(HttpSinkError::Url)), "{url}");
    }
    for secret in ["whsec_", "whsec_!!!"] {
        assert!(matches!(make("http://a", secret, None), Err(HttpSinkError::Secret)));
    }
    let without = make("http://a", "", Some(SignAs::Meta));
    assert!(matches!(without, Err(HttpSinkError::NoSecret)));
}

#[test]
fn what_is_secret_of_a_sink_is_not_shown() {
    let options = HttpOptions::new("https://user:hush@a.example/hush?token=hush");
    let secret = Secret::new("hush");
    let sink = HttpSink::new(HttpOptions { secret, ..options }).unwrap();
    let shown = format!("{sink:?}");
    assert!(shown.contains("a.example") && !shown.contains("hush"), "{shown}");
}
