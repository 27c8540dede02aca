//! The sink that appends to a stream of Redis.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use hookonce::redis_link::{RedisOptions, RedisOptionsError};
use hookonce::scheme::Secret;
use hookonce::sink::redis_stream::{RedisStreamOptions, RedisStreamSink, Trim};
use hookonce::step::{Done, Failure, Step as _};
use hookonce::store::Clock;
use rcgen::ExtendedKeyUsagePurpose::ServerAuth;
use rustix::process::Signal;

use super::broker::Broker;
use super::claim::{changed, claim, context};
use super::outage;
use super::redis_server::{Redis, command};
use crate::bed::authority::Authority;

type Entry = (String, BTreeMap<String, String>);

fn options(redis: &Redis) -> RedisStreamOptions {
    RedisStreamOptions::new(RedisOptions::new(redis.url()), "events")
}

fn sink(redis: &Redis) -> RedisStreamSink {
    RedisStreamSink::new(options(redis)).unwrap()
}

fn entries(redis: &Redis) -> Vec<Entry> {
    redis.ask("XRANGE events - +")
}

async fn append(sink: &RedisStreamSink) -> Result<Done, Failure> {
    sink.run(&context(&claim())).await
}

/// What the sink says where it is down.
async fn down(sink: &RedisStreamSink) -> String {
    let failure = append(sink).await.unwrap_err();
    let Failure::SinkDown(error) = failure else { panic!("{failure:?}") };
    error
}

#[tokio::test]
async fn an_event_is_an_entry_with_its_attributes_beside_the_untouched_payload() {
    let redis = Redis::start();
    assert!(matches!(append(&sink(&redis)).await, Ok(Done::PLAIN)));
    let entries = entries(&redis);
    let id = "c0fa7022-8b40-85d9-86c1-3f71bb80f8c7";
    let payload = claim().event.payload.clone().unwrap();
    let fields = [
        ("ce-specversion", "1.0"),
        ("ce-id", id),
        ("ce-source", "/webhooks/whatsapp"),
        ("ce-type", "message.text"),
        ("ce-time", "2026-01-02T03:04:05.678Z"),
        ("ce-subject", "200000000000001:José 100%"),
        ("ce-key", "message:200000000000001:wamid.TEST0001"),
        ("ce-route", "crm"),
        ("ce-epoch", "3"),
        ("ce-run", "1"),
        ("idempotency-key", &format!("{id}/crm/reply")),
        ("content-type", "application/json"),
        ("data", &payload),
    ];
    let fields = fields.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(entries.len(), 1);
    assert_eq!(entries[0].1, BTreeMap::from(fields));
}

#[tokio::test]
async fn a_large_payload_arrives_whole_and_one_too_large_for_the_server_stands_in_nobodys_way() {
    let redis = Redis::start();
    let sink = sink(&redis);
    let large = changed(|event| event.payload = Some("é".repeat(16 << 20)));
    assert!(sink.run(&context(&large)).await.is_ok());
    assert_eq!(entries(&redis)[0].1["data"], large.event.payload.clone().unwrap());

    let _: () = redis.ask("CONFIG SET proto-max-bulk-len 1mb");
    // It says so and hangs up, which is not always heard.
    let failure = sink.run(&context(&large)).await.unwrap_err();
    assert!(matches!(failure, Failure::Permanent(_) | Failure::Unknown(_)), "{failure:?}");
    assert!(append(&sink).await.is_ok());
}

#[tokio::test]
async fn an_event_whose_payload_was_pruned_is_not_appended() {
    let redis = Redis::start();
    let claim = changed(|event| event.payload = None);
    let failure = sink(&redis).run(&context(&claim)).await.unwrap_err();
    assert!(matches!(failure, Failure::Permanent(_)), "{failure:?}");
    assert!(entries(&redis).is_empty());
}

#[tokio::test]
async fn a_stream_is_trimmed_by_length_or_by_age() {
    let redis = Redis::start();
    let year = Duration::from_secs(365 * 24 * 3600);
    let trims = [
        (None, Clock::system(), 500..=500),
        (Some(Trim::Length(150)), Clock::system(), 150..=300),
        (Some(Trim::Age(year)), Clock::system(), 500..=500),
        (Some(Trim::Age(year)), Clock::new(|| "2999-01-01T00:00:00Z".parse().unwrap()), 0..=150),
        (Some(Trim::Age(year)), Clock::new(|| jiff::Timestamp::UNIX_EPOCH), 500..=500),
    ];
    for (trim, clock, kept) in trims {
        let _: () = redis.ask("DEL events");
        let options = RedisStreamOptions { trim, clock, ..options(&redis) };
        let sink = RedisStreamSink::new(options).unwrap();
        for _ in 0..500 {
            append(&sink).await.unwrap();
        }
        let length = redis.ask::<i32>("XLEN events");
        assert!(kept.contains(&length), "{trim:?}: {length}");
    }
}

#[tokio::test]
async fn a_redis_that_is_away_is_down_and_what_comes_back_is_used_again() {
    let mut redis = Redis::start();
    let sink = sink(&redis);
    append(&sink).await.unwrap();
    redis.broker.stop();
    // That the connection has ended is heard once the runtime looks at its sockets, and from then on
    // nothing is sent on it.
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    assert!(down(&sink).await.starts_with("can't connect: "));
    redis.up();
    append(&sink).await.unwrap();
    assert_eq!(entries(&redis).len(), 2);
}

