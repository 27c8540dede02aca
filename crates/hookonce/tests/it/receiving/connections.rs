//! Connections: how many, how idle, and how they end.

use std::time::{Duration, Instant};

use hookonce::listener::ListenerOptions;
use hookonce::receiver::ReceiverOptions;
use tokio::net::TcpStream;

use super::client::{Client, LIMIT, post};
use super::server::Server;
use super::store::Mood;

async fn listening(listening: ListenerOptions) -> Server {
    let ack_timeout = LIMIT;
    Server::with(ReceiverOptions { ack_timeout, ..Default::default() }, listening).await
}

const SHORT: Duration = Duration::from_millis(200);

#[tokio::test]
async fn a_head_that_takes_too_long_ends_the_connection() {
    let server = listening(ListenerOptions { header_timeout: SHORT, ..Default::default() }).await;
    let (mut silent, mut slow, mut second) =
        (server.connect().await, server.connect().await, server.connect().await);
    slow.send("POST /webhooks/test HTTP/1.1\r\nHost:").await;
    assert_eq!(second.ask(post("a")).await.status, 200);
    second.send("POST /web").await;
    for client in [&mut silent, &mut slow, &mut second] {
        assert!(client.closed().await.is_empty());
    }
}

#[tokio::test]
async fn a_connection_is_kept_between_requests_for_its_own_time() {
    let options = ListenerOptions {
        header_timeout: SHORT / 4,
        idle_timeout: SHORT * 3,
        ..Default::default()
    };
    let server = listening(options).await;
    let mut client = server.connect().await;
    assert_eq!(client.ask(post("a")).await.status, 200);
    let began = Instant::now();
    client.closed().await;
    assert!(began.elapsed() >= SHORT * 2, "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_request_that_takes_long_is_neither_idle_nor_slow() {
    let options = ListenerOptions {
        header_timeout: SHORT / 10,
        idle_timeout: SHORT / 10,
        ..Default::default()
    };
    let server = listening(options).await;
    server.store.set(Mood::Gated);
    let mut client = server.connect().await;
    client.send(post("a")).await;
    server.store.begun.notified().await;
    // Another connection that is closed for being silent shows that time has passed.
    server.connect().await.closed().await;
    server.connect().await.closed().await;
    server.store.open();
    assert_eq!(client.answer().await.status, 200);
}

#[tokio::test]
async fn at_the_limit_the_connection_that_was_idle_the_longest_makes_place() {
    let server = listening(ListenerOptions { connections: 3, ..Default::default() }).await;
    let mut clients = Vec::new();
    for key in ["a", "b", "c"] {
        let mut client = server.connect().await;
        assert_eq!(client.ask(post(key)).await.status, 200);
        clients.push(client);
        // Idle times are told apart by the millisecond.
        let began = Instant::now();
        while began.elapsed() < Duration::from_millis(3) {
            tokio::task::yield_now().await;
        }
    }
    // The first becomes the one that was used last.
    assert_eq!(clients[0].ask(post("d")).await.status, 200);
    assert_eq!(server.ask(post("e")).await.status, 200);
    assert!(clients[1].closed().await.is_empty());
    for n in [0, 2] {
        assert_eq!(clients[n].ask(post("f")).await.status, 200);
    }
}

#[tokio::test]
async fn at_the_limit_a_new_connection_waits_for_requests_in_flight() {
    let server = listening(ListenerOptions { connections: 1, ..Default::default() }).await;
    server.store.set(Mood::Gated);
    let mut first = server.connect().await;
    first.send(post("a")).await;
    server.store.begun.notified().await;
    let mut second = server.connect().await;
    second.send(post("b")).await;
    server.store.open();
    assert_eq!(first.answer().await.status, 200);
    server.store.open();
    assert_eq!(second.answer().await.status, 200);
    assert!(first.closed().await.is_empty());
}

#[tokio::test]
async fn at_the_limit_heads_that_trickle_in_make_place_before_their_time() {
    let server = listening(ListenerOptions { connections: 4, ..Default::default() }).await;
    let mut slow = Vec::new();
    for _ in 0..4 {
        let mut client = server.connect().await;
        client.send("POST /webhooks/test HTTP/1.1\r\n").await;
        slow.push(client);
    }
    let began = Instant::now();
    assert_eq!(server.ask(post("a")).await.status, 200);
    assert!(began.elapsed() < Duration::from_secs(5), "a head may take ten");
}

/// Fails when `shed` in `listener.rs` spares a body that is waited for.
#[tokio::test]
async fn at_the_limit_bodies_that_trickle_in_make_place_before_their_time() {
    let server = listening(ListenerOptions { connections: 4, ..Default::default() }).await;
    let mut slow = Vec::new();
    for _ in 0..4 {
        let mut client = server.connect().await;
        let request = post("a body of which the end is missing");
        client.send(&request[..request.len() - 1]).await;
        slow.push(client);
    }
    let began = Instant::now();
    assert_eq!(server.ask(post("a")).await.status, 200);
    assert!(began.elapsed() < Duration::from_secs(5), "a body may take ten");
}

/// Fails when `shed` in `listener.rs` takes an idle connection before one that trickles, however
/// shortly it has been idle.
#[tokio::test]
async fn at_the_limit_a_connection_in_use_outlives_those_that_trickle() {
    let server = listening(ListenerOptions { connections: 4, ..Default::default() }).await;
    let mut slow = Vec::new();
    for _ in 0..3 {
        let mut client = server.connect().await;
        client.send("POST /webhooks/test HTTP/1.1\r\n").await;
        slow.push(client);
    }
    let mut used = server.connect().await;
    let began = Instant::now();
    // Until a head may be shed.
    while began.elapsed() < Duration::from_millis(1500) {
        assert_eq!(used.ask(post("a")).await.status, 200);
    }
    let mut kept = Vec::new();
    for _ in 0..3 {
        let mut new = server.connect().await;
        assert_eq!(new.ask(post("b")).await.status, 200);
        kept.push(new);
        assert_eq!(used.ask(post("c")).await.status, 200);
    }
}

#[tokio::test]
async fn a_flood_of_idle_connections_keeps_nobody_out() {
    let server = listening(ListenerOptions { connections: 8, ..Default::default() }).await;
    let mut idle = Vec::new();
    for n in 0..100 {
        idle.push(server.connect().await);
        if n % 10 == 9 {
            assert_eq!(server.ask(post("a")).await.status, 200);
        }
    }
}

#[tokio::test]
async fn shutdown_finishes_requests_in_flight_and_ends_the_idle() {
    let mut server = listening(ListenerOptions::default()).await;
    let (mut idle, mut silent) = (server.connect().await, server.connect().await);
    assert_eq!(idle.ask(post("a")).await.status, 200);
    server.store.set(Mood::Gated);
    server.store.begun.notified().await;
    let mut busy = server.connect().await;
    busy.send(post("b")).await;
    server.store.begun.notified().await;

    server.stop();
    assert!(idle.closed().await.is_empty());
    assert!(silent.closed().await.is_empty());
    assert!(TcpStream::connect(server.address).await.is_err(), "no more are accepted");
    server.store.open();
    let answer = busy.answer().await;
    assert_eq!(answer.status, 200);
    assert!(busy.closed().await.is_empty());
    server.stopped().await;
}

#[tokio::test]
async fn shutdown_takes_a_request_whose_head_has_begun_but_waits_for_none_that_stops() {
    let header_timeout = SHORT * 5;
    let mut server = listening(ListenerOptions { header_timeout, ..Default::default() }).await;
    let (mut slow, mut stuck) = (server.connect().await, server.connect().await);
    let request = post("a");
    slow.send(&request[..20]).await;
    stuck.send(&request[..20]).await;
    // What was sent before is read by the time that this is answered.
    assert_eq!(server.ask(post("b")).await.status, 200);
    server.stop();
    while TcpStream::connect(server.address).await.is_ok() {}
    slow.send(&request[20..]).await;
    assert_eq!(slow.answer().await.status, 200);
    assert!(stuck.closed().await.is_empty());
    server.stopped().await;
}

#[tokio::test]
async fn shutdown_cuts_off_what_has_not_finished_in_its_grace_time() {
    let mut server = listening(ListenerOptions { grace: SHORT, ..Default::default() }).await;
    server.store.set(Mood::Gated);
    let mut busy = server.connect().await;
    busy.send(post("b")).await;
    server.store.begun.notified().await;
    server.stop();
    server.stopped().await;
    assert!(busy.closed().await.is_empty());
}

#[tokio::test]
async fn hundreds_of_connections_are_served_side_by_side() {
    let server = listening(ListenerOptions::default()).await;
    let mut clients = Vec::<Client>::new();
    for _ in 0..300 {
        clients.push(server.connect().await);
    }
    for (n, client) in clients.iter_mut().enumerate() {
        client.send(post(&n.to_string())).await;
    }
    for client in &mut clients {
        assert_eq!(client.answer().await.body, r#"{"new":1,"duplicates":0}"#);
    }
}

/// Fails when `answer` in `connection.rs` leaves an answer as it is whose request was not read.
#[tokio::test]
async fn a_client_is_told_when_its_body_is_not_read_so_that_nothing_can_follow() {
    let server = Server::start().await;
    let early = [("POST /webhooks/nope", 404), ("PUT /webhooks/test", 405), ("POST /nowhere", 404)];
    for (line, status) in early {
        let mut client = server.connect().await;
        // The body comes after its head, as a proxy sends it that passes on what it gets.
        client.send(format!("{line} HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n")).await;
        let answer = client.answer().await;
        assert_eq!(answer.status, status, "{line}");
        assert_eq!(answer.header("connection"), Some("close"), "{line}");
    }
    // A body that was read leaves the connection to the next request.
    let mut client = server.connect().await;
    for _ in 0..2 {
        let answer = client.ask("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n").await;
        assert_eq!((answer.status, answer.header("connection")), (200, None));
    }
}
