//! What each request is answered.

use std::time::{Duration, Instant};

use hookonce::listener::ListenerOptions;
use hookonce::receiver::ReceiverOptions;
use hookonce::store::Clock;

use super::client::{post, post_to};
use super::scheme::SECRET;
use super::server::Server;
use super::store::Mood;

#[tokio::test]
async fn a_proven_request_is_stored_and_counted() {
    let now = "2026-01-02T03:04:05Z".parse().unwrap();
    let options = ReceiverOptions { clock: Clock::new(move || now), ..Default::default() };
    let server = Server::with(options, ListenerOptions::default()).await;
    let mut client = server.connect().await;
    let first = client.ask(post("a,b,b")).await;
    assert_eq!((first.status, &*first.body), (200, r#"{"new":2,"duplicates":1}"#));
    assert_eq!(first.header("content-type"), Some("application/json"));
    let again = client.ask(post("b,c")).await;
    assert_eq!(again.body, r#"{"new":1,"duplicates":1}"#);

    let event = server.store.batches()[0][0].clone();
    assert_eq!((&*event.source, event.received_at), ("test", now));
    let id = hookonce::event::EventId::of("scope-of-test", "message:a");
    assert_eq!(event.id, id, "the id is made of the scope, not the name");
    let routes: Vec<_> = event.tasks.iter().map(|task| &*task.route).collect();
    assert_eq!(routes, ["all"]);
}

#[tokio::test]
async fn what_cannot_be_read_is_stored_and_wanted_by_every_route_of_its_source() {
    let server = Server::start().await;
    assert_eq!(server.ask(post("bad")).await.status, 200);
    assert_eq!(server.store.batches()[0][0].tasks.len(), 2);
}

#[tokio::test]
async fn an_unproven_request_gets_401_whatever_is_wrong_and_stores_nothing() {
    let server = Server::start().await;
    let long = format!("X-Secret: {}\r\n", "x".repeat(10_000));
    let twice = format!("X-Secret: {SECRET}\r\n").repeat(2);
    let headers = ["", "X-Secret:\r\n", "X-Secret: s3cret\r\n", "X-Secret: é\r\n", &long, &twice];
    let mut client = server.connect().await;
    for headers in headers {
        let answer = client.ask(post_to("/webhooks/test", headers, "a")).await;
        assert_eq!((answer.status, &*answer.body), (401, "the sender is not proven\n"));
    }
    assert!(server.keys().is_empty());
    assert_eq!(client.ask(post("a")).await.status, 200, "the next one is none the worse");
}

#[tokio::test]
async fn every_secret_of_the_source_is_good() {
    let server = Server::start().await;
    let request = post_to("/webhooks/test", "X-Secret: an older one\r\n", "a");
    assert_eq!(server.ask(request).await.status, 200);
}

#[tokio::test]
async fn an_unknown_source_is_not_found() {
    let server = Server::start().await;
    let paths =
        ["/webhooks/other", "/webhooks/TEST", "/webhooks/", "/webhooks", "/webhooks/test//"];
    for path in paths.into_iter().chain(["/webhooks/test/x", "/webhooks/%ff", "/"]) {
        for method in ["POST", "GET", "DELETE"] {
            let request =
                format!("{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\na");
            assert_eq!(server.ask(request).await.status, 404, "{method} {path}");
        }
    }
}

#[tokio::test]
async fn one_trailing_slash_is_served_and_never_redirected() {
    let server = Server::start().await;
    let headers = format!("X-Secret: {SECRET}\r\n");
    assert_eq!(server.ask(post_to("/webhooks/test/", &headers, "a")).await.status, 200);
    let challenge = "GET /webhooks/test/?token=right&challenge=1 HTTP/1.1\r\nHost: x\r\n\r\n";
    assert_eq!(server.ask(challenge).await.body, "1");
}

#[tokio::test]
async fn other_methods_are_told_which_ones_there_are() {
    let server = Server::start().await;
    let mut client = server.connect().await;
    for (method, status) in [("PUT", 405), ("DELETE", 405), ("PATCH", 405), ("OPTIONS", 204)] {
        let request = format!("{method} /webhooks/test HTTP/1.1\r\nHost: x\r\n\r\n");
        let answer = client.ask(request).await;
        assert_eq!(answer.status, status);
        assert_eq!(answer.header("allow"), Some("GET, HEAD, POST, OPTIONS"));
    }
}

#[tokio::test]
async fn a_challenge_is_answered_verbatim_as_plain_text() {
    let server = Server::start().await;
    for text in ["1158201444", "00123", "a%3Cb"] {
        let request =
            format!("GET /webhooks/test?token=right&challenge={text} HTTP/1.1\r\nHost: a\r\n\r\n");
        let answer = server.ask(request).await;
        assert_eq!((answer.status, &*answer.body), (200, text));
        assert!(answer.header("content-type").unwrap().starts_with("text/plain"));
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    }
}

#[tokio::test]
async fn a_challenge_with_another_token_is_refused_and_none_is_a_bad_request() {
    let server = Server::start().await;
    let ask = |query: &str| format!("GET /webhooks/test{query} HTTP/1.1\r\nHost: a\r\n\r\n");
    let refused = server.ask(ask("?token=wrong&challenge=echo-me")).await;
    assert_eq!(refused.status, 403);
    assert!(!refused.body.contains("echo-me"));
    assert_eq!(server.ask(ask("")).await.status, 400);
    assert_eq!(server.ask(ask("?x")).await.status, 400);
}

#[tokio::test]
async fn head_is_answered_as_get_without_a_body() {
    let server = Server::start().await;
    let mut client = server.connect().await;
    let head = "HEAD /webhooks/test?token=right&challenge=12345 HTTP/1.1\r\nHost: x\r\n\r\n";
    client.send(head).await;
    let (status, head) = client.head().await;
    assert_eq!(status, 200);
    assert!(head.contains("content-length: 5"));
    // A body would be taken for the next answer.
    assert_eq!(client.ask(post("a")).await.status, 200);
}

#[tokio::test]
async fn any_content_type_is_taken_but_no_compressed_body() {
    let server = Server::start().await;
    let secret = format!("X-Secret: {SECRET}\r\n");
    let with = |header: &str| post_to("/webhooks/test", &format!("{secret}{header}\r\n"), "a");
    for header in
        ["Content-Type: text/plain", "Content-Type: nonsense", "Content-Encoding: identity"]
    {
        assert_eq!(server.ask(with(header)).await.status, 200, "{header}");
    }
    for header in ["Content-Encoding: gzip", "Content-Encoding: identity, br"] {
        let answer = server.ask(with(header)).await;
        assert_eq!(answer.status, 415);
        assert_eq!(answer.header("accept-encoding"), Some("identity"));
    }
}

#[tokio::test]
async fn a_store_that_fails_is_answered_503_and_works_again_later() {
    let server = Server::start().await;
    let mut client = server.connect().await;
    server.store.set(Mood::Down);
    let answer = client.ask(post("a")).await;
    assert_eq!(answer.status, 503);
    assert_eq!(answer.header("retry-after"), Some("5"));
    assert!(!answer.body.contains("/var/lib"), "what is wrong is for the log");
    server.store.set(Mood::Fine);
    assert_eq!(client.ask(post("a")).await.body, r#"{"new":1,"duplicates":0}"#);
}

#[tokio::test]
async fn a_store_that_hangs_is_answered_503_in_time() {
    let ack_timeout = Duration::from_millis(400);
    let options = ReceiverOptions { ack_timeout, ..Default::default() };
    let server = Server::with(options, ListenerOptions::default()).await;
    server.store.set(Mood::Gated);
    let mut client = server.connect().await;
    let began = Instant::now();
    let answer = client.ask(post("a")).await;
    assert_eq!((answer.status, answer.header("retry-after")), (503, Some("5")));
    let took = began.elapsed();
    assert!((300..2000).contains(&took.as_millis()), "{took:?}");
    assert!(server.keys().is_empty());
    assert_eq!(server.receiver.bytes_in_flight(), 0);
}

#[tokio::test]
async fn readiness_tells_of_the_store_and_of_shutdown_and_health_of_neither() {
    let server = Server::start().await;
    let get = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_eq!(server.ask(get("/readyz")).await.status, 200);
    server.store.set(Mood::Down);
    let answer = server.ask(get("/readyz")).await;
    assert_eq!(answer.status, 503);
    assert!(answer.body.contains("the store can't take events"));
    server.store.set(Mood::Fine);
    server.receiver.set_draining();
    let answer = server.ask(get("/readyz")).await;
    assert_eq!((answer.status, answer.body.contains("shutting down")), (503, true));
    assert_eq!(server.ask(get("/healthz")).await.status, 200);
    assert_eq!(server.ask(post("a")).await.status, 200, "what comes all the same is taken");
}
