//! Makes what the library needs out of the configuration: the store, sources, routes and their sinks.

#[cfg(feature = "amqp")]
mod amqp;
#[cfg(feature = "nats")]
mod nats;
mod redis_sink;
mod scheme;
#[cfg(feature = "sqs")]
mod sqs;
mod store;
mod tls;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use hookonce::gate::{Gate, GateOptions, OnUnknown};
use hookonce::receiver::{Ack, Network, Source};
use hookonce::retry::RetryPolicy;
use hookonce::route::{Order, Route, RouteWorker};
use hookonce::scheme::Secret;
use hookonce::sink::exec::{ExecOptions, ExecSink};
use hookonce::sink::http::{HttpOptions, HttpSink, SignAs};
use hookonce::sink::log::LogSink;
use hookonce::sink::sql::SqlSink;
use hookonce::step::Step;
use hookonce::store::{MirrorRoute, MirrorSource, Retention, Store, StoreError};
use hookonce::task::DeadLane;

use crate::config::{
    self, AckName, AmqpConfig, BullmqConfig, Config, ExecConfig, HttpConfig, NatsConfig, OnDead,
    OnUnknownName, OrderName, Period, Rate, RedisStreamConfig, RouteConfig, SignAsName, SinkConfig,
    SourceConfig, SqsConfig, WorkerName,
};
use crate::out;

pub(crate) use scheme::scheme;
pub(crate) use store::{
    must_be_there, must_have_directory, not_opened, open, open_existing, open_existing_postgres,
    open_existing_sqlite, open_redis, postgres, sqlite, try_open,
};

pub(crate) use tls::Certificates;

/// Makes every source.
pub(crate) fn sources(config: &Config) -> anyhow::Result<Vec<Source>> {
    let source = |(name, source): (&String, &SourceConfig)| {
        Ok(Source {
            name: name.as_str().into(),
            scope: scope(name, source),
            scheme: scheme(config, name, source)?,
            ack: match source.ack {
                AckName::Stored => Ack::Stored,
                AckName::Handled => Ack::Handled,
            },
            allow: source.allow.as_deref().map(networks).transpose()?,
        })
    };
    config.sources.iter().map(source).collect()
}

/// Reads ranges of addresses.
pub(crate) fn networks(written: &[String]) -> anyhow::Result<Vec<Network>> {
    Ok(written.iter().map(|network| network.parse()).collect::<Result<_, _>>()?)
}

/// The sinks of a configuration behind their gates, by name, each with what it was made from.
pub(crate) type Gates = BTreeMap<String, (Made, Arc<Gate>)>;

/// What a sink is made from: its section, and the secret and the file it names, which may change by
/// themselves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Made {
    section: String,
    secret: Option<Secret>,
    file: Option<Vec<u8>>,
}

/// Makes every route with its sinks. A sink that is among `before` and has not changed is that one.
pub(crate) fn routes(
    config: &Config,
    store: &Arc<dyn Store>,
    before: &Gates,
) -> anyhow::Result<(Arc<[Route]>, Gates)> {
    let mut gates = Gates::new();
    for (name, written) in &config.sinks {
        let made = made(config, written).map_err(|error| anyhow!("sink `{name}`: {error}"))?;
        let gate = match before.get(name) {
            Some((as_before, gate)) if *as_before == made => gate.clone(),
            _ => gate(config, store, (name, written))?,
        };
        gates.insert(name.clone(), (made, gate));
    }
    let with_steps = |written: &RouteConfig| {
        let step = |name: &String| {
            let (_, gate) = gates.get(name).ok_or_else(|| anyhow!("there is no sink `{name}`"))?;
            Ok(gate.clone())
        };
        let steps = written.steps.iter().map(step).collect::<anyhow::Result<_>>()?;
        Ok(Route { steps, ..route(written) })
    };
    let routes = config.routes.iter().map(with_steps).collect::<anyhow::Result<_>>()?;
    Ok((routes, gates))
}

