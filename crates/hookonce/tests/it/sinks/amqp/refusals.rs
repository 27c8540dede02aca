//! What the broker refuses, and what that means.

use hookonce::sink::amqp::{
    AmqpOptions, AmqpSink, AmqpSinkError, ExchangeKind, QueueKind, RoutingKey, Topology,
};
use hookonce::step::{Failure, Step as _};
use lapin::types::AMQPValue;

use super::super::claim::{changed, claim, context};
use super::super::rabbit::Rabbit;
use super::{options, sink};

fn exchange(name: &str) -> Topology {
    Topology::Exchange {
        name: name.to_owned(),
        kind: ExchangeKind::Direct,
        routing_key: RoutingKey::new("{kind}").unwrap(),
        queue: None,
    }
}

#[tokio::test]
async fn what_is_too_large_for_the_broker_is_permanent_and_the_next_event_goes_on() {
    let rabbit = Rabbit::shared().await;
    let sink = sink(&rabbit.url, "limits");
    let large = changed(|event| event.payload = Some("x".repeat(3 << 20)));
    let failure = sink.run(&context(&large)).await.unwrap_err();
    let Failure::Permanent(error) = failure else { panic!("{failure:?}") };
    assert!(error.contains("larger"), "{error}");
    sink.run(&context(&claim())).await.unwrap();
    assert_eq!(rabbit.take_all("limits").await.len(), 1);
}

#[tokio::test]
async fn what_no_queue_takes_comes_back_and_only_it_is_not_done() {
    let rabbit = Rabbit::shared().await;
    rabbit.queue("of_books", &[]).await;
    rabbit.bind("of_books", "amq.direct", "routed.books").await;
    let topology = Topology::Exchange {
        name: "amq.direct".to_owned(),
        kind: ExchangeKind::Direct,
        routing_key: RoutingKey::new("routed.{route}").unwrap(),
        queue: None,
    };
    let options = AmqpOptions { topology, declare: false, ..options(&rabbit.url, "") };
    let sink = AmqpSink::new(options).unwrap();
    let (lost, taken) = (claim(), hookonce::task::Claim { route: "books".into(), ..claim() });
    for _ in 0..20 {
        let (lost, taken) = (context(&lost), context(&taken));
        let (lost, taken) = tokio::join!(sink.run(&lost), sink.run(&taken));
        let Err(Failure::Unavailable { error, may_have_happened: false, .. }) = lost else {
            panic!("{lost:?}")
        };
        assert!(error.contains("no queue takes it") && error.contains("312"), "{error}");
        taken.unwrap();
    }
    assert_eq!(rabbit.take_all("of_books").await.len(), 20);
}

#[tokio::test]
async fn a_queue_that_is_missing_and_not_to_be_declared_is_told_of() {
    let rabbit = Rabbit::shared().await;
    let sink = AmqpSink::new(AmqpOptions::new(&rabbit.url, "missing")).unwrap();
    let failure = sink.run(&context(&claim())).await.unwrap_err();
    let Failure::Unavailable { error, .. } = failure else { panic!("{failure:?}") };
    assert!(error.starts_with("there is no queue `missing`: declare it"), "{error}");
    // It comes, and the same sink publishes to it.
    rabbit.queue("missing", &[]).await;
    sink.run(&context(&claim())).await.unwrap();
}

#[tokio::test]
async fn without_its_exchange_the_sink_is_down() {
    let rabbit = Rabbit::shared().await;
    let options =
        AmqpOptions { topology: exchange("missing"), declare: false, ..options(&rabbit.url, "") };
    let sink = AmqpSink::new(options).unwrap();
    let failure = sink.run(&context(&claim())).await.unwrap_err();
    let Failure::SinkDown(error) = failure else { panic!("{failure:?}") };
    assert!(error.starts_with("there is no exchange `missing`: declare it"), "{error}");
}

