//! Publishes each event to `RabbitMQ` by AMQP 0-9-1, as a `CloudEvent` in binary mode: the body is the
//! payload untouched, the attributes are headers. Done is what the broker has confirmed.
//!
//! It consumes nothing, and changes the broker's topology only where it is told to declare it. Its
//! client logs a message that no queue takes whole, as a warning of the target `lapin`: who embeds us
//! and keeps such lines filters that target out.

mod link;
mod message;
mod options;
mod verdict;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use lapin::options::BasicPublishOptions;
use lapin::{Channel, Confirmation};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout_at};

use crate::step::{Done, Failure, Step, StepContext};

use link::Link;
use options::Target;

pub use options::{AmqpOptions, AmqpSinkError, ExchangeKind, QueueKind, RoutingKey, Topology};

pub use super::trust::TrustError;

/// The longest that reaching the broker may take, and half of the time limit of the whole: who was
/// not reached was sent nothing, which is not to be told from no confirmation where both end at once.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Publishes events to a broker.
///
/// It has one connection, made when the first event comes and again when it is lost, and on it a
/// channel for each event that is on its way: what the broker says on a channel is then about that
/// event.
pub struct AmqpSink {
    target: Target,
    link: Mutex<Option<Arc<Link>>>,
}

impl AmqpSink {
    /// Makes a sink of its options. Nothing is connected to yet.
    pub fn new(options: AmqpOptions) -> Result<Self, AmqpSinkError> {
        Ok(Self { target: Target::of(options)?, link: Mutex::new(None) })
    }

    /// A channel that nobody uses, on a connection that is up.
    async fn channel(&self) -> Result<(Arc<Link>, Channel), Failure> {
        let link = self.link().await?;
        if link.is_blocked() {
            let why = "the broker takes no messages now: it is short of memory or disk space";
            return Err(Failure::SinkDown(why.to_owned()));
        }
        let channel = link.channel().await.map_err(|error| verdict::of_no_channel(&error))?;
        Ok((link, channel))
    }

    async fn link(&self) -> Result<Arc<Link>, Failure> {
        let mut held = self.link.lock().await;
        if let Some(link) = held.as_ref().filter(|link| link.is_up()) {
            return Ok(link.clone());
        }
        *held = None;
        let link = Arc::new(Link::open(&self.target).await.map_err(Failure::SinkDown)?);
        *held = Some(link.clone());
        Ok(link)
    }

    /// Has the next event open a connection anew, and declare what is to be there.
    async fn leave(&self, link: &Arc<Link>) {
        self.link.lock().await.take_if(|held| Arc::ptr_eq(held, link));
    }

    async fn publish(
        &self,
        channel: &Channel,
        context: &StepContext<'_>,
        payload: &str,
    ) -> Result<(), Failure> {
        let key = message::short(self.target.routing_key(context))
            .ok_or_else(|| Failure::permanent("the routing key is longer than 255 bytes"))?;
        let confirmation = channel
            .basic_publish(
                self.target.exchange.clone(),
                key,
                BasicPublishOptions { mandatory: true, immediate: false },
                payload.as_bytes(),
                message::properties(context),
            )
            .await
            .map_err(|error| verdict::of_publishing(&error, &self.target))?
            .await
            .map_err(|error| verdict::of_no_confirmation(&error, &self.target))?;
        match confirmation {
            Confirmation::Ack(None) => Ok(()),
            confirmation => Err(verdict::of_refusal(confirmation, &self.target)),
        }
    }
}

#[async_trait]
impl Step for AmqpSink {
    async fn run(&self, context: &StepContext<'_>) -> Result<Done, Failure> {
        let Some(payload) = context.claim.event.payload.clone() else {
            return Err(Failure::permanent("the payload was pruned; nothing is left to publish"));
        };
        let timeout = self.target.timeout;
        let (now, reach) = (Instant::now(), (timeout / 2).min(CONNECT_TIMEOUT));
        let reached = timeout_at(now + reach, self.channel()).await;
        let (link, channel) = reached.map_err(|_| {
            Failure::SinkDown(format!("the broker could not be reached within {reach:?}"))
        })??;
        let published = timeout_at(now + timeout, self.publish(&channel, context, &payload)).await;
        let published = published.unwrap_or_else(|_| {
            Err(Failure::Unknown(format!(
                "not confirmed within {timeout:?}; whether it was published is unknown"
            )))
        });
        // What was there may be gone, and is then to be declared again.
        let may_be_gone = matches!(
            published,
            Err(Failure::SinkDown(_) | Failure::Unavailable { may_have_happened: false, .. })
        );
        if may_be_gone && self.target.declare {
            self.leave(&link).await;
        }
        published?;
        // A channel on which something went wrong is closed instead: nothing that comes late is taken
        // for an answer to the next event.
        link.give_back(channel);
        Ok(Done::PLAIN)
    }
}

impl fmt::Debug for AmqpSink {
    /// Shows host and names alone: the rest of the address is a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AmqpSink")
            .field("host", &self.target.uri.authority.host)
            .field("exchange", &self.target.exchange.as_str())
            .finish_non_exhaustive()
    }
}
