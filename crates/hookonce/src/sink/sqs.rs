//! Sends each event to a queue of Amazon SQS, or of a server that speaks its protocol: the body is the payload
//! untouched, the attributes of its `CloudEvent` are those of the message. Done is what the queue has
//! answered for with a message's id.
//!
//! To a FIFO queue, which is one whose name ends with `.fifo`, an event goes under its idempotency key, by
//! which the queue drops copies for five minutes, and in its lane's group, in which the queue keeps order.

mod options;
mod verdict;

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use aws_config::BehaviorVersion;
use aws_sdk_sqs::Client;
use aws_sdk_sqs::config::retry::RetryConfig;
use aws_sdk_sqs::config::timeout::TimeoutConfig;
use aws_sdk_sqs::config::{Builder, Credentials, ProvideCredentials as _, Region};
use aws_sdk_sqs::error::BuildError;
use aws_sdk_sqs::operation::send_message::builders::SendMessageFluentBuilder;
use aws_sdk_sqs::types::MessageAttributeValue;
use aws_smithy_http_client::tls::Provider;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;
use sha2::{Digest as _, Sha256};
use tokio::sync::OnceCell;

use crate::sink::attributes;
use crate::step::{Done, Failure, Step, StepContext};

use options::Target;

pub use options::{AccessKey, SqsOptions, SqsSinkError};

/// The longest that reaching the queue may take, and half of the time limit of the whole.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a group and what copies are known by may be.
const ID_LIMIT: usize = 128;
/// Attributes that a message has no room for: it may have ten. They are in the key, or for the worker alone.
const LEFT_OUT: [&str; 2] = ["epoch", "run"];

/// Sends events to a queue.
pub struct SqsSink {
    target: Target,
    /// Made when the first event comes.
    client: OnceCell<Client>,
}

impl SqsSink {
    /// Makes a sink of its options. Nothing is connected to yet.
    pub fn new(options: SqsOptions) -> Result<Self, SqsSinkError> {
        Ok(Self { target: Target::read(options)?, client: OnceCell::new() })
    }

    /// Fails where there is nobody to send as.
    async fn connect(&self) -> Result<Client, Failure> {
        let Target { region, endpoint, key, timeout, .. } = &self.target;
        let tls = Provider::Rustls(CryptoMode::Ring);
        let http = aws_smithy_http_client::Builder::new().tls_provider(tls).build_https();
        let loader = aws_config::defaults(BehaviorVersion::latest())
            .http_client(http)
            .region(Region::new(region.clone()));
        let loader = match key {
            Some(AccessKey { id, secret }) => loader.credentials_provider(Credentials::new(
                id,
                secret.expose(),
                None,
                None,
                "configured",
            )),
            None => loader,
        };
        let reach = (*timeout / 2).min(CONNECT_TIMEOUT);
        let timeouts =
            TimeoutConfig::builder().connect_timeout(reach).operation_timeout(*timeout).build();
        let shared = loader.load().await;
        // Asked for now, since a queue that gives no answer is not to be told from a role that gives none.
        if let Some(provider) = shared.credentials_provider() {
            let told = tokio::time::timeout(reach, provider.provide_credentials()).await;
            verdict::of_credentials(told.ok(), reach)?;
        }
        let config = Builder::from(&shared)
            .endpoint_url(endpoint)
            .use_fips(false)
            .use_dual_stack(false)
            // An event is sent again by its route's policy.
            .retry_config(RetryConfig::disabled())
            .timeout_config(timeouts)
            .build();
        Ok(Client::from_conf(config))
    }

    fn message(
        &self,
        client: &Client,
        context: &StepContext<'_>,
        payload: String,
    ) -> Result<SendMessageFluentBuilder, BuildError> {
        let event = &context.claim.event;
        let key = context.idempotency_key();
        let mut message = client.send_message().queue_url(&self.target.url).message_body(payload);
        for (name, value) in attributes::of(context) {
            if !LEFT_OUT.contains(&name) {
                message = message
                    .message_attributes(format!("ce-{name}"), text(attributes::encoded(&value))?);
            }
        }
        message = message.message_attributes("idempotency-key", text(attributes::encoded(&key))?);
        // A user of the library may have one that fits no attribute.
        let is_plain = |c: char| c.is_ascii_graphic() || c == ' ';
        if !event.content_type.is_empty() && event.content_type.chars().all(is_plain) {
            message = message.message_attributes("content-type", text(event.content_type.clone())?);
        }
        if self.target.is_fifo {
            // An event of no conversation waits for no other.
            let lane = event.lane.clone().unwrap_or_else(|| event.id.to_string());
            message = message.message_group_id(id(&lane)).message_deduplication_id(id(&key));
        }
        Ok(message)
    }
}

#[async_trait]
impl Step for SqsSink {
    async fn run(&self, context: &StepContext<'_>) -> Result<Done, Failure> {
        let Some(payload) = context.claim.event.payload.clone() else {
            return Err(Failure::permanent("the payload was pruned; nothing is left to send"));
        };
        if payload.is_empty() {
            return Err(Failure::permanent("the payload is empty, which no message may be"));
        }
        let client = self.client.get_or_try_init(|| self.connect()).await?;
        let message = self.message(client, context, payload).map_err(Failure::permanent)?;
        match message.send().await {
            Ok(answer) if answer.message_id().is_some() => Ok(Done::PLAIN),
            Ok(_) => Err(verdict::of_strange_success()),
            Err(error) => Err(verdict::of(&error, &self.target)),
        }
    }
}

impl fmt::Debug for SqsSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqsSink").field("url", &self.target.url).finish_non_exhaustive()
    }
}

fn text(value: String) -> Result<MessageAttributeValue, BuildError> {
    MessageAttributeValue::builder().data_type("String").string_value(value).build()
}

/// A text as a queue takes it for an id: printable ASCII and not too long; a hash of it where it is.
fn id(text: &str) -> String {
    let encoded = attributes::encoded(text);
    if encoded.len() <= ID_LIMIT { encoded } else { hex::encode(Sha256::digest(text.as_bytes())) }
}