fn made(config: &Config, written: &SinkConfig) -> Result<Made, String> {
    let (secret, file) = match written {
        SinkConfig::Http(HttpConfig { secret, .. }) => (secret, &None),
        SinkConfig::Amqp(AmqpConfig { password, ca, .. })
        | SinkConfig::RedisStream(RedisStreamConfig { password, ca, .. })
        | SinkConfig::Bullmq(BullmqConfig { password, ca, .. }) => (password, ca),
        SinkConfig::Nats(NatsConfig { password, credentials, ca, .. }) => {
            (if credentials.is_some() { credentials } else { password }, ca)
        }
        SinkConfig::Sqs(SqsConfig { secret_key, .. }) => (secret_key, &None),
        SinkConfig::Exec(_) | SinkConfig::Sql(_) | SinkConfig::Log(_) => (&None, &None),
    };
    Ok(Made {
        section: format!("{written:?}"),
        secret: secret.as_ref().map(|secret| config.secret(secret)).transpose()?,
        file: file.as_ref().map(|file| config.file(file)).transpose()?,
    })
}

/// How long things are kept.
pub(crate) fn retention(config: &Config) -> Retention {
    Retention {
        payload: config.retention.payload.get(),
        key: config.retention.key.get(),
        dead: config.retention.dead.get(),
    }
}

/// Makes a route without its steps: what it takes, and its policy.
pub(crate) fn route(written: &RouteConfig) -> Route {
    Route {
        sources: written.sources.clone(),
        kinds: written.kinds.clone(),
        lease: written.lease.get(),
        max_attempts: written.max_attempts,
        order: match written.order {
            OrderName::Lane => Order::Lane,
            OrderName::None => Order::None,
        },
        retry: RetryPolicy {
            min: written.retry_min.get(),
            max: written.retry_max.get(),
            max_age: written.max_age.map(Period::get),
            on_dead: match written.on_dead {
                OnDead::Pass => DeadLane::Pass,
                OnDead::Hold => DeadLane::Hold,
            },
        },
        worker: match written.worker {
            WorkerName::Server => RouteWorker::Own,
            WorkerName::External => RouteWorker::External,
        },
        ..Route::new(written.name.as_str())
    }
}

/// Keeps the configuration's sources and routes beside the events.
pub(crate) async fn mirror(
    store: &dyn Store,
    config: &Config,
    routes: &[Route],
) -> anyhow::Result<()> {
    let source = |(name, source): (&String, &SourceConfig)| MirrorSource {
        name: name.as_str().into(),
        scope: scope(name, source),
    };
    let route = |route: &Route| MirrorRoute {
        name: route.name.clone(),
        sources: route.sources.clone(),
        kinds: route.kinds.clone(),
        max_attempts: route.max_attempts,
        retry_min: route.retry.min,
        retry_max: route.retry.max,
        holds: route.retry.on_dead == DeadLane::Hold,
        ordered: route.order == Order::Lane,
        external: route.worker == RouteWorker::External,
    };
    let sources: Vec<_> = config.sources.iter().map(source).collect();
    let routes: Vec<_> = routes.iter().map(route).collect();
    let mirrored = store.mirror(&sources, &routes).await;
    mirrored.map_err(|error| not_done("cannot write the routes to the store", &error))
}

/// What could not be done and why; the store's message says what its cause says already.
pub(crate) fn not_done(what: &str, why: &StoreError) -> anyhow::Error {
    anyhow!("{what}: {why}")
}

/// What the ids of a source's events are computed from, beside the key.
pub(crate) fn scope(name: &str, source: &SourceConfig) -> Arc<str> {
    source.scope.as_deref().unwrap_or(name).into()
}

