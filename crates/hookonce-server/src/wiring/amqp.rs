//! Makes the sinks that publish to a `RabbitMQ`.

use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use hookonce::sink::amqp::{AmqpOptions, AmqpSink, ExchangeKind, QueueKind, RoutingKey, Topology};
use hookonce::step::Step;

use crate::config::{AmqpConfig, Config, ExchangeName, QueueName};

/// Makes a sink of its section.
pub(super) fn sink(config: &Config, sink: &AmqpConfig) -> anyhow::Result<Arc<dyn Step>> {
    let password = sink.password.as_ref().map(|written| config.secret(written)).transpose();
    let ca = sink.ca.as_ref().map(|file| config.file(file)).transpose();
    let options = AmqpOptions {
        url: sink.url.clone(),
        password: password.map_err(|error| anyhow!("`password`: {error}"))?,
        ca: ca.map_err(|error| anyhow!("`ca`: {error}"))?,
        topology: topology(sink)?,
        declare: sink.declare,
        timeout: sink.timeout.get(),
    };
    Ok(Arc::new(AmqpSink::new(options)?))
}

fn topology(sink: &AmqpConfig) -> anyhow::Result<Topology> {
    let kind = match sink.queue_type {
        QueueName::Quorum => QueueKind::Quorum,
        QueueName::Classic => QueueKind::Classic,
    };
    let Some(exchange) = &sink.exchange else {
        let name = sink.queue.clone().context("neither a `queue` nor an `exchange` is named")?;
        return Ok(Topology::Queue { name, kind });
    };
    let key = sink.routing_key.as_deref().unwrap_or("{kind}");
    Ok(Topology::Exchange {
        name: exchange.clone(),
        kind: match sink.exchange_type {
            ExchangeName::Topic => ExchangeKind::Topic,
            ExchangeName::Direct => ExchangeKind::Direct,
            ExchangeName::Fanout => ExchangeKind::Fanout,
            ExchangeName::Headers => ExchangeKind::Headers,
        },
        routing_key: RoutingKey::new(key)
            .context("`routing_key` has braces around something else")?,
        queue: sink.queue.clone().map(|name| (name, kind)),
    })
}
