//! Publishes each event to a stream of NATS `JetStream`, as a `CloudEvent` in binary mode: the body is
//! the payload untouched, the attributes are headers. Done is what a stream has acknowledged.
//!
//! It consumes nothing, and makes a stream only where it is told to declare it. Its client logs what a
//! server refuses, with the subject, by the target `async_nats`: who embeds us filters that out.

mod link;
mod options;
mod verdict;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::message::PublishMessage;
use async_nats::{HeaderMap, HeaderValue};
use async_trait::async_trait;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout_at};

use crate::sink::attributes;
use crate::step::{Done, Failure, Step, StepContext};

use link::Link;
use options::Target;

pub use options::{NatsOptions, NatsSinkError, Stream, Subject};

pub use super::trust::TrustError;

/// The longest that reaching the server may take, and half of the time limit of the whole: who was
/// not reached was sent nothing, which is not to be told from no answer where both end at once.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Publishes events to a stream.
///
/// It has one connection, made when the first event comes and again when it is lost.
pub struct NatsSink {
    target: Target,
    link: Mutex<Option<Arc<Link>>>,
}

impl NatsSink {
    /// Makes a sink of its options. Nothing is connected to yet.
    pub fn new(options: NatsOptions) -> Result<Self, NatsSinkError> {
        Ok(Self { target: Target::of(options)?, link: Mutex::new(None) })
    }

    /// A connection that is up now. One that isn't is left: its client would keep what it is given, and
    /// send it whenever it is up again.
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
        link: &Link,
        context: &StepContext<'_>,
        payload: String,
    ) -> Result<(), Failure> {
        let mut message = PublishMessage::build()
            .payload(payload.into())
            .headers(headers(context))
            // What no two messages have unless one is the other's copy.
            .message_id(attributes::encoded(&context.idempotency_key()));
        if let Some(stream) = &self.target.stream {
            message = message.expected_stream(&stream.name);
        }
        let broken = link.broken();
        let answer = async {
            let sent = link.stream().send_publish(self.target.subject.of(context), message).await;
            let sent = sent.map_err(|error| verdict::of_sending(&error, &self.target, link))?;
            // A copy that the stream knows is as good as the first.
            sent.await.map(drop).map_err(|error| verdict::of(&error, &self.target, link))
        };
        tokio::select! {
            biased;
            answer = answer => answer,
            // The client would wait for an answer that can't come any more.
            () = broken => Err(Failure::Unknown(
                "the connection broke before the stream acknowledged; whether it was published is \
                 unknown"
                    .to_owned(),
            )),
        }
    }
}

#[async_trait]
impl Step for NatsSink {
    async fn run(&self, context: &StepContext<'_>) -> Result<Done, Failure> {
        let Some(payload) = context.claim.event.payload.clone() else {
            return Err(Failure::permanent("the payload was pruned; nothing is left to publish"));
        };
        let timeout = self.target.timeout;
        let (now, reach) = (Instant::now(), (timeout / 2).min(CONNECT_TIMEOUT));
        let reached = timeout_at(now + reach, self.link()).await;
        let link = reached.map_err(|_| {
            Failure::SinkDown(format!("the server could not be reached within {reach:?}"))
        })??;
        let published = timeout_at(now + timeout, self.publish(&link, context, payload)).await;
        let published = published.unwrap_or_else(|_| Err(verdict::silent(&link, timeout)));
        let subject = self.target.subject.of(context);
        let published = published.map_err(|failure| match failure {
            Failure::Unknown(_) if link.has_refused(&subject) => verdict::forbidden(&subject),
            failure => failure,
        });
        // A stream that was there may be gone, and is then to be declared again.
        if published.is_err() {
            self.leave(&link).await;
        }
        published.map(|()| Done::PLAIN)
    }
}

impl fmt::Debug for NatsSink {
    /// Shows host and names alone: the rest of the address is a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NatsSink")
            .field("host", &self.target.host())
            .field("subject", &self.target.subject)
            .finish_non_exhaustive()
    }
}

/// The attributes by the NATS binding of `CloudEvents`, the payload's type and the idempotency key.
fn headers(context: &StepContext<'_>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in attributes::of(context) {
        headers.insert(format!("ce-{name}"), attributes::encoded(&value));
    }
    headers.insert("idempotency-key", attributes::encoded(&context.idempotency_key()));
    let content_type = &context.claim.event.content_type;
    // A user of the library may have one that fits no header.
    if let Ok(value) = content_type.parse::<HeaderValue>() {
        headers.insert("content-type", value);
    }
    headers
}
