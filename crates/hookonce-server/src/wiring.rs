//! Makes what the library needs out of the configuration: sources, routes and their sinks.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use hookonce::receiver::Source;
use hookonce::retry::RetryPolicy;
use hookonce::route::{Order, Route};
use hookonce::scheme::meta::Meta;
use hookonce::scheme::{Proof, Scheme};
use hookonce::sink::http::{HttpOptions, HttpSink, SignAs};
use hookonce::sink::log::LogSink;
use hookonce::sink::sql::SqlSink;
use hookonce::step::Step;
use hookonce::store::sqlite::{SqliteOptions, SqliteStore};
use hookonce::store::{Clock, MirrorRoute, MirrorSource, Retention, Store, StoreError};
use hookonce::task::DeadLane;

use crate::config::{
    Config, HttpConfig, OnDead, OrderName, RouteConfig, SchemeName, SinkConfig, SourceConfig,
};
use crate::out;

/// Opens the store, and creates it where there is none.
pub(crate) async fn open(config: &Config) -> anyhow::Result<SqliteStore> {
    open_by(config, SqliteStore::open).await
}

async fn open_by(
    config: &Config,
    open: fn(&Path, SqliteOptions) -> Result<SqliteStore, StoreError>,
) -> anyhow::Result<SqliteStore> {
    let path = config.store.clone();
    let directory = path.parent().filter(|dir| !dir.as_os_str().is_empty());
    if let Some(missing) = directory.filter(|dir| !dir.is_dir()) {
        return Err(anyhow!(
            "cannot open the store `{}`: there is no directory `{}`; create it",
            path.display(),
            missing.display()
        ));
    }
    let options =
        SqliteOptions { clock: Clock::system(), min_free_disk: config.server.min_free_disk.get() };
    let shown = path.display().to_string();
    let opened = tokio::task::spawn_blocking(move || open(&path, options)).await?;
    opened.map_err(|error| not_done(&format!("cannot open the store `{shown}`"), &error))
}

/// Opens the store for a look at it; it must be there, and a file that is none stays as it is.
pub(crate) async fn open_existing(config: &Config) -> anyhow::Result<SqliteStore> {
    if !config.store.is_file() {
        return Err(anyhow!(
            "there is no store `{}` yet; `hookonce serve` creates it",
            config.store.display()
        ));
    }
    open_by(config, SqliteStore::open_existing).await
}

/// Makes every source.
pub(crate) fn sources(config: &Config) -> anyhow::Result<Vec<Source>> {
    let source = |(name, source): (&String, &SourceConfig)| {
        Ok(Source {
            name: name.as_str().into(),
            scope: scope(name, source),
            scheme: scheme(config, name, source)?,
        })
    };
    config.sources.iter().map(source).collect()
}

/// Makes the scheme of a source.
pub(crate) fn scheme(
    config: &Config,
    name: &str,
    source: &SourceConfig,
) -> anyhow::Result<Arc<dyn Scheme>> {
    let secret = |written: &String| {
        config.secret(written).map_err(|error| anyhow!("source `{name}`: {error}"))
    };
    let proof = if source.unverified {
        Proof::Unverified
    } else {
        Proof::Secrets(source.secrets.iter().map(secret).collect::<Result<_, _>>()?)
    };
    let verify_token = source.verify_token.as_ref().map(secret).transpose()?;
    match source.scheme {
        SchemeName::Meta => Ok(Arc::new(Meta::new(proof, verify_token))),
    }
}

/// Makes every route with its sinks; a sink that several routes name is one sink.
pub(crate) fn routes(config: &Config, store: &Arc<dyn Store>) -> anyhow::Result<Arc<[Route]>> {
    let mut sinks = std::collections::BTreeMap::new();
    for (name, written) in &config.sinks {
        sinks.insert(name, sink(config, store, written).with_context(|| format!("sink `{name}`"))?);
    }
    let with_steps = |written: &RouteConfig| {
        let step = |name: &String| {
            let sink = sinks.get(name).ok_or_else(|| anyhow!("there is no sink `{name}`"))?;
            Ok((Arc::from(name.as_str()), sink.clone()))
        };
        let steps = written.steps.iter().map(step).collect::<anyhow::Result<_>>()?;
        Ok(Route { steps, ..route(written) })
    };
    config.routes.iter().map(with_steps).collect()
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
            on_dead: match written.on_dead {
                OnDead::Pass => DeadLane::Pass,
                OnDead::Hold => DeadLane::Hold,
            },
        },
        ..Route::new(written.name.as_str())
    }
}

/// How long things are kept.
pub(crate) fn retention(config: &Config) -> Retention {
    Retention {
        payload: config.retention.payload.get(),
        key: config.retention.key.get(),
        dead: config.retention.dead.get(),
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
        external: false,
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

fn sink(
    config: &Config,
    store: &Arc<dyn Store>,
    written: &SinkConfig,
) -> anyhow::Result<Arc<dyn Step>> {
    match written {
        SinkConfig::Http(http) => http_sink(config, http),
        SinkConfig::Sql(sql) => Ok(Arc::new(SqlSink::new(sql.statement.as_str()))),
        SinkConfig::Log(_) => Ok(Arc::new(LogSink::new(store.clone(), out::standard_output()))),
    }
}

fn http_sink(config: &Config, http: &HttpConfig) -> anyhow::Result<Arc<dyn Step>> {
    let secret = http.secret.as_ref().map(|written| config.secret(written));
    let options = HttpOptions {
        timeout: http.timeout.get(),
        concurrency: http.concurrency,
        permanent: http.permanent.clone(),
        secret: secret.transpose().map_err(|error| anyhow!("`secret`: {error}"))?,
        sign_as: http.sign_as.map(|scheme| match scheme {
            SchemeName::Meta => SignAs::Meta,
        }),
        ..HttpOptions::new(&http.url)
    };
    Ok(Arc::new(HttpSink::new(options)?))
}
