//! The `nats` sink, with a real server.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use async_nats::HeaderMap;
use async_nats::jetstream::{self, stream};
use hookonce::sink::nats::{NatsOptions, NatsSink, Stream, Subject};
use hookonce::step::{Done, Failure, Step as _};
use hookonce::task::Claim;
use rcgen::ExtendedKeyUsagePurpose::ServerAuth;
use tokio::net::TcpListener;

use crate::bed::authority::Authority;

use super::broker::Broker;
use super::claim::{changed, claim, context};
use super::outage::{check, events, see_through};

const ID: &str = "c0fa7022-8b40-85d9-86c1-3f71bb80f8c7";

/// What starts a server on a port, with what is to be said beside.
fn command(dir: &Path, port: u16, more: &[&str]) -> Command {
    let mut command = Command::new("nats-server");
    command.args(["--addr", "127.0.0.1", "--port", &port.to_string()]);
    command.arg("--store_dir").arg(dir).args(more);
    command
}

fn server() -> Broker {
    Broker::start(|dir, port| command(dir, port, &["--jetstream"]))
}

fn url(server: &Broker) -> String {
    format!("nats://127.0.0.1:{}", server.port)
}

/// A sink that declares its stream.
fn sink(server: &Broker) -> NatsSink {
    NatsSink::new(options(&url(server))).unwrap()
}

fn options(url: &str) -> NatsOptions {
    let stream = Some(Stream { name: "events".to_owned(), declare: true });
    NatsOptions { stream, ..NatsOptions::new(url, subject("whatsapp.{source}.{kind}")) }
}

fn subject(written: &str) -> Subject {
    Subject::new(written).unwrap()
}

async fn context_of(server: &Broker) -> jetstream::Context {
    jetstream::new(async_nats::connect(url(server)).await.unwrap())
}

/// Everything in the stream: its subject, headers and payload.
async fn stored(server: &Broker) -> Vec<(String, HeaderMap, String)> {
    let mut stream = context_of(server).await.get_stream("events").await.unwrap();
    let last = stream.info().await.unwrap().state.last_sequence;
    let mut all = Vec::new();
    for sequence in 1..=last {
        let message = stream.get_raw_message(sequence).await.unwrap();
        let payload = String::from_utf8(message.payload.to_vec()).unwrap();
        all.push((message.subject.to_string(), message.headers, payload));
    }
    all
}

async fn failure(sink: &NatsSink, claim: &Claim) -> Failure {
    sink.run(&context(claim)).await.unwrap_err()
}

#[tokio::test]
async fn the_payload_is_published_untouched_with_its_attributes_as_headers() {
    let server = server();
    let claim = claim();
    let done = sink(&server).run(&context(&claim)).await;
    assert!(matches!(done, Ok(Done::PLAIN)), "{done:?}");
    let stored = stored(&server).await;
    let [(subject, headers, payload)] = &stored[..] else { panic!("{stored:?}") };
    assert_eq!(subject, "whatsapp.whatsapp.message.text");
    assert_eq!(Some(payload), claim.event.payload.as_ref());
    let key = format!("{ID}/crm/reply");
    for (name, value) in [
        ("ce-specversion", "1.0"),
        ("ce-id", ID),
        ("ce-source", "/webhooks/whatsapp"),
        ("ce-type", "message.text"),
        ("ce-time", "2026-01-02T03:04:05.678Z"),
        ("ce-subject", "200000000000001:Jos%C3%A9%20100%25"),
        ("ce-key", "message:200000000000001:wamid.TEST0001"),
        ("ce-route", "crm"),
        ("ce-epoch", "3"),
        ("ce-run", "1"),
        ("idempotency-key", &key),
        ("content-type", "application/json"),
        ("Nats-Msg-Id", &key),
        ("Nats-Expected-Stream", "events"),
    ] {
        assert_eq!(headers.get(name).map(async_nats::HeaderValue::as_str), Some(value), "{name}");
    }
}

#[tokio::test]
async fn a_copy_is_dropped_by_the_stream_and_another_run_is_not() {
    let server = server();
    let sink = sink(&server);
    for _ in 0..3 {
        sink.run(&context(&claim())).await.unwrap();
    }
    sink.run(&context(&Claim { run: 2, ..claim() })).await.unwrap();
    assert_eq!(stored(&server).await.len(), 2);
}

