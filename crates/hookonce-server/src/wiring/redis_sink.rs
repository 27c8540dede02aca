//! Makes the sinks that write to a Redis.

use std::sync::Arc;

use anyhow::anyhow;
use hookonce::redis_link::RedisOptions;
use hookonce::sink::bullmq::{BullmqOptions, BullmqSink};
use hookonce::sink::redis_stream::{RedisStreamOptions, RedisStreamSink, Trim};
use hookonce::step::Step;

use crate::config::{BullmqConfig, Config, Period, RedisStreamConfig};

/// Makes a sink that adds jobs to a queue.
pub(super) fn bullmq(config: &Config, sink: &BullmqConfig) -> anyhow::Result<Arc<dyn Step>> {
    let redis = link(config, &sink.url, (&sink.password, &sink.ca))?;
    let options = BullmqOptions {
        prefix: sink.prefix.clone(),
        attempts: sink.attempts,
        backoff: sink.backoff.get(),
        keep: sink.keep.get(),
        timeout: sink.timeout.get(),
        ..BullmqOptions::new(redis, &sink.queue)
    };
    Ok(Arc::new(BullmqSink::new(options)?))
}

/// Makes a sink that appends to a stream.
pub(super) fn stream(config: &Config, sink: &RedisStreamConfig) -> anyhow::Result<Arc<dyn Step>> {
    let redis = link(config, &sink.url, (&sink.password, &sink.ca))?;
    let age = sink.max_age.map(Period::get).map(Trim::Age);
    let options = RedisStreamOptions {
        trim: sink.max_length.map(Trim::Length).or(age),
        timeout: sink.timeout.get(),
        ..RedisStreamOptions::new(redis, &sink.stream)
    };
    Ok(Arc::new(RedisStreamSink::new(options)?))
}

/// Where a Redis is, with what its section names.
fn link(
    config: &Config,
    url: &str,
    (password, ca): (&Option<String>, &Option<String>),
) -> anyhow::Result<RedisOptions> {
    let password = password.as_ref().map(|written| config.secret(written)).transpose();
    let ca = ca.as_ref().map(|file| config.file(file)).transpose();
    Ok(RedisOptions {
        password: password.map_err(|error| anyhow!("`password`: {error}"))?,
        ca: ca.map_err(|error| anyhow!("`ca`: {error}"))?,
        ..RedisOptions::new(url)
    })
}
