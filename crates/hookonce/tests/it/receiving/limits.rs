//! Bodies: how long, how slow, how many at once.

use std::time::Duration;

use hookonce::listener::ListenerOptions;
use hookonce::receiver::ReceiverOptions;
use tokio::io::AsyncWriteExt as _;

use super::client::{chunked, post, post_to};
use super::scheme::SECRET;
use super::server::Server;
use super::store::Mood;

async fn limited(body_limit: usize, bytes_in_flight: usize) -> Server {
    let body_timeout = Duration::from_millis(300);
    let options =
        ReceiverOptions { body_limit, bytes_in_flight, body_timeout, ..Default::default() };
    Server::with(options, ListenerOptions::default()).await
}

fn chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

#[tokio::test]
async fn a_body_may_be_as_long_as_the_limit_and_not_longer() {
    let server = limited(100_000, 1 << 20).await;
    for (length, status) in [(99_999, 200), (100_000, 200), (100_001, 413)] {
        let body = "x".repeat(length);
        assert_eq!(server.ask(post(&body)).await.status, status, "{length} at once");
        let parts: String =
            body.as_bytes().chunks(7000).map(|part| chunk(str::from_utf8(part).unwrap())).collect();
        let answer = server.ask(chunked(&format!("{parts}0\r\n\r\n"))).await;
        assert_eq!(answer.status, status, "{length} in chunks");
    }
    assert_eq!(server.keys().len(), 4);
    assert_eq!(server.receiver.bytes_in_flight(), 0);
}

#[tokio::test]
async fn the_longest_allowed_body_arrives_unchanged() {
    let server = Server::start().await;
    let body: String =
        (0..4 << 20).map(|n| char::from(b'a' + u8::try_from(n % 23).unwrap())).collect();
    assert_eq!(server.ask(post(&body)).await.status, 200);
    assert_eq!(server.store.batches()[0][0].digest, [0; 32]);
    let id = hookonce::event::EventId::of(
        "scope-of-test",
        hookonce::event::Key::of(&["message", &body]).as_str(),
    );
    assert_eq!(server.store.batches()[0][0].id, id);
}

#[tokio::test]
async fn an_endless_body_is_refused_when_it_passes_the_limit() {
    let server = limited(100_000, 1 << 20).await;
    let mut client = server.connect().await;
    client.send(chunked("")).await;
    let piece = chunk(&"x".repeat(1000));
    // Without reading on, the server can't take the whole: the writes fail or the answer comes.
    for _ in 0..200 {
        if client.stream.write_all(piece.as_bytes()).await.is_err() {
            break;
        }
    }
    let answer = client.answer().await;
    assert_eq!((answer.status, answer.header("connection")), (413, Some("close")));
}

#[tokio::test]
async fn a_client_that_writes_20_mb_before_it_reads_gets_to_read_the_413() {
    let server = Server::start().await;
    for request in [post(&"x".repeat(20 << 20)), chunked(&chunk(&"x".repeat(20 << 20)))] {
        let mut client = server.connect().await;
        client.send(request).await;
        let answer = client.answer().await;
        assert_eq!((answer.status, answer.header("connection")), (413, Some("close")));
        assert!(client.closed().await.is_empty());
    }
    assert_eq!(server.ask(post("a")).await.status, 200);
}

#[tokio::test]
async fn a_client_that_asks_whether_to_continue_is_told_to_when_its_headers_are_fine() {
    let server = limited(1000, 1 << 20).await;
    let expect = format!("X-Secret: {SECRET}\r\nExpect: 100-continue\r\n");
    let request = post_to("/webhooks/test", &expect, "abc");
    let mut client = server.connect().await;
    client.send(&request[..request.len() - 3]).await;
    assert_eq!(client.head().await.0, 100);
    client.send("abc").await;
    assert_eq!(client.answer().await.status, 200);
    assert_eq!(server.keys(), [["message:abc"]]);
}

#[tokio::test]
async fn a_client_that_asks_whether_to_continue_is_refused_before_it_sends_the_body() {
    let server = limited(1000, 1 << 20).await;
    let asks = [
        ("/webhooks/test", "Content-Length: 1001\r\n", 413),
        ("/webhooks/none", "Content-Length: 10\r\n", 404),
        ("/webhooks/test", "Content-Length: 10\r\nContent-Encoding: gzip\r\n", 415),
    ];
    for (path, headers, status) in asks {
        let mut client = server.connect().await;
        client
            .send(format!(
                "POST {path} HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n{headers}\r\n"
            ))
            .await;
        assert_eq!(client.answer().await.status, status);
    }
}

#[tokio::test]
async fn a_body_that_takes_too_long_is_refused() {
    let server = limited(1000, 1 << 20).await;
    let mut client = server.connect().await;
    let request = post("abcdef");
    client.send(&request[..request.len() - 1]).await;
    let answer = client.answer().await;
    assert_eq!((answer.status, answer.header("connection")), (408, Some("close")));
    assert!(server.keys().is_empty());
}

#[tokio::test]
async fn over_the_budget_of_bytes_in_flight_requests_are_told_to_come_later() {
    let server = limited(1000, 1500).await;
    server.store.set(Mood::Gated);
    let mut first = server.connect().await;
    first.send(post(&"x".repeat(1000))).await;
    server.store.begun.notified().await;
    assert_eq!(server.receiver.bytes_in_flight(), 1000);

    let large = "y".repeat(600);
    for request in [post(&large), chunked(&(chunk(&large) + "0\r\n\r\n"))] {
        let answer = server.ask(request).await;
        assert_eq!((answer.status, answer.header("retry-after")), (503, Some("5")));
    }
    server.store.open();
    assert_eq!(first.answer().await.status, 200);
    assert_eq!(server.receiver.bytes_in_flight(), 0, "what was held is given back");
    server.store.open();
    assert_eq!(server.ask(post(&large)).await.status, 200);
}
