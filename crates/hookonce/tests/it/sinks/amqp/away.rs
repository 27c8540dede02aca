//! A broker that can't be reached, goes away in the middle, or says nothing.

use std::time::Duration;

use hookonce::sink::amqp::{AmqpOptions, AmqpSink};
use hookonce::step::{Failure, Step as _};
use rcgen::ExtendedKeyUsagePurpose::ServerAuth;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::TcpListener;

use super::super::claim::{claim, context};
use super::super::rabbit::Rabbit;
use super::super::relay::{Relay, Way};
use super::{options, sink};
use crate::bed::authority::Authority;

#[tokio::test]
async fn a_broker_that_is_away_is_a_sink_that_is_down_until_it_is_back() {
    let rabbit = Rabbit::shared().await;
    let relay = Relay::start(rabbit.address()).await;
    let sink = sink(&rabbit.through(&relay), "away");
    relay.set(Way::Cut);
    for _ in 0..2 {
        let failure = sink.run(&context(&claim())).await.unwrap_err();
        assert!(matches!(failure, Failure::SinkDown(_)), "{failure:?}");
    }
    relay.set(Way::Open);
    sink.run(&context(&claim())).await.unwrap();
    // The next event may find out that the connection is lost.
    relay.set(Way::Cut);
    relay.until_empty().await;
    let failure = sink.run(&context(&claim())).await.unwrap_err();
    let is_fine = matches!(failure, Failure::SinkDown(_) | Failure::Unknown(_));
    assert!(is_fine, "{failure:?}");
    relay.set(Way::Open);
    sink.run(&context(&claim())).await.unwrap();
    assert_eq!(rabbit.take_all("away").await.len(), 2);
}

#[tokio::test]
async fn a_port_where_nobody_listens_and_a_host_that_there_is_not_are_sinks_that_are_down() {
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let refused = format!("amqp://u:hush@{}", gone.local_addr().unwrap());
    drop(gone);
    for url in [&*refused, "amqp://u:hush@no-such-host.invalid"] {
        let failure = sink(url, "none").run(&context(&claim())).await.unwrap_err();
        let Failure::SinkDown(error) = failure else { panic!("{url}: {failure:?}") };
        assert!(error.starts_with("can't connect to the broker: "), "{error}");
        assert!(!error.contains("hush"), "{error}");
    }
}

/// What gives up is `Cord` of `sink/amqp/link.rs`: without its `shutdown` the peer never sees an end.
#[tokio::test]
async fn a_peer_that_says_nothing_is_left_in_time() {
    let mute = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("amqp://{}", mute.local_addr().unwrap());
    let timeout = Duration::from_millis(200);
    let sink = AmqpSink::new(AmqpOptions { timeout, ..options(&url, "none") }).unwrap();
    let claim = claim();
    let context = context(&claim);
    let (ran, mut peer) =
        tokio::join!(sink.run(&context), async { mute.accept().await.unwrap().0 });
    let Err(Failure::SinkDown(error)) = ran else { panic!("{ran:?}") };
    assert_eq!(error, "the broker could not be reached within 100ms");
    let mut said = Vec::new();
    let _ = tokio::io::AsyncReadExt::read_to_end(&mut peer, &mut said).await;
    assert_eq!(said, b"AMQP\0\0\x09\x01");
}

#[tokio::test]
async fn no_confirmation_in_time_leaves_the_outcome_unknown() {
    let rabbit = Rabbit::shared().await;
    let relay = Relay::start(rabbit.address()).await;
    let timeout = Duration::from_secs(2);
    let options = AmqpOptions { timeout, ..options(&rabbit.through(&relay), "late") };
    let sink = AmqpSink::new(options).unwrap();
    sink.run(&context(&claim())).await.unwrap();
    relay.set(Way::Mute);
    let failure = sink.run(&context(&claim())).await.unwrap_err();
    let Failure::Unknown(error) = failure else { panic!("{failure:?}") };
    assert_eq!(error, "not confirmed within 2s; whether it was published is unknown");
    // What comes late is no answer to the next.
    relay.set(Way::Open);
    sink.run(&context(&claim())).await.unwrap();
    assert_eq!(rabbit.take_all("late").await.len(), 3);
}

#[tokio::test]
async fn a_connection_that_breaks_before_the_confirmation_leaves_the_outcome_unknown() {
    let rabbit = Rabbit::shared().await;
    let relay = Relay::start(rabbit.address()).await;
    let sink = sink(&rabbit.through(&relay), "broken");
    sink.run(&context(&claim())).await.unwrap();
    relay.set(Way::Mute);
    let claim = claim();
    let context = context(&claim);
    let (ran, ()) = tokio::join!(sink.run(&context), async {
        rabbit.until_has("broken", 2).await;
        relay.set(Way::Cut);
    });
    let Err(Failure::Unknown(error)) = ran else { panic!("{ran:?}") };
    assert!(error.starts_with("the connection broke before the broker confirmed: "), "{error}");
}

#[tokio::test]
async fn a_broker_is_trusted_by_the_authority_that_is_named_and_by_no_other() {
    let rabbit = Rabbit::shared().await;
    let authority = Authority::make("ours");
    let (certificate, key) = authority.vouch("localhost", ServerAuth);
    let provider = rustls::crypto::ring::default_provider().into();
    let tls = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()],
            PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap(),
        )
        .unwrap();
    let relay = Relay::start_tls(rabbit.address(), tls).await;
    let url = |host: &str| format!("amqps://guest:guest@{host}:{}", relay.port);
    let run = async |host: &str, ca: String| {
        let ca = Some(ca.into_bytes());
        let sink = AmqpSink::new(AmqpOptions { ca, ..options(&url(host), "tls") }).unwrap();
        sink.run(&context(&claim())).await
    };
    run("localhost", authority.pem()).await.unwrap();
    let other = run("localhost", Authority::make("other").pem()).await;
    let elsewhere = run("127.0.0.1", authority.pem()).await;
    for ran in [other, elsewhere] {
        let Err(Failure::SinkDown(error)) = ran else { panic!("{ran:?}") };
        assert!(error.contains("certificate"), "{error}");
    }
    assert_eq!(rabbit.take_all("tls").await.len(), 1);
}
