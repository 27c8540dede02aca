//! TLS: who gets through a handshake, for how long it may go on, and what it changes.

mod client;

use std::sync::Arc;
use std::time::{Duration, Instant};

use hookonce::listener::{ListenerOptions, Tls, TlsError, TlsOptions};
use hookonce::receiver::ReceiverOptions;
use rcgen::CertificateParams;
use rcgen::ExtendedKeyUsagePurpose::{ClientAuth, ServerAuth};
use tokio::io::AsyncWriteExt as _;

use super::client::post;
use super::metrics::Memory;
use super::server::Server;
use crate::bed::authority::Authority;
use client::{Caller, HOST, connect_by};

const SHORT: Duration = Duration::from_millis(200);

/// Our certificate by this authority, and nothing asked of clients.
fn plain(authority: &Authority) -> TlsOptions {
    let (certificate, key) = authority.vouch(HOST, ServerAuth);
    TlsOptions {
        certificate: certificate.into(),
        key: key.into(),
        client_ca: None,
        client_name: None,
    }
}

/// The same, and clients must be vouched for by `clients`, under a name perhaps.
fn mutual(authority: &Authority, clients: &Authority, name: Option<&str>) -> TlsOptions {
    TlsOptions {
        client_ca: Some(clients.pem().into()),
        client_name: name.map(str::to_owned),
        ..plain(authority)
    }
}

async fn server(options: &TlsOptions) -> (Server, Arc<Tls>) {
    with(options, ListenerOptions::default()).await
}

async fn with(options: &TlsOptions, listening: ListenerOptions) -> (Server, Arc<Tls>) {
    let tls = Tls::new(options).unwrap();
    let listening = ListenerOptions { tls: Some(tls.clone()), ..listening };
    (Server::with(ReceiverOptions::default(), listening).await, tls)
}

#[tokio::test]
async fn requests_are_taken_one_after_another_within_tls() {
    let authority = Authority::make("ours");
    let (server, _) = server(&plain(&authority)).await;
    let caller = Caller::trusting(&authority);
    let mut client = caller.connect(&server).await.unwrap();
    let large = "x".repeat(300_000);
    for body in ["a", &large, "b"] {
        assert_eq!(client.ask(post(body)).await.status, 200);
    }
    let (_, session) = client.stream.get_ref();
    assert_eq!(session.alpn_protocol(), Some(&b"http/1.1"[..]));
    assert_eq!(server.keys().len(), 3);
}

#[tokio::test]
async fn the_last_answer_is_read_whichever_side_ends_the_connection() {
    let authority = Authority::make("ours");
    let (server, _) = server(&plain(&authority)).await;
    let caller = Caller::trusting(&authority);
    let mut ends = caller.connect(&server).await.unwrap();
    ends.send(post("a")).await;
    ends.stream.shutdown().await.unwrap();
    assert_eq!(ends.answer().await.status, 200);
    assert!(ends.closed().await.is_empty());
    // The server ends it, with most of the body still to come.
    let mut refused = caller.connect(&server).await.unwrap();
    let _ = refused.stream.write_all(post(&"x".repeat(5 << 20)).as_bytes()).await;
    let answer = refused.answer().await;
    assert_eq!((answer.status, answer.header("connection")), (413, Some("close")));
}

#[tokio::test]
async fn a_client_of_everyday_speaks_to_it() {
    let authority = Authority::make("ours");
    let (server, _) = server(&plain(&authority)).await;
    let _ = rustls::crypto::ring::default_provider().install_default();
    let root = reqwest::Certificate::from_pem(authority.pem().as_bytes()).unwrap();
    let client = reqwest::Client::builder().no_proxy().tls_certs_only([root]);
    let client = client.resolve(HOST, server.address).build().unwrap();
    let url = format!("https://{HOST}:{}/webhooks/test", server.address.port());
    for _ in 0..2 {
        let request = client.post(&url).header("X-Secret", super::scheme::SECRET).body("a");
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), 200);
    }
}

#[tokio::test]
async fn older_tls_is_spoken_and_other_protocols_are_not() {
    let authority = Authority::make("ours");
    let (server, _) = server(&plain(&authority)).await;
    let caller = Caller::trusting(&authority).of_version(&rustls::version::TLS12);
    assert_eq!(caller.connect(&server).await.unwrap().ask(post("a")).await.status, 200);
    let caller = Caller::trusting(&authority).speaking(b"h2");
    assert!(caller.connect(&server).await.is_err());
}