#[tokio::test]
async fn a_full_queue_refuses_what_another_queue_may_have() {
    let rabbit = Rabbit::shared().await;
    let full = AMQPValue::LongString("reject-publish".into());
    let arguments = [("x-max-length", AMQPValue::LongInt(1)), ("x-overflow", full)];
    rabbit.queue("full", &arguments).await;
    let sink = AmqpSink::new(AmqpOptions::new(&rabbit.url, "full")).unwrap();
    sink.run(&context(&claim())).await.unwrap();
    let failure = sink.run(&context(&claim())).await.unwrap_err();
    let Failure::Unavailable { may_have_happened: true, .. } = failure else {
        panic!("{failure:?}")
    };
    assert_eq!(rabbit.take_all("full").await.len(), 1);
    sink.run(&context(&claim())).await.unwrap();
}

#[tokio::test]
async fn a_topology_that_is_there_otherwise_is_not_changed_and_the_sink_is_down() {
    let rabbit = Rabbit::shared().await;
    rabbit.queue("otherwise", &[]).await;
    let failure = sink(&rabbit.url, "otherwise").run(&context(&claim())).await.unwrap_err();
    let Failure::SinkDown(error) = failure else { panic!("{failure:?}") };
    assert!(error.starts_with("can't declare the topology: "), "{error}");
    assert!(error.contains("PRECONDITION_FAILED"), "{error}");
}

#[tokio::test]
async fn a_wrong_password_is_no_attempt_and_is_not_told() {
    let rabbit = Rabbit::shared().await;
    let url = rabbit.url.replace("guest:guest", "guest:hush");
    let sink = sink(&url, "none");
    let failure = sink.run(&context(&claim())).await.unwrap_err();
    let Failure::SinkDown(error) = failure else { panic!("{failure:?}") };
    assert!(error.contains("ACCESS_REFUSED") && !error.contains("hush"), "{error}");
    let shown = format!("{sink:?} {:?}", options(&url, "none"));
    assert!(shown.contains("127.0.0.1") && !shown.contains("hush"), "{shown}");
}

#[tokio::test]
async fn the_password_may_come_from_elsewhere() {
    let rabbit = Rabbit::shared().await;
    let url = rabbit.url.replace("guest:guest", "guest");
    let password = hookonce::scheme::Secret::new("guest");
    let sink = AmqpSink::new(AmqpOptions { password, ..options(&url, "elsewhere") }).unwrap();
    sink.run(&context(&claim())).await.unwrap();
}

#[tokio::test]
async fn an_event_whose_payload_was_pruned_is_not_published() {
    let claim = changed(|event| event.payload = None);
    let failure = sink("amqp://127.0.0.1:1", "none").run(&context(&claim)).await.unwrap_err();
    assert!(matches!(failure, Failure::Permanent(_)), "{failure:?}");
}

#[test]
fn options_that_cannot_work_are_refused_with_what_to_change() {
    for url in ["", "localhost:5672", "http://a"] {
        let made = AmqpSink::new(AmqpOptions::new(url, "q"));
        assert!(matches!(made, Err(AmqpSinkError::Url)), "{url}");
    }
    for name in ["", &"q".repeat(256)] {
        let made = AmqpSink::new(AmqpOptions::new("amqp://a", name));
        assert!(matches!(made, Err(AmqpSinkError::Name("queue"))));
    }
    let queue = QueueKind::Quorum;
    let topology = Topology::Queue { name: "q".to_owned(), kind: queue };
    let plain = AmqpOptions { topology, ca: Some(vec![]), ..AmqpOptions::new("amqp://a", "q") };
    assert!(matches!(AmqpSink::new(plain), Err(AmqpSinkError::CaWithoutTls)));
    let empty = AmqpOptions { ca: Some(vec![]), ..AmqpOptions::new("amqps://a", "q") };
    assert!(matches!(AmqpSink::new(empty), Err(AmqpSinkError::Trust(_))));
}
