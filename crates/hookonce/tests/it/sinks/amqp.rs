//! The `amqp` sink, with a real `RabbitMQ`.

mod away;
mod outage;
mod refusals;

use std::sync::Arc;
use std::time::Duration;

use hookonce::sink::amqp::{AmqpOptions, AmqpSink, ExchangeKind, QueueKind, RoutingKey, Topology};
use hookonce::step::{Done, Failure, Step as _};
use hookonce::task::Claim;
use lapin::options::QueueDeleteOptions;
use lapin::types::ShortString;
use tokio::task::JoinSet;

use super::claim::{changed, claim, context};
use super::rabbit::{Rabbit, header};

/// A sink that declares its queue.
fn sink(url: &str, queue: &str) -> AmqpSink {
    AmqpSink::new(options(url, queue)).unwrap()
}

fn options(url: &str, queue: &str) -> AmqpOptions {
    AmqpOptions { declare: true, ..AmqpOptions::new(url, queue) }
}

/// The claim of an event with another id.
fn numbered(n: usize) -> Claim {
    changed(|event| {
        event.id = crate::bed::id(&n.to_string());
        event.payload = Some(n.to_string());
    })
}

#[tokio::test]
async fn the_payload_is_published_untouched_with_its_attributes_as_headers() {
    let rabbit = Rabbit::shared().await;
    let claim = claim();
    let done = sink(&rabbit.url, "attributes").run(&context(&claim)).await;
    assert!(matches!(done, Ok(Done::PLAIN)), "{done:?}");
    let message = rabbit.take("attributes").await.unwrap();
    assert_eq!(message.data, claim.event.payload.as_deref().unwrap().as_bytes());
    let id = "c0fa7022-8b40-85d9-86c1-3f71bb80f8c7";
    let key = format!("{id}/crm/reply");
    let headers = [
        ("cloudEvents_specversion", "1.0"),
        ("cloudEvents_id", id),
        ("cloudEvents_source", "/webhooks/whatsapp"),
        ("cloudEvents_type", "message.text"),
        ("cloudEvents_time", "2026-01-02T03:04:05.678Z"),
        ("cloudEvents_subject", "200000000000001:José 100%"),
        ("cloudEvents_key", "message:200000000000001:wamid.TEST0001"),
        ("cloudEvents_route", "crm"),
        ("cloudEvents_epoch", "3"),
        ("cloudEvents_run", "1"),
        ("idempotency-key", &key),
    ];
    for (name, value) in headers {
        assert_eq!(header(&message, name).as_deref(), Some(value), "{name}");
    }
    let about = &message.properties;
    assert_eq!(about.message_id().as_ref().map(ShortString::as_str), Some(&*key));
    assert_eq!(about.content_type().as_ref().map(ShortString::as_str), Some("application/json"));
    assert_eq!((*about.delivery_mode(), *about.timestamp()), (Some(2), Some(1_767_323_045)));
}

#[tokio::test]
async fn an_event_without_a_lane_has_no_subject() {
    let rabbit = Rabbit::shared().await;
    let claim = changed(|event| event.lane = None);
    sink(&rabbit.url, "laneless").run(&context(&claim)).await.unwrap();
    let message = rabbit.take("laneless").await.unwrap();
    assert_eq!(header(&message, "cloudEvents_subject"), None);
}

#[tokio::test]
async fn another_run_and_another_step_have_other_ids() {
    let rabbit = Rabbit::shared().await;
    let sink = sink(&rabbit.url, "runs");
    sink.run(&context(&claim())).await.unwrap();
    sink.run(&context(&claim())).await.unwrap();
    sink.run(&context(&Claim { run: 2, ..claim() })).await.unwrap();
    sink.run(&context(&Claim { route: "books".into(), ..claim() })).await.unwrap();
    let messages = rabbit.take_all("runs").await;
    let id = |n: usize| messages[n].properties.message_id().clone().unwrap().to_string();
    assert_eq!(id(0), id(1), "a copy has the same id");
    assert!(id(2).ends_with("/crm/reply/2"), "{}", id(2));
    assert!(id(3).ends_with("/books/reply"), "{}", id(3));
}

