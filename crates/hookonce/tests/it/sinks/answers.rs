//! What the answer to an HTTP sink means.

use std::time::Duration;

use hookonce::sink::http::{HttpOptions, HttpSink};
use hookonce::step::{Done, Failure, Step as _};
use tokio::net::TcpListener;

use super::claim::{changed, claim, context};
use super::peer::Peer;

async fn run(options: HttpOptions) -> Result<Done, Failure> {
    HttpSink::new(options).unwrap().run(&context(&claim())).await
}

/// What a sink makes of an answer with this status, these headers and this body.
async fn judged(status: u16, headers: &str, body: &str) -> Result<Done, Failure> {
    let peer = Peer::listen().await;
    let options = HttpOptions::new(peer.url());
    let length = body.len();
    let _peer = peer.answering(format!(
        "HTTP/1.1 {status} x\r\n{headers}Content-Length: {length}\r\n\r\n{body}"
    ));
    run(options).await
}

#[tokio::test]
async fn any_2xx_is_a_success() {
    for status in [200, 201, 202, 204, 299] {
        assert!(matches!(judged(status, "", "").await, Ok(Done::PLAIN)), "{status}");
    }
}

#[tokio::test]
async fn an_answer_that_cannot_change_is_permanent() {
    for status in [400, 410, 413, 422] {
        let failure = judged(status, "", "no such\n field").await.unwrap_err();
        let Failure::Permanent(error) = failure else { panic!("{status}: {failure:?}") };
        assert!(error.starts_with(&format!("answered {status}")), "{error}");
        assert!(error.ends_with(": no such field"), "{error}");
    }
}

#[tokio::test]
async fn which_answers_are_permanent_can_be_configured() {
    for (permanent, is_permanent) in [(vec![409], true), (vec![], false)] {
        let peer = Peer::listen().await;
        let options = HttpOptions { permanent, ..HttpOptions::new(peer.url()) };
        let _peer = peer.answering("HTTP/1.1 409 x\r\nContent-Length: 0\r\n\r\n".to_owned());
        let failure = run(options).await.unwrap_err();
        assert_eq!(matches!(failure, Failure::Permanent(_)), is_permanent, "{failure:?}");
    }
}

#[tokio::test]
async fn too_early_is_not_yet_and_waits_as_long_as_it_is_asked_to() {
    let date = "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n\
                Retry-After: Sun, 06 Nov 1994 08:50:37 GMT\r\n";
    let waits = [
        (425, "", 10),
        (429, "", 10),
        (429, "Retry-After: 7\r\n", 7),
        (429, "Retry-After: 0\r\n", 1),
        (425, date, 60),
    ];
    for (status, headers, secs) in waits {
        let failure = judged(status, headers, "").await.unwrap_err();
        let Failure::NotYet { after, .. } = failure else { panic!("{status}: {failure:?}") };
        assert_eq!(after, Duration::from_secs(secs));
    }
}

#[tokio::test]
async fn every_other_answer_is_transient_with_the_delay_it_asks_for() {
    for status in [401, 403, 404, 408, 409, 500, 501, 505, 599] {
        let failure = judged(status, "Retry-After: 90\r\n", "").await.unwrap_err();
        let Failure::Transient { retry_after, .. } = failure else { panic!("{failure:?}") };
        assert_eq!(retry_after, Some(Duration::from_secs(90)), "{status}");
    }
}

#[tokio::test]
async fn an_answer_that_the_sink_is_out_of_service_may_be_of_this_event_alone() {
    for status in [502, 503, 504] {
        let failure = judged(status, "Retry-After: 90\r\n", "").await.unwrap_err();
        let Failure::Unavailable { retry_after, .. } = failure else { panic!("{failure:?}") };
        assert_eq!(retry_after, Some(Duration::from_secs(90)), "{status}");
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let elsewhere = Peer::listen().await;
    for status in [301, 302, 303, 307, 308] {
        let location = format!("Location: {}\r\n", elsewhere.url());
        let failure = judged(status, &location, "").await.unwrap_err();
        assert!(matches!(failure, Failure::Transient { .. }), "{status}: {failure:?}");
    }
    let followed = tokio::time::timeout(Duration::from_millis(20), elsewhere.receive()).await;
    assert!(followed.is_err());
}

#[tokio::test]
async fn a_sink_that_cannot_be_reached_is_down_and_its_url_is_not_told() {
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let refused = format!("http://{}/?secret", gone.local_addr().unwrap());
    drop(gone);
    for url in [&*refused, "http://no-such-host.invalid/?secret"] {
        let failure = run(HttpOptions::new(url)).await.unwrap_err();
        let Failure::SinkDown(error) = failure else { panic!("{url}: {failure:?}") };
        assert!(error.starts_with("can't connect: ") && !error.contains("secret"), "{error}");
    }
}

#[tokio::test]
async fn a_sink_whose_tls_fails_is_down() {
    let peer = Peer::listen().await;
    let options = HttpOptions::new(peer.url().replace("http:", "https:"));
    let listener = peer.into_listener();
    let (ran, ()) = tokio::join!(run(options), async {
        // It closes in the middle of the handshake.
        drop(listener.accept().await.unwrap());
    });
    assert!(matches!(ran, Err(Failure::SinkDown(_))), "{ran:?}");
}

#[tokio::test]
async fn no_answer_in_time_leaves_the_outcome_unknown() {
    let peer = Peer::listen().await;
    let timeout = Duration::from_millis(100);
    let options = HttpOptions { timeout, ..HttpOptions::new(peer.url()) };
    let (ran, _received) = tokio::join!(run(options), peer.receive());
    let Err(Failure::Unknown(error)) = ran else { panic!("{ran:?}") };
    assert_eq!(error, "no answer within 100ms; whether it was handled is unknown");
}

#[tokio::test]
async fn a_connection_that_breaks_before_the_answer_leaves_the_outcome_unknown() {
    let peer = Peer::listen().await;
    let options = HttpOptions::new(peer.url());
    let (ran, ()) = tokio::join!(run(options), async { drop(peer.receive().await) });
    let Err(Failure::Unknown(error)) = ran else { panic!("{ran:?}") };
    assert!(error.starts_with("the connection broke before an answer came"), "{error}");
    assert!(!error.contains("of-the-url"), "{error}");
}

#[tokio::test]
async fn of_an_answer_without_end_only_the_beginning_is_read() {
    let peer = Peer::listen().await;
    let options = HttpOptions::new(peer.url());
    let endless = "x".repeat(1 << 20);
    let answer = format!("HTTP/1.1 500 x\r\nContent-Length: 999999999\r\n\r\n{endless}");
    let _peer = peer.answering(answer);
    let Err(Failure::Transient { error, .. }) = run(options).await else { panic!() };
    assert!(error.len() < 600, "{}", error.len());
}

#[tokio::test]
async fn a_success_whose_body_breaks_off_is_a_success() {
    let peer = Peer::listen().await;
    let options = HttpOptions::new(peer.url());
    let _peer = peer.answering("HTTP/1.1 200 x\r\nContent-Length: 10\r\n\r\nabc".to_owned());
    assert!(run(options).await.is_ok());
}

#[tokio::test]
async fn an_event_whose_payload_was_pruned_is_not_sent() {
    let claim = changed(|event| event.payload = None);
    let sink = HttpSink::new(HttpOptions::new("http://127.0.0.1:1")).unwrap();
    let failure = sink.run(&context(&claim)).await.unwrap_err();
    assert!(matches!(failure, Failure::Permanent(_)), "{failure:?}");
}
