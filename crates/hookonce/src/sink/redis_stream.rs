//! Appends each event to a stream of Redis (`XADD`): the payload untouched, its `CloudEvents`
//! attributes as fields beside it.
//!
//! It reads nothing of the stream, makes no consumer group, and drops no copy: Redis has no memory of
//! what was appended before, so whoever reads the stream tells copies by their key.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use redis::Cmd;

use crate::redis_link::{RedisLink, RedisOptions, RedisOptionsError};
use crate::sink::{attributes, redis as answer};
use crate::step::{Done, Failure, Step, StepContext};
use crate::store::Clock;

/// Where events are appended, and what is kept there.
#[derive(Debug, Clone)]
pub struct RedisStreamOptions {
    /// The Redis.
    pub redis: RedisOptions,
    /// The key of the stream.
    pub stream: String,
    /// What is removed from the stream with each event.
    pub trim: Option<Trim>,
    /// How long it may take, from connecting to the answer.
    pub timeout: Duration,
    /// Tells what is older than [`Trim::Age`].
    pub clock: Clock,
}

/// What is removed from the beginning of a stream, whether it was read or not. It is the server that
/// removes, in whole blocks of about a hundred: more may be left, never less.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trim {
    /// All but the newest events, of this number.
    Length(u64),
    /// What is older.
    Age(Duration),
}

impl RedisStreamOptions {
    /// Appends to `stream`, and removes nothing.
    pub fn new(redis: RedisOptions, stream: impl Into<String>) -> Self {
        Self {
            redis,
            stream: stream.into(),
            trim: None,
            timeout: Duration::from_secs(30),
            clock: Clock::system(),
        }
    }
}

/// Appends events to a stream.
pub struct RedisStreamSink {
    link: RedisLink,
    stream: String,
    trim: Option<Trim>,
    timeout: Duration,
    clock: Clock,
}

impl RedisStreamSink {
    /// Makes a sink of its options. Whether the server is there shows with the first event.
    pub fn new(options: RedisStreamOptions) -> Result<Self, RedisOptionsError> {
        let RedisStreamOptions { redis, stream, trim, timeout, clock } = options;
        Ok(Self { link: RedisLink::new(redis)?, stream, trim, timeout, clock })
    }

    /// The command that appends the event.
    fn append(&self, context: &StepContext<'_>, payload: &str) -> Cmd {
        let mut command = redis::cmd("XADD");
        command.arg(&self.stream);
        match self.trim {
            Some(Trim::Length(length)) => {
                command.arg("MAXLEN").arg("~").arg(length);
            }
            Some(Trim::Age(age)) => {
                // An entry's id begins with the milliseconds of its time.
                let now = Duration::try_from(self.clock.now().as_duration()).unwrap_or_default();
                let from = u64::try_from(now.saturating_sub(age).as_millis()).unwrap_or_default();
                command.arg("MINID").arg("~").arg(from);
            }
            None => {}
        }
        command.arg("*");
        for (name, value) in attributes::of(context) {
            command.arg(format!("ce-{name}")).arg(&*value);
        }
        command.arg("idempotency-key").arg(context.idempotency_key());
        command.arg("content-type").arg(&context.claim.event.content_type);
        command.arg("data").arg(payload);
        command
    }
}

#[async_trait]
impl Step for RedisStreamSink {
    async fn run(&self, context: &StepContext<'_>) -> Result<Done, Failure> {
        let Some(payload) = &context.claim.event.payload else {
            return Err(Failure::permanent("the payload was pruned; nothing is left to append"));
        };
        let command = self.append(context, payload);
        let asked = self.link.ask(&command, self.timeout).await;
        asked.map(|_| Done::PLAIN).map_err(answer::judge)
    }
}

impl fmt::Debug for RedisStreamSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("RedisStreamSink");
        shown.field("link", &self.link).field("stream", &self.stream).finish_non_exhaustive()
    }
}
