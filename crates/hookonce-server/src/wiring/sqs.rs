//! Makes the sinks that send to queues of SQS.

use std::sync::Arc;

use anyhow::anyhow;
use hookonce::sink::sqs::{AccessKey, SqsOptions, SqsSink};
use hookonce::step::Step;

use crate::config::{Config, SqsConfig};

/// Makes a sink of its section.
pub(super) fn sink(config: &Config, sink: &SqsConfig) -> anyhow::Result<Arc<dyn Step>> {
    let read = |written: &str, key: &str| {
        config.secret(written).map_err(|error| anyhow!("`{key}`: {error}"))
    };
    let key = match (&sink.access_key, &sink.secret_key) {
        (Some(id), Some(secret)) => Some(AccessKey {
            id: read(id, "access_key")?.expose().to_owned(),
            secret: read(secret, "secret_key")?,
        }),
        _ => None,
    };
    let options = SqsOptions {
        region: sink.region.clone(),
        endpoint: sink.endpoint.clone(),
        key,
        timeout: sink.timeout.get(),
        ..SqsOptions::new(&sink.url)
    };
    Ok(Arc::new(SqsSink::new(options)?))
}