#[tokio::test]
async fn without_an_answer_in_time_the_outcome_is_unknown() {
    let redis = Redis::start();
    let timeout = Duration::from_millis(300);
    let sink = RedisStreamSink::new(RedisStreamOptions { timeout, ..options(&redis) }).unwrap();
    append(&sink).await.unwrap();
    redis.broker.signal(Signal::STOP);
    let failure = append(&sink).await.unwrap_err();
    assert!(matches!(failure, Failure::Unknown(_)), "{failure:?}");
    // It listens and doesn't answer: the next one isn't sent at all.
    assert_eq!(down(&sink).await, "no connection in time");
    redis.broker.signal(Signal::CONT);
    while append(&sink).await.is_err() {}
    // What was sent is written.
    assert_eq!(entries(&redis).len(), 3);
}

#[tokio::test]
async fn what_is_refused_and_not_for_the_events_sake_leaves_the_sink_down() {
    let redis = Redis::start();
    let sink = sink(&redis);
    let _: () = redis.ask("SET events x");
    assert!(down(&sink).await.contains("WRONGTYPE"));
    let _: () = redis.ask("DEL events");
    let _: () = redis.ask("CONFIG SET maxmemory 1");
    assert!(down(&sink).await.contains("OOM"));
    let _: () = redis.ask("CONFIG SET maxmemory 0");
    let _: () = redis.ask("ACL SETUSER default -xadd");
    assert!(down(&sink).await.contains("NOPERM"));
    let _: () = redis.ask("ACL SETUSER default +xadd");
    let _: () = redis.ask("REPLICAOF 127.0.0.1 1");
    assert!(down(&sink).await.contains("READONLY"));
    let _: () = redis.ask("REPLICAOF NO ONE");
    append(&sink).await.unwrap();
}

#[tokio::test]
async fn an_encrypted_redis_with_an_authority_of_its_own_lets_in_who_has_the_password() {
    let (authority, other) = (Authority::make("ours"), Authority::make("theirs"));
    let (certificate, key) = authority.vouch("localhost", ServerAuth);
    let broker = Broker::start(|dir, port| {
        for (name, text) in [("cert", &certificate), ("key", &key), ("ca", &authority.pem())] {
            std::fs::write(dir.join(name), text).unwrap();
        }
        let mut command = command(dir, 0);
        command.args(["--tls-port", &port.to_string(), "--tls-auth-clients", "no"]);
        command.args(["--tls-cert-file", "cert", "--tls-key-file", "key"]);
        command.args(["--tls-ca-cert-file", "ca", "--user", "default", "off"]);
        command.args(["--user", "app", "on", ">hunter2", "~events", "+xadd"]);
        command
    });
    let sink = |authority: &Authority, password| {
        let url = format!("rediss://app@localhost:{}/0", broker.port);
        let (password, ca) = (Secret::new(password), Some(authority.pem().into_bytes()));
        let redis = RedisOptions { password, ca, ..RedisOptions::new(url) };
        RedisStreamSink::new(RedisStreamOptions::new(redis, "events")).unwrap()
    };
    append(&sink(&authority, "hunter2")).await.unwrap();
    assert!(down(&sink(&authority, "hunter3")).await.contains("WRONGPASS"));
    let said = down(&sink(&other, "hunter2")).await;
    assert!(said.contains("certificate") && !said.contains("hunter"), "{said}");
}

#[test]
fn options_that_cannot_work_are_refused_with_what_to_change() {
    let make = |url: &str, password: &str, ca: Option<&str>| {
        let (password, ca) = (Secret::new(password), ca.map(Vec::from));
        let redis = RedisOptions { password, ca, ..RedisOptions::new(url) };
        RedisStreamSink::new(RedisStreamOptions::new(redis, "events")).map(|_| ())
    };
    for url in [
        "",
        "localhost:6379",
        "http://h",
        "redis://",
        "redis://h/x",
        "redis://h?protocol=2",
        "rediss://h#insecure",
        "unix:///tmp/x",
    ] {
        assert!(matches!(make(url, "", None), Err(RedisOptionsError::Url)), "{url}");
    }
    let twice = make("redis://u:p@h", "q", None);
    assert!(matches!(twice, Err(RedisOptionsError::TwoPasswords)));
    assert!(matches!(make("redis://h", "", Some("x")), Err(RedisOptionsError::NoTls)));
    assert!(matches!(make("rediss://h", "", Some("x")), Err(RedisOptionsError::Ca)));
    for url in ["redis://h", "rediss://u@h:7000/3", "redis://:p%40@[::1]:1"] {
        assert!(make(url, "", None).is_ok(), "{url}");
    }
}

#[test]
fn what_is_secret_of_a_sink_is_not_shown() {
    let redis = RedisOptions::new("redis://user:hush@a.example/1");
    let shown = format!("{redis:?}");
    assert!(!shown.contains("hush"), "{shown}");
    let sink = RedisStreamSink::new(RedisStreamOptions::new(redis, "events")).unwrap();
    let shown = format!("{sink:?}");
    assert!(shown.contains("a.example") && !shown.contains("hush"), "{shown}");
}

/// `HOOKONCE_EVENTS=10000` for the whole.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_event_arrives_in_order_while_redis_goes_away_twice() {
    let mut redis = Redis::start();
    let events = outage::events();
    let sink = Arc::new(sink(&redis));
    let end = |redis: &mut Redis, outage| match outage {
        1 => redis.broker.kill(),
        _ => redis.broker.stop(),
    };
    outage::see_through(sink, events, &mut redis, end, Redis::up).await;
    let given = entries(&redis)
        .into_iter()
        .map(|(_, mut fields)| (fields.remove("idempotency-key"), fields.remove("data")))
        .map(|(key, data)| (key.unwrap(), data.unwrap()));
    outage::check(events, &given.collect());
}