#[tokio::test]
async fn plain_http_is_sent_away_and_disturbs_nobody() {
    let authority = Authority::make("ours");
    let memory: &'static Memory = Box::leak(Box::default());
    let _recorder = metrics::set_default_local_recorder(memory);
    let (server, _) = server(&plain(&authority)).await;
    for bytes in [post("a").as_bytes(), &[0x16, 3, 1, 0xff, 0xff], &[0; 10_000]] {
        let mut client = server.connect().await;
        let _ = client.stream.write_all(bytes).await;
        let _ = client.stream.shutdown().await;
        let said = client.closed().await;
        assert!(!said.starts_with(b"HTTP"), "{said:?}");
    }
    let mut client = Caller::trusting(&authority).connect(&server).await.unwrap();
    assert_eq!(client.ask(post("b")).await.status, 200);
    let counted = memory.values();
    assert!(counted["hookonce_handshake_errors_total{reason=no_tls}"] >= 1, "{counted:?}");
    assert_eq!(server.keys().len(), 1);
}

#[tokio::test]
async fn a_handshake_that_takes_too_long_ends_the_connection() {
    let authority = Authority::make("ours");
    let listening = ListenerOptions { header_timeout: SHORT, ..Default::default() };
    let (server, _) = with(&plain(&authority), listening).await;
    let (mut silent, mut slow) = (server.connect().await, server.connect().await);
    slow.send([0x16, 3, 1]).await;
    // A handshake that is done, without a request after it.
    let mut idle = Caller::trusting(&authority).connect(&server).await.unwrap();
    for client in [&mut silent, &mut slow] {
        assert!(client.closed().await.is_empty());
    }
    assert!(idle.closed().await.is_empty());
}

#[tokio::test]
async fn at_the_limit_handshakes_make_place() {
    let authority = Authority::make("ours");
    let listening = ListenerOptions { connections: 4, ..Default::default() };
    let (server, _) = with(&plain(&authority), listening).await;
    let mut slow = Vec::new();
    for n in 0..4 {
        let mut client = server.connect().await;
        // Some have begun, some have not.
        if n % 2 == 0 {
            client.send([0x16, 3, 1]).await;
        }
        slow.push(client);
    }
    let began = Instant::now();
    for _ in 0..4 {
        let mut client = Caller::trusting(&authority).connect(&server).await.unwrap();
        assert_eq!(client.ask(post("a")).await.status, 200);
    }
    assert!(began.elapsed() < Duration::from_secs(8), "a head may take ten");
}

#[tokio::test]
async fn shutdown_waits_for_no_handshake() {
    let authority = Authority::make("ours");
    let (mut server, _) = server(&plain(&authority)).await;
    let mut slow = server.connect().await;
    slow.send([0x16, 3, 1]).await;
    let mut idle = Caller::trusting(&authority).connect(&server).await.unwrap();
    assert_eq!(idle.ask(post("a")).await.status, 200);
    server.stop();
    assert!(slow.closed().await.is_empty());
    assert!(idle.closed().await.is_empty());
    server.stopped().await;
}

#[tokio::test]
async fn a_renewed_certificate_is_shown_to_who_comes_next_and_others_go_on() {
    let (old, new) = (Authority::make("old"), Authority::make("new"));
    let (server, tls) = server(&plain(&old)).await;
    let mut first = Caller::trusting(&old).connect(&server).await.unwrap();
    assert_eq!(first.ask(post("a")).await.status, 200);
    tls.replace(&plain(&new)).unwrap();
    assert!(Caller::trusting(&old).connect(&server).await.is_err());
    let mut second = Caller::trusting(&new).connect(&server).await.unwrap();
    assert_eq!(second.ask(post("b")).await.status, 200);
    assert_eq!(first.ask(post("c")).await.status, 200);
}

#[tokio::test]
async fn what_cannot_be_used_changes_nothing_and_says_what_it_is() {
    let authority = Authority::make("ours");
    let good = mutual(&authority, &authority, None);
    let (server, tls) = server(&plain(&authority)).await;
    let empty = Vec::new;
    let half = good.certificate[..good.certificate.len() / 2].to_vec();
    let other = plain(&authority).key;
    let cases = [
        (TlsOptions { certificate: empty(), ..good.clone() }, "the certificate can't be read"),
        (TlsOptions { certificate: half, ..good.clone() }, "the certificate can't be read"),
        (TlsOptions { certificate: good.key.clone(), ..good.clone() }, "there is no certificate"),
        (TlsOptions { key: good.certificate.clone(), ..good.clone() }, "there is no key in it"),
        (TlsOptions { key: other, ..good.clone() }, "the key is not that of the certificate"),
        (TlsOptions { client_ca: Some(empty()), ..good.clone() }, "the clients' authority"),
        (TlsOptions { client_name: Some("a b".into()), ..good.clone() }, "`a b` is no name"),
    ];
    for (options, says) in cases {
        let error = tls.replace(&options).unwrap_err();
        assert!(error.to_string().contains(says), "{error}");
    }
    assert!(matches!(Tls::new(&TlsOptions { key: empty(), ..good }), Err(TlsError::Key(_))));
    let mut client = Caller::trusting(&authority).connect(&server).await.unwrap();
    assert_eq!(client.ask(post("a")).await.status, 200);
}

