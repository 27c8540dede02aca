//! Makes the sinks that publish to NATS.

use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use hookonce::sink::nats::{NatsOptions, NatsSink, Stream, Subject};
use hookonce::step::Step;

use crate::config::{Config, NatsConfig};

/// Makes a sink of its section.
pub(super) fn sink(config: &Config, sink: &NatsConfig) -> anyhow::Result<Arc<dyn Step>> {
    let secret = |written: &Option<String>, key: &str| {
        let secret = written.as_ref().map(|written| config.secret(written)).transpose();
        secret.map_err(|error| anyhow!("`{key}`: {error}"))
    };
    let ca = sink.ca.as_ref().map(|file| config.file(file)).transpose();
    let subject = Subject::new(&sink.subject).context("`subject` is none of NATS")?;
    let stream = |name: &String| Stream { name: name.clone(), declare: sink.declare };
    let options = NatsOptions {
        password: secret(&sink.password, "password")?,
        credentials: secret(&sink.credentials, "credentials")?,
        ca: ca.map_err(|error| anyhow!("`ca`: {error}"))?,
        stream: sink.stream.as_ref().map(stream),
        timeout: sink.timeout.get(),
        ..NatsOptions::new(&sink.url, subject)
    };
    Ok(Arc::new(NatsSink::new(options)?))
}
