//! Adds each event as a job to a queue of `BullMQ`, as a `CloudEvent` in JSON: with its payload
//! untouched within, under an id by which a second copy is ignored.
//!
//! It adds plain jobs to the end of a queue: none that is delayed, has a priority, repeats or belongs
//! to a flow. Completed jobs are removed by who completes them, as the job's options say.

use std::fmt;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use redis::{Cmd, Script};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::redis_link::{RedisLink, RedisOptions, RedisOptionsError, RedisTrouble};
use crate::sink::{attributes, redis as answer};
use crate::step::{Done, Failure, Step, StepContext};

/// Adds a job, in one step.
const ADD: &str = include_str!("bullmq/add.lua");

/// To which queue jobs are added, and what becomes of them.
#[derive(Debug, Clone)]
pub struct BullmqOptions {
    /// The Redis.
    pub redis: RedisOptions,
    /// The name of the queue.
    pub queue: String,
    /// What the keys of the queue begin with; `bull` unless workers say otherwise.
    pub prefix: String,
    /// How often a worker tries a job, and how long it waits after the first try; then twice as long
    /// each time.
    pub attempts: u32,
    /// See [`BullmqOptions::attempts`].
    pub backoff: Duration,
    /// How long a completed job is kept, and with it the id by which a copy is ignored.
    pub keep: Duration,
    /// How long adding may take, from connecting to the answer.
    pub timeout: Duration,
}

impl BullmqOptions {
    /// Adds to `queue` with everything else as it is by default.
    pub fn new(redis: RedisOptions, queue: impl Into<String>) -> Self {
        Self {
            redis,
            queue: queue.into(),
            prefix: "bull".to_owned(),
            attempts: 10,
            backoff: Duration::from_secs(1),
            keep: Duration::from_secs(7 * 24 * 3600),
            timeout: Duration::from_secs(30),
        }
    }
}

/// Adds events to a queue.
pub struct BullmqSink {
    link: RedisLink,
    add: Script,
    /// What the queue's keys begin with, its name and the colon behind it included.
    base: String,
    /// The options of every job, in JSON.
    job_options: Map<String, Value>,
    timeout: Duration,
}

impl BullmqSink {
    /// Makes a sink of its options. Whether the server is there shows with the first event.
    pub fn new(options: BullmqOptions) -> Result<Self, RedisOptionsError> {
        let BullmqOptions { redis, queue, prefix, attempts, backoff, keep, timeout } = options;
        let backoff = u64::try_from(backoff.as_millis()).unwrap_or(u64::MAX);
        let backoff = serde_json::json!({ "type": "exponential", "delay": backoff });
        let keep = serde_json::json!({ "age": keep.as_secs() });
        let job_options =
            [("attempts", Value::from(attempts)), ("backoff", backoff), ("removeOnComplete", keep)];
        Ok(Self {
            link: RedisLink::new(redis)?,
            add: Script::new(ADD),
            base: format!("{prefix}:{queue}:"),
            job_options: job_options
                .map(|(name, value)| (name.to_owned(), value))
                .into_iter()
                .collect(),
            timeout,
        })
    }

    /// The command that adds the event's job: by the script's digest, or by the script itself.
    fn add(&self, context: &StepContext<'_>, data: &str, whole: bool) -> Cmd {
        let id = job_id(context);
        let mut options = self.job_options.clone();
        options.insert("jobId".to_owned(), id.as_str().into());
        let mut command = redis::cmd(if whole { "EVAL" } else { "EVALSHA" });
        command.arg(if whole { ADD } else { self.add.get_hash() });
        let names = ["wait", "active", "meta", "id", "events", "marker", &*id];
        command.arg(names.len());
        for name in names {
            command.arg(format!("{}{name}", self.base));
        }
        command.arg(&id).arg(context.claim.event.kind.as_str()).arg(data);
        command.arg(Value::Object(options).to_string());
        command
    }
}

#[async_trait]
impl Step for BullmqSink {
    async fn run(&self, context: &StepContext<'_>) -> Result<Done, Failure> {
        let Some(payload) = &context.claim.event.payload else {
            return Err(Failure::permanent("the payload was pruned; nothing is left to add"));
        };
        let data = data(context, payload)?;
        let began = Instant::now();
        let mut asked = self.link.ask(&self.add(context, &data, false), self.timeout).await;
        // A server that was started anew doesn't know the script, and has done nothing.
        if matches!(&asked, Err(RedisTrouble::Refused(code, _)) if code == "NOSCRIPT") {
            let left = self.timeout.saturating_sub(began.elapsed());
            asked = self.link.ask(&self.add(context, &data, true), left).await;
        }
        asked.map(|_| Done::PLAIN).map_err(answer::judge)
    }
}

impl fmt::Debug for BullmqSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("BullmqSink");
        shown.field("link", &self.link).field("base", &self.base).finish_non_exhaustive()
    }
}

/// The event's id, from its second run on with the run's number behind it. What two routes add to one
/// queue is one job, as the broker's own sense of a copy has it.
fn job_id(context: &StepContext<'_>) -> String {
    let claim = context.claim;
    match claim.run {
        1 => claim.event.id.to_string(),
        run => format!("{}/{run}", claim.event.id),
    }
}

/// The event in the JSON format of `CloudEvents`: what is JSON stands in it as it came.
fn data(context: &StepContext<'_>, payload: &str) -> Result<String, serde_json::Error> {
    let content_type = &context.claim.event.content_type;
    let mut event: Map<String, Value> = attributes::of(context)
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.into_owned().into()))
        .collect();
    event.insert("idempotencykey".to_owned(), context.idempotency_key().into());
    event.insert("datacontenttype".to_owned(), content_type.as_str().into());
    let own = content_type.starts_with("application/json");
    let own = own.then(|| serde_json::from_str::<&RawValue>(payload).ok()).flatten();
    let text = match own {
        Some(json) => json.get().to_owned(),
        None => serde_json::to_string(payload)?,
    };
    let mut written = serde_json::to_string(&event)?;
    written.pop();
    Ok(format!("{written},\"data\":{text}}}"))
}