#[tokio::test]
async fn a_key_that_is_broken_is_not_quoted() {
    let authority = Authority::make("ours");
    let good = plain(&authority);
    let text = String::from_utf8(good.key.clone()).unwrap();
    let secret = text.lines().nth(1).unwrap();
    let cases = [
        text.replace('\n', " "),
        text.replace('\n', "\\n"),
        text.replacen("-----\n", "----- ", 1),
        text.replacen(secret, "!", 1),
        text.replace("-----END", "-----"),
    ];
    // The library quotes bytes as numbers.
    let numbers = format!("{:?}", &secret.as_bytes()[..8]).replace(['[', ']'], "");
    for key in cases {
        let options = TlsOptions { key: key.clone().into_bytes(), ..good.clone() };
        let Err(error) = Tls::new(&options) else { panic!("it is taken: {key}") };
        let said = format!("{error} {error:?}");
        assert!(said.contains("it must be PEM"), "{said}");
        assert!(!said.contains(&numbers) && !said.contains(&secret[..8]), "{said}");
    }
}

#[tokio::test]
async fn a_client_must_be_vouched_for_where_that_is_asked() {
    let (ours, theirs) = (Authority::make("ours"), Authority::make("theirs"));
    let memory: &'static Memory = Box::leak(Box::default());
    let _recorder = metrics::set_default_local_recorder(memory);
    let (server, _) = server(&mutual(&ours, &theirs, None)).await;
    let caller = Caller::trusting(&ours);
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let caller = caller.clone().of_version(version);
        let known = caller.clone().showing(theirs.vouch("anything", ClientAuth));
        assert!(known.gets_through(&server).await);
        let strange = caller.clone().showing(ours.vouch("anything", ClientAuth));
        let no_client = caller.clone().showing(theirs.vouch("anything", ServerAuth));
        for refused in [caller, strange, no_client] {
            assert!(!refused.gets_through(&server).await);
        }
    }
    let counted = memory.values();
    let reasons = ["certificate_missing", "certificate_refused"];
    let counted = reasons
        .map(|reason| counted[&format!("hookonce_handshake_errors_total{{reason={reason}}}")]);
    assert_eq!(counted, [2, 4]);
    assert_eq!(server.keys().len(), 2);
}

#[tokio::test]
async fn a_client_must_have_the_name_that_is_asked_for() {
    let name = "client.webhooks.example.com";
    let (ours, theirs) = (Authority::make("ours"), Authority::make("theirs"));
    let (server, _) = server(&mutual(&ours, &theirs, Some(name))).await;
    let showing = |pair| Caller::trusting(&ours).showing(pair);
    assert!(showing(theirs.vouch(name, ClientAuth)).gets_through(&server).await);
    for refused in [
        showing(theirs.vouch("other.webhooks.example.com", ClientAuth)),
        showing(Authority::make("theirs").vouch(name, ClientAuth)),
        showing(theirs.sign(CertificateParams::default(), name, ClientAuth)),
        Caller::trusting(&ours),
    ] {
        assert!(!refused.gets_through(&server).await);
    }
}

/// Fails when sessions can be taken up again where clients show certificates.
#[tokio::test]
async fn a_client_is_looked_at_each_time_it_comes() {
    let (ours, theirs) = (Authority::make("ours"), Authority::make("theirs"));
    let (server, tls) = server(&mutual(&ours, &theirs, None)).await;
    let caller = Caller::trusting(&ours).showing(theirs.vouch("them", ClientAuth));
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let connector = caller.clone().of_version(version).connector();
        for _ in 0..2 {
            let mut client = connect_by(&connector, &server).await.unwrap();
            assert_eq!(client.ask(post("a")).await.status, 200);
            let (_, session) = client.stream.get_ref();
            assert_eq!(session.handshake_kind(), Some(rustls::HandshakeKind::Full));
        }
    }
    tls.replace(&mutual(&ours, &Authority::make("another"), None)).unwrap();
    assert!(!caller.gets_through(&server).await);
}
