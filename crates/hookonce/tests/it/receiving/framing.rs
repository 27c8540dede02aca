//! How a request may lie on the wire.

use hookonce::listener::ListenerOptions;
use hookonce::receiver::ReceiverOptions;
use tokio::io::AsyncWriteExt as _;

use super::client::{chunked, post};
use super::scheme::SECRET;
use super::server::Server;
use super::store::Mood;

#[tokio::test]
async fn chunks_of_one_byte_with_extensions_and_trailers_make_the_same_body() {
    let server = Server::start().await;
    let mut client = server.connect().await;
    let chunks: String = ["a", ",", "b"].map(|c| format!("1;name=\"value\"\r\n{c}\r\n")).concat();
    let request = chunked(&format!("{chunks}0\r\nX-Trailer: x\r\nContent-Length: 9\r\n\r\n"));
    for byte in request.as_bytes() {
        client.send([*byte]).await;
    }
    assert_eq!(client.answer().await.status, 200);
    assert_eq!(server.keys(), [["message:a", "message:b"]]);
    assert_eq!(client.ask(post("c")).await.status, 200, "the connection goes on");
}

#[tokio::test]
async fn a_request_with_two_lengths_is_refused_and_nothing_after_it_is_read() {
    let server = Server::start().await;
    let (length, coding) = ("Content-Length: 6\r\n", "Transfer-Encoding: chunked\r\n");
    for headers in [[length, coding].concat(), [coding, length].concat()] {
        let mut client = server.connect().await;
        // The connection has served a request before, whose body was read apart from its head.
        let request = post("before");
        client.send(&request[..request.len() - 3]).await;
        client.send(&request[request.len() - 3..]).await;
        assert_eq!(client.answer().await.status, 200);
        let head = format!("POST /webhooks/test HTTP/1.1\r\nX-Secret: {SECRET}\r\n{headers}\r\n");
        client.send(head + "0\r\n\r\n" + &post("smuggled")).await;
        let answer = client.answer().await;
        assert_eq!((answer.status, answer.header("connection")), (400, Some("close")));
        assert!(client.closed().await.is_empty());
    }
    assert!(server.keys().iter().all(|batch| batch == &["message:before"]));
}

#[tokio::test]
async fn a_body_that_speaks_of_lengths_is_only_a_body() {
    let server = Server::start().await;
    let mut client = server.connect().await;
    let body = "x\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n";
    for request in [post(body), chunked(&format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len()))] {
        assert_eq!(client.ask(request).await.status, 200);
    }
}

#[tokio::test]
async fn lengths_that_everybody_reads_differently_are_refused() {
    let server = Server::start().await;
    let lengths = [
        "Transfer-Encoding: gzip, chunked\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked, identity\r\n",
        "Content-Length: 5\r\nContent-Length: 6\r\n",
        "Content-Length: +5\r\n",
        "Content-Length : 5\r\n",
        "X: y\r\n Content-Length: 5\r\n",
    ];
    for headers in lengths {
        let head = format!("POST /webhooks/test HTTP/1.1\r\nX-Secret: {SECRET}\r\n{headers}\r\n");
        let answer = server.ask(head + "0\r\n\r\n").await;
        assert_eq!(answer.status, 400, "{headers}");
    }
    assert!(server.keys().is_empty());
}

#[tokio::test]
async fn requests_sent_without_waiting_are_answered_in_order() {
    let server = Server::start().await;
    let mut client = server.connect().await;
    client.send(post("a,b") + &post("a") + &chunked("1\r\nc\r\n0\r\n\r\n") + &post("c")).await;
    for body in
        ["2,\"duplicates\":0", "0,\"duplicates\":1", "1,\"duplicates\":0", "0,\"duplicates\":1"]
    {
        assert_eq!(client.answer().await.body, format!("{{\"new\":{body}}}"));
    }
}

#[tokio::test]
async fn an_old_client_is_served_and_its_connection_closed() {
    let server = Server::start().await;
    let mut client = server.connect().await;
    let answer = client.ask(post("a").replace("HTTP/1.1", "HTTP/1.0")).await;
    assert_eq!(answer.status, 200);
    assert!(client.closed().await.is_empty());
}

#[tokio::test]
async fn a_client_that_offers_another_protocol_is_served_in_this_one() {
    let server = Server::start().await;
    let mut client = server.connect().await;
    for key in ["a", "b"] {
        let offer = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: \r\n";
        let request = post(key).replace("Content-Length", &format!("{offer}Content-Length"));
        assert_eq!(client.ask(request).await.status, 200);
    }
}

#[tokio::test]
async fn ipv6_is_served() {
    let options = (ReceiverOptions::default(), ListenerOptions::default());
    let server = Server::at("[::1]:0", options.0, options.1).await;
    assert_eq!(server.ask(post("a")).await.status, 200);
}

#[tokio::test]
async fn a_client_that_has_sent_all_and_says_so_still_gets_its_answer() {
    let server = Server::start().await;
    let mut client = server.connect().await;
    server.store.set(Mood::Gated);
    client.send(post("a")).await;
    client.stream.shutdown().await.unwrap();
    server.store.begun.notified().await;
    server.store.open();
    assert_eq!(client.answer().await.status, 200);
}

#[tokio::test]
async fn a_client_that_goes_away_leaves_its_request_wholly_stored_or_not_at_all() {
    let server = Server::start().await;
    let mut client = server.connect().await;
    let request = post("a,b");
    client.send(&request[..request.len() - 1]).await;
    drop(client);
    assert_eq!(server.ask(post("c")).await.status, 200);

    server.store.set(Mood::Gated);
    let mut client = server.connect().await;
    client.send(post("d,e")).await;
    server.store.begun.notified().await;
    server.store.begun.notified().await;
    drop(client);
    server.store.open();
    server.store.set(Mood::Fine);
    let keys = || server.keys().into_iter().flatten().filter(|key| key != "message:c").count();
    while keys() == 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(server.keys().last().unwrap(), &["message:d", "message:e"]);
}

#[tokio::test]
async fn what_is_no_http_is_refused_and_hurts_nobody() {
    let server = Server::start().await;
    for bytes in
        [&b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"[..], b"GET\r\n\r\n", b"\r\n\r\n\r\n"]
    {
        let mut client = server.connect().await;
        client.send(bytes).await;
        client.stream.shutdown().await.unwrap();
        client.closed().await;
    }
    let mut client = server.connect().await;
    client.send("GET / HTTP/1.1\r\nX: ".to_owned() + &"x".repeat(200_000)).await;
    assert_eq!(client.answer().await.status, 431);
    assert_eq!(server.ask(post("a")).await.status, 200);
}