#[tokio::test]
async fn a_lane_has_a_subject_of_its_own() {
    let server = server();
    let options = NatsOptions { subject: subject("lanes.{lane}"), ..options(&url(&server)) };
    let sink = NatsSink::new(options).unwrap();
    for lane in [Some("a"), Some("b"), Some("a"), None] {
        let mut claim = changed(|event| event.lane = lane.map(str::to_owned));
        claim.run = u32::try_from(stored_or_none(&server).await).unwrap() + 1;
        sink.run(&context(&claim)).await.unwrap();
    }
    let stored = stored(&server).await;
    let subjects: Vec<&str> = stored.iter().map(|(subject, ..)| &**subject).collect();
    assert_eq!(subjects[0], subjects[2]);
    assert_ne!(subjects[0], subjects[1]);
    assert_eq!(subjects[3], "lanes.none");
}

async fn stored_or_none(server: &Broker) -> usize {
    match context_of(server).await.get_stream("events").await {
        Ok(_) => stored(server).await.len(),
        Err(_) => 0,
    }
}

#[tokio::test]
async fn where_no_stream_listens_it_is_said_and_nothing_is_sent_into_the_void() {
    for more in [&["--jetstream"][..], &[]] {
        let server = Broker::start(|dir, port| command(dir, port, more));
        let sink = NatsSink::new(NatsOptions::new(url(&server), subject("a.b"))).unwrap();
        let failure = failure(&sink, &claim()).await;
        let Failure::Unavailable { error, may_have_happened: false, .. } = failure else {
            panic!("{failure:?}")
        };
        assert!(error.contains("no stream listens to `a.b`"), "{error}");
    }
}

#[tokio::test]
async fn a_stream_that_does_not_listen_to_the_subject_takes_nothing() {
    let server = server();
    for (name, subject) in [("events", "a.b"), ("other", "c")] {
        let config = stream::Config {
            name: name.to_owned(),
            subjects: vec![subject.to_owned()],
            ..stream::Config::default()
        };
        context_of(&server).await.create_stream(config).await.unwrap();
    }
    let stream = Some(Stream { name: "events".to_owned(), declare: false });
    let options = NatsOptions { stream, ..NatsOptions::new(url(&server), subject("c")) };
    let failure = failure(&NatsSink::new(options).unwrap(), &claim()).await;
    let Failure::Unavailable { error, may_have_happened: false, .. } = failure else {
        panic!("{failure:?}")
    };
    assert!(error.contains("the stream `events` does not listen to it, of `c`"), "{error}");
}

#[tokio::test]
async fn what_is_too_long_for_the_server_stands_in_nobodys_way() {
    let server = server();
    let sink = sink(&server);
    let large = changed(|event| event.payload = Some("x".repeat(2 << 20)));
    let failure = failure(&sink, &large).await;
    assert!(matches!(failure, Failure::Permanent(_)), "{failure:?}");
    sink.run(&context(&claim())).await.unwrap();
    let pruned = changed(|event| event.payload = None);
    assert!(matches!(self::failure(&sink, &pruned).await, Failure::Permanent(_)));
}

#[tokio::test]
async fn a_full_stream_makes_events_wait() {
    let server = server();
    let config = stream::Config {
        name: "events".to_owned(),
        subjects: vec!["whatsapp.*.>".to_owned()],
        max_messages: 1,
        discard: stream::DiscardPolicy::New,
        ..stream::Config::default()
    };
    context_of(&server).await.create_stream(config).await.unwrap();
    let sink = sink(&server);
    sink.run(&context(&claim())).await.unwrap();
    let failure = failure(&sink, &Claim { run: 2, ..claim() }).await;
    assert!(
        matches!(failure, Failure::Unavailable { may_have_happened: false, .. }),
        "{failure:?}"
    );
}

#[tokio::test]
async fn a_server_that_is_away_is_a_sink_that_is_down_until_it_is_back() {
    let mut server = server();
    let sink = sink(&server);
    server.stop();
    let gone = failure(&sink, &claim()).await;
    let Failure::SinkDown(error) = gone else { panic!("{gone:?}") };
    assert!(error.starts_with("can't connect to the server"), "{error}");
    server.up();
    sink.run(&context(&claim())).await.unwrap();
    server.kill();
    let gone = failure(&sink, &Claim { run: 2, ..claim() }).await;
    assert!(matches!(gone, Failure::SinkDown(_) | Failure::Unknown(_)), "{gone:?}");
    server.up();
    crate::working::until(async || sink.run(&context(&Claim { run: 2, ..claim() })).await.is_ok())
        .await;
    assert_eq!(stored(&server).await.len(), 2);
}

