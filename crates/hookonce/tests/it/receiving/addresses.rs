//! From where a source's requests may come, and whose word about that counts.

use std::net::SocketAddr;

use axum::extract::ConnectInfo;
use axum::http::{Method, Request};
use hookonce::listener::ListenerOptions;
use hookonce::receiver::{Network, ReceiverOptions};
use tower_service::Service as _;

use super::client::{Client, post, post_to};
use super::scheme::SECRET;
use super::server::Server;

fn networks(list: &[&str]) -> Vec<Network> {
    list.iter().map(|text| text.parse().unwrap()).collect()
}

async fn server(at: &str, allow: &[&str], proxies: &[&str]) -> Server {
    let receiving = ReceiverOptions { proxies: networks(proxies), ..Default::default() };
    Server::allowing(Some(networks(allow)), at, receiving, ListenerOptions::default()).await
}

/// A signed POST with these headers.
fn forwarded(headers: &str) -> String {
    post_to("/webhooks/test", &format!("X-Secret: {SECRET}\r\n{headers}\r\n"), "a")
}

#[tokio::test]
async fn who_comes_from_elsewhere_is_refused_before_its_body_and_stores_nothing() {
    let server = server("127.0.0.1:0", &["192.0.2.0/24"], &[]).await;
    let mut client = server.connect().await;
    let head = post("a");
    // The body doesn't come: the answer must not wait for it.
    client.send(&head[..head.len() - 1]).await;
    let answer = client.answer().await;
    assert_eq!((answer.status, &*answer.body), (403, "this address may not send here\n"));
    assert_eq!(answer.header("connection"), Some("close"));
    assert!(server.keys().is_empty());
    for request in ["GET /webhooks/test?token=right&challenge=1", "PUT /webhooks/test"] {
        let answer = server.ask(format!("{request} HTTP/1.1\r\nHost: x\r\n\r\n")).await;
        assert_eq!(answer.status, 403, "{request}");
    }
    let get = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_eq!(server.ask(get("/healthz")).await.status, 200, "it is about a source alone");
    assert_eq!(server.ask(get("/webhooks/other")).await.status, 404);
}

#[tokio::test]
async fn who_comes_from_an_allowed_address_is_taken() {
    let server = server("127.0.0.1:0", &["192.0.2.0/24", "127.0.0.0/8"], &[]).await;
    assert_eq!(server.ask(post("a")).await.status, 200);
    let challenge = "GET /webhooks/test?token=right&challenge=1 HTTP/1.1\r\nHost: x\r\n\r\n";
    assert_eq!(server.ask(challenge).await.body, "1");
}

#[tokio::test]
async fn ipv6_is_allowed_by_its_own_networks_and_ipv4_by_its_own_on_either_socket() {
    let six = server("[::1]:0", &["::1"], &[]).await;
    assert_eq!(six.ask(post("a")).await.status, 200);
    let other = server("[::1]:0", &["2001:db8::/32", "0.0.0.0/0"], &[]).await;
    assert_eq!(other.ask(post("a")).await.status, 403);
    // A socket for both has the addresses of IPv4 written in IPv6.
    let both = server("[::]:0", &["127.0.0.1"], &[]).await;
    let port = both.address.port();
    assert_eq!(ask_at(&format!("127.0.0.1:{port}"), post("a")).await, 200);
    assert_eq!(ask_at(&format!("[::1]:{port}"), post("a")).await, 403);
}

async fn ask_at(address: &str, request: String) -> u16 {
    Client::connect(address.parse().unwrap()).await.ask(request).await.status
}

#[tokio::test]
async fn a_stranger_can_claim_no_other_address() {
    let server = server("127.0.0.1:0", &["192.0.2.0/24"], &["10.0.0.0/8", "::1"]).await;
    for header in ["X-Forwarded-For: 192.0.2.1", "Forwarded: for=192.0.2.1", "X-Real-IP: 192.0.2.1"]
    {
        assert_eq!(server.ask(forwarded(&format!("{header}\r\n"))).await.status, 403, "{header}");
    }
}

#[tokio::test]
async fn behind_a_proxy_the_address_is_the_one_that_it_names() {
    let server = server("127.0.0.1:0", &["192.0.2.0/24"], &["127.0.0.1"]).await;
    for (headers, status) in [
        ("X-Forwarded-For: 192.0.2.1\r\n", 200),
        ("X-Forwarded-For: 6.6.6.6, 192.0.2.1\r\n", 200),
        ("Forwarded: for=192.0.2.1;proto=https\r\n", 200),
        ("X-Forwarded-For: 192.0.2.1\r\nForwarded: for=192.0.2.1\r\n", 200),
        ("", 403),
        ("X-Forwarded-For: 192.0.2.1, 6.6.6.6\r\n", 403),
        ("X-Forwarded-For: 192.0.2.1\r\nX-Forwarded-For: 192.0.2.1\r\n", 403),
        ("X-Forwarded-For: 192.0.2.1\r\nForwarded: for=6.6.6.6\r\n", 403),
    ] {
        assert_eq!(server.ask(forwarded(headers)).await.status, status, "{headers}");
    }
}

#[tokio::test]
async fn what_a_proxy_garbles_is_not_taken_for_the_proxy_itself() {
    let server = server("127.0.0.1:0", &["127.0.0.0/8"], &["127.0.0.1"]).await;
    assert_eq!(server.ask(post("a")).await.status, 200, "the proxy itself may");
    for headers in ["X-Forwarded-For: x\r\n", "Forwarded: x\r\nX-Forwarded-For: 6.6.6.6\r\n"] {
        assert_eq!(server.ask(forwarded(headers)).await.status, 403, "{headers}");
    }
}

/// Served by another server, which may not say who comes.
#[tokio::test]
async fn where_nobody_knows_the_address_an_allow_list_refuses() {
    let server = server("127.0.0.1:0", &["127.0.0.1"], &[]).await;
    let mut router = server.receiver.clone().router();
    let request = |address: Option<&str>| {
        let request = Request::builder().method(Method::POST).uri("/webhooks/test");
        let mut request = request.header("X-Secret", SECRET).body("a".to_owned()).unwrap();
        if let Some(address) = address {
            let address: SocketAddr = address.parse().unwrap();
            request.extensions_mut().insert(ConnectInfo(address));
        }
        request
    };
    for (address, status) in [
        (None, 403),
        (Some("127.0.0.1:1"), 200),
        (Some("[::ffff:127.0.0.1]:1"), 200),
        (Some("127.0.0.2:1"), 403),
    ] {
        assert_eq!(router.call(request(address)).await.unwrap().status(), status, "{address:?}");
    }
}