#[tokio::test]
async fn events_are_in_the_queue_in_the_order_in_which_they_were_confirmed() {
    let rabbit = Rabbit::shared().await;
    let sink = Arc::new(sink(&rabbit.url, "order"));
    // Other lanes at the same time, so that there are several channels.
    let mut lanes = JoinSet::new();
    for lane in 0..8 {
        let sink = sink.clone();
        lanes.spawn(async move {
            for n in 0..25 {
                sink.run(&context(&numbered(lane * 1000 + n))).await.unwrap();
            }
        });
    }
    lanes.join_all().await;
    let messages = rabbit.take_all("order").await;
    let numbers: Vec<usize> = messages
        .iter()
        .map(|message| std::str::from_utf8(&message.data).unwrap().parse().unwrap())
        .collect();
    assert_eq!(numbers.len(), 200);
    for lane in 0..8 {
        let lane: Vec<_> = numbers.iter().filter(|n| *n / 1000 == lane).collect();
        assert!(lane.is_sorted(), "{lane:?}");
    }
}

/// Fails when what was declared once is taken to be there for good.
#[tokio::test]
async fn a_queue_that_is_gone_is_declared_again() {
    let rabbit = Rabbit::shared().await;
    let sink = sink(&rabbit.url, "gone");
    sink.run(&context(&numbered(1))).await.unwrap();
    rabbit.channel.queue_delete("gone".into(), QueueDeleteOptions::default()).await.unwrap();
    let failure = sink.run(&context(&numbered(2))).await.unwrap_err();
    assert!(
        matches!(failure, Failure::Unavailable { may_have_happened: false, .. }),
        "{failure:?}"
    );
    sink.run(&context(&numbered(2))).await.unwrap();
    assert_eq!(rabbit.take("gone").await.unwrap().data, b"2");
}

#[tokio::test]
async fn a_payload_of_many_frames_arrives_whole() {
    let rabbit = Rabbit::shared().await;
    let payload = format!("\"{}\"", "é".repeat(900_000));
    let claim = changed(|event| event.payload = Some(payload.clone()));
    sink(&rabbit.url, "big").run(&context(&claim)).await.unwrap();
    assert_eq!(rabbit.take("big").await.unwrap().data, payload.as_bytes());
}

#[tokio::test]
async fn an_exchange_distributes_by_the_routing_key_that_was_asked_for() {
    let rabbit = Rabbit::shared().await;
    let topology = Topology::Exchange {
        name: "events".to_owned(),
        kind: ExchangeKind::Topic,
        routing_key: RoutingKey::new("wa.{source}.{kind}.{route}").unwrap(),
        queue: Some(("from_exchange".to_owned(), QueueKind::Classic)),
    };
    let options = AmqpOptions { topology, ..options(&rabbit.url, "") };
    AmqpSink::new(options).unwrap().run(&context(&claim())).await.unwrap();
    let message = rabbit.take("from_exchange").await.unwrap();
    assert_eq!(message.routing_key.as_str(), "wa.whatsapp.message.text.crm");
    assert_eq!(message.exchange.as_str(), "events");
}

#[tokio::test]
async fn a_sink_keeps_one_connection_and_no_more_channels_than_it_needs() {
    let rabbit = Rabbit::shared().await;
    let relay = super::relay::Relay::start(rabbit.address()).await;
    let sink = sink(&rabbit.through(&relay), "frugal");
    for n in 0..50 {
        sink.run(&context(&numbered(n))).await.unwrap();
    }
    assert_eq!(relay.connections(), 1);
    // An event that is dropped in the middle takes its channel along.
    let claim = numbered(50);
    relay.set(super::relay::Way::Mute);
    let context_of = context(&claim);
    let dropped = tokio::time::timeout(Duration::from_millis(50), sink.run(&context_of));
    assert!(dropped.await.is_err());
    relay.set(super::relay::Way::Open);
    sink.run(&context(&numbered(51))).await.unwrap();
    assert_eq!(relay.connections(), 1);
}
