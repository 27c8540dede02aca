//! Events while the broker is stopped and killed: each arrives, in its order.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use super::super::broker::Broker;
use super::super::outage::{check, events, see_through};
use super::super::rabbit::{Rabbit, header};
use super::sink;

/// What starts a `RabbitMQ` on a port.
fn command(dir: &Path, port: u16) -> Command {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut command = Command::new(root.join("scripts/rabbitmq.sh"));
    let epmd = crate::bed::postgres::address("HOOKONCE_TEST_EPMD");
    command.arg(PathBuf::from(dir)).args([&port.to_string(), &epmd]);
    command
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_event_arrives_in_its_order_while_the_broker_is_stopped_and_killed() {
    let mut broker = Broker::start(command);
    let url = format!("amqp://guest:guest@127.0.0.1:{}", broker.port);
    let events = events();
    let down = |broker: &mut Broker, outage| match outage {
        1 => broker.stop(),
        _ => broker.kill(),
    };
    see_through(Arc::new(sink(&url, "outage")), events, &mut broker, down, Broker::up).await;
    let messages = Rabbit::at(&url).await.take_all("outage").await;
    let given = messages
        .iter()
        .map(|message| {
            let key = message.properties.message_id().as_ref().unwrap().to_string();
            assert_eq!(header(message, "idempotency-key").as_deref(), Some(&*key));
            (key, String::from_utf8(message.data.clone()).unwrap())
        })
        .collect();
    check(events, &given);
}