#[tokio::test]
async fn a_password_is_asked_for_and_never_shown() {
    let server = Broker::start(|dir, port| {
        command(dir, port, &["--jetstream", "--user", "shop", "--pass", "s3cret"])
    });
    let at = format!("127.0.0.1:{}", server.port);
    for wrong in [format!("nats://{at}"), format!("nats://shop:hunter2@{at}")] {
        let sink = NatsSink::new(options(&wrong)).unwrap();
        let failure = failure(&sink, &claim()).await;
        let Failure::SinkDown(error) = failure else { panic!("{failure:?}") };
        assert!(!error.contains("hunter2") && !format!("{sink:?}").contains("hunter2"), "{error}");
    }
    let sink = NatsSink::new(options(&format!("nats://shop:s3cret@{at}"))).unwrap();
    sink.run(&context(&claim())).await.unwrap();
    let password = hookonce::scheme::Secret::new("s3cret");
    let options = NatsOptions { password, ..options(&format!("nats://shop@{at}")) };
    NatsSink::new(options).unwrap().run(&context(&claim())).await.unwrap();
}

#[tokio::test]
async fn who_may_not_publish_is_told_so_and_nothing_is_unknown() {
    let server = Broker::start(|dir, port| {
        let rights = "publish: [\"$JS.API.>\"], subscribe: [\"_INBOX.>\"]";
        let file = dir.join("rights.conf");
        let text = format!(
            "jetstream: {{}}\nauthorization: {{ users: [{{ user: shop, password: s3cret, \
             permissions: {{ {rights} }} }}] }}\n"
        );
        std::fs::write(&file, text).unwrap();
        command(dir, port, &["--config", file.to_str().unwrap()])
    });
    let timeout = Duration::from_secs(1);
    let url = format!("nats://shop:s3cret@127.0.0.1:{}", server.port);
    let sink = NatsSink::new(NatsOptions { timeout, ..options(&url) }).unwrap();
    let failure = failure(&sink, &claim()).await;
    let Failure::Unavailable { error, may_have_happened: false, .. } = failure else {
        panic!("{failure:?}")
    };
    assert!(error.contains("may not publish under `whatsapp.whatsapp.message.text`"), "{error}");
}

/// Fails when the certificates of the system are what counts, or none.
#[tokio::test]
async fn a_server_is_proven_by_its_authority() {
    let ours = Authority::make("ours");
    let (cert, key) = ours.vouch("localhost", ServerAuth);
    let server = Broker::start(|dir, port| {
        let write = |name: &str, text: &str| {
            let path = dir.join(name);
            std::fs::write(&path, text).unwrap();
            path.to_str().unwrap().to_owned()
        };
        let (cert, key) = (write("server.crt", &cert), write("server.key", &key));
        command(dir, port, &["--jetstream", "--tls", "--tlscert", &cert, "--tlskey", &key])
    });
    let url = format!("tls://localhost:{}", server.port);
    let with = |ca: &Authority| NatsOptions { ca: Some(ca.pem().into_bytes()), ..options(&url) };
    NatsSink::new(with(&ours)).unwrap().run(&context(&claim())).await.unwrap();
    let other = NatsSink::new(with(&Authority::make("other"))).unwrap();
    let failure = failure(&other, &claim()).await;
    assert!(matches!(failure, Failure::SinkDown(_)), "{failure:?}");
}

#[tokio::test]
async fn a_peer_that_says_nothing_is_left_in_time() {
    let mute = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("nats://{}", mute.local_addr().unwrap());
    let timeout = Duration::from_millis(200);
    let sink = NatsSink::new(NatsOptions { timeout, ..options(&url) }).unwrap();
    let (claim, peer) = (claim(), mute.accept());
    let (failure, peer) = tokio::join!(failure(&sink, &claim), peer);
    assert!(matches!(failure, Failure::SinkDown(_)), "{failure:?}");
    drop(peer);
}

#[tokio::test]
async fn a_stream_that_is_gone_is_declared_again() {
    let server = server();
    let sink = sink(&server);
    sink.run(&context(&claim())).await.unwrap();
    context_of(&server).await.delete_stream("events").await.unwrap();
    let again = || async { sink.run(&context(&Claim { run: 2, ..claim() })).await.is_ok() };
    crate::working::until(again).await;
    assert_eq!(stored(&server).await.len(), 1);
}

/// `HOOKONCE_EVENTS=10000` for the whole.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_event_arrives_in_its_order_while_the_server_is_stopped_and_killed() {
    let mut server = server();
    let events = events();
    let down = |server: &mut Broker, outage| match outage {
        1 => server.stop(),
        _ => server.kill(),
    };
    let sink = Arc::new(sink(&server));
    see_through(sink, events, &mut server, down, Broker::up).await;
    let given = stored(&server)
        .await
        .into_iter()
        .map(|(_, headers, payload)| (headers.get("Nats-Msg-Id").unwrap().to_string(), payload))
        .collect();
    check(events, &given);
}