/// Makes a sink with what limits it.
fn gate(
    config: &Config,
    store: &Arc<dyn Store>,
    (name, written): (&String, &SinkConfig),
) -> anyhow::Result<Arc<Gate>> {
    let options = match written {
        SinkConfig::Http(http) => GateOptions {
            concurrency: Some(http.concurrency),
            rate: http.rate.map(Rate::a_second),
            on_unknown: on_unknown(http.on_unknown),
        },
        SinkConfig::Exec(exec) => GateOptions {
            concurrency: Some(exec.concurrency),
            rate: exec.rate.map(Rate::a_second),
            on_unknown: on_unknown(exec.on_unknown),
        },
        SinkConfig::Sql(sql) => GateOptions {
            concurrency: Some(sql.concurrency),
            rate: sql.rate.map(Rate::a_second),
            ..GateOptions::default()
        },
        SinkConfig::Log(_) => GateOptions::default(),
        SinkConfig::Nats(sink) => GateOptions {
            concurrency: Some(sink.concurrency),
            rate: sink.rate.map(Rate::a_second),
            on_unknown: on_unknown(sink.on_unknown),
        },
        SinkConfig::Sqs(sink) => GateOptions {
            concurrency: Some(sink.concurrency),
            rate: sink.rate.map(Rate::a_second),
            on_unknown: on_unknown(sink.on_unknown),
        },
        SinkConfig::Amqp(sink) => GateOptions {
            concurrency: Some(sink.concurrency),
            rate: sink.rate.map(Rate::a_second),
            on_unknown: on_unknown(sink.on_unknown),
        },
        SinkConfig::RedisStream(stream) => GateOptions {
            concurrency: Some(stream.concurrency),
            rate: stream.rate.map(Rate::a_second),
            on_unknown: on_unknown(stream.on_unknown),
        },
        // A second copy is ignored, so there is nothing to hold.
        SinkConfig::Bullmq(bullmq) => GateOptions {
            concurrency: Some(bullmq.concurrency),
            rate: bullmq.rate.map(Rate::a_second),
            ..GateOptions::default()
        },
    };
    let step = sink(config, store, written).with_context(|| format!("sink `{name}`"))?;
    Ok(Gate::limited(name.as_str(), step, options))
}

fn on_unknown(name: OnUnknownName) -> OnUnknown {
    match name {
        OnUnknownName::Retry => OnUnknown::Retry,
        OnUnknownName::Hold => OnUnknown::Hold,
    }
}

fn sink(
    config: &Config,
    store: &Arc<dyn Store>,
    written: &SinkConfig,
) -> anyhow::Result<Arc<dyn Step>> {
    match written {
        SinkConfig::Http(http) => http_sink(config, http),
        SinkConfig::Exec(exec) => exec_sink(config, exec),
        SinkConfig::Sql(sql) => {
            Ok(Arc::new(SqlSink::limited(sql.statement.as_str(), sql.timeout.get())))
        }
        SinkConfig::Log(_) => Ok(Arc::new(LogSink::new(store.clone(), out::standard_output()))),
        #[cfg(feature = "nats")]
        SinkConfig::Nats(sink) => nats::sink(config, sink),
        #[cfg(not(feature = "nats"))]
        SinkConfig::Nats(_) => Err(anyhow!("this program was built without it")),
        #[cfg(feature = "sqs")]
        SinkConfig::Sqs(sink) => sqs::sink(config, sink),
        #[cfg(not(feature = "sqs"))]
        SinkConfig::Sqs(_) => Err(anyhow!("this program was built without it")),
        #[cfg(feature = "amqp")]
        SinkConfig::Amqp(sink) => amqp::sink(config, sink),
        #[cfg(not(feature = "amqp"))]
        SinkConfig::Amqp(_) => Err(anyhow!("this program was built without it")),
        SinkConfig::RedisStream(stream) => redis_sink::stream(config, stream),
        SinkConfig::Bullmq(bullmq) => redis_sink::bullmq(config, bullmq),
    }
}

fn exec_sink(config: &Config, exec: &ExecConfig) -> anyhow::Result<Arc<dyn Step>> {
    let options = ExecOptions {
        // An empty path would be no directory.
        directory: Path::new(".").join(&config.dir),
        timeout: exec.timeout.get(),
        path: config::search_path(),
        home: config::home(),
        ..ExecOptions::new(exec.command.iter())
    };
    Ok(Arc::new(ExecSink::new(options)?))
}

fn http_sink(config: &Config, http: &HttpConfig) -> anyhow::Result<Arc<dyn Step>> {
    let secret = http.secret.as_ref().map(|written| config.secret(written));
    let options = HttpOptions {
        timeout: http.timeout.get(),
        permanent: http.permanent.clone(),
        secret: secret.transpose().map_err(|error| anyhow!("`secret`: {error}"))?,
        sign_as: http.sign_as.map(|scheme| match scheme {
            SignAsName::Meta => SignAs::Meta,
        }),
        ..HttpOptions::new(&http.url)
    };
    Ok(Arc::new(HttpSink::new(options)?))
}
