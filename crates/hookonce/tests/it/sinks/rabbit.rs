//! The `RabbitMQ` that tests share, and what was published to it.

use std::time::{Duration, Instant};

use lapin::options::{BasicGetOptions, QueueBindOptions, QueueDeclareOptions};
use lapin::types::{AMQPValue, FieldTable, ShortString};
use lapin::{Channel, Connection, ConnectionProperties};

use super::relay::Relay;

/// How long it may take to start.
const LIMIT: Duration = Duration::from_secs(120);

/// A message as a consumer gets it.
pub(crate) type Message = lapin::message::BasicGetMessage;

/// A connection of the test's own.
pub(crate) struct Rabbit {
    pub(crate) url: String,
    pub(crate) channel: Channel,
    _connection: Connection,
}

impl Rabbit {
    /// The one that `scripts/servers.sh` has started.
    pub(crate) async fn shared() -> Self {
        Self::at(&crate::bed::postgres::address("HOOKONCE_TEST_AMQP")).await
    }

    pub(crate) async fn at(url: &str) -> Self {
        let until = Instant::now() + LIMIT;
        let connection = loop {
            match Connection::connect(url, ConnectionProperties::default()).await {
                Ok(connection) => break connection,
                Err(error) => assert!(Instant::now() < until, "it doesn't start: {error}"),
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        };
        let channel = connection.create_channel().await.unwrap();
        Self { url: url.to_owned(), channel, _connection: connection }
    }

    /// Host and port.
    pub(crate) fn address(&self) -> String {
        self.url.rsplit('@').next().unwrap().to_owned()
    }

    /// The same by way of a relay.
    pub(crate) fn through(&self, relay: &Relay) -> String {
        self.url.replace(&self.address(), &format!("127.0.0.1:{}", relay.port))
    }

    /// Declares a queue with these arguments.
    pub(crate) async fn queue(&self, name: &str, arguments: &[(&str, AMQPValue)]) {
        let mut table = FieldTable::default();
        for (key, value) in arguments {
            table.insert(ShortString::from(*key), value.clone());
        }
        let options = QueueDeclareOptions::default();
        self.channel.queue_declare(name.into(), options, table).await.unwrap();
    }

    pub(crate) async fn bind(&self, queue: &str, exchange: &str, key: &str) {
        let (options, none) = (QueueBindOptions::default(), FieldTable::default());
        let bound =
            self.channel.queue_bind(queue.into(), exchange.into(), key.into(), options, none);
        bound.await.unwrap();
    }

    /// Waits until a queue has so many messages.
    pub(crate) async fn until_has(&self, queue: &str, messages: u32) {
        let until = Instant::now() + LIMIT;
        let options = QueueDeclareOptions { passive: true, ..QueueDeclareOptions::default() };
        loop {
            let declared = self.channel.queue_declare(queue.into(), options, FieldTable::default());
            if declared.await.unwrap().message_count() >= messages {
                return;
            }
            assert!(Instant::now() < until, "they don't come");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// The next message of a queue, if it has any.
    pub(crate) async fn take(&self, queue: &str) -> Option<Message> {
        let options = BasicGetOptions { no_ack: true };
        self.channel.basic_get(queue.into(), options).await.unwrap()
    }

    /// Everything that is in a queue.
    pub(crate) async fn take_all(&self, queue: &str) -> Vec<Message> {
        let mut all = Vec::new();
        while let Some(message) = self.take(queue).await {
            all.push(message);
        }
        all
    }
}

/// A header's text.
pub(crate) fn header(message: &Message, name: &str) -> Option<String> {
    let headers = message.properties.headers().as_ref()?;
    match headers.inner().get(name)? {
        AMQPValue::LongString(text) => Some(text.to_string()),
        other => panic!("{name} is {other:?}"),
    }
}
