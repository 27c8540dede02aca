//! Takes a changed configuration over while the server runs.
//!
//! Sources, routes, sinks, retention, and who may call the admin API change; what the server is built
//! on (addresses, limits, the store) doesn't before the next start. A configuration that doesn't check changes nothing.
//! What is in the files of `[server.tls]` is followed by itself.

use std::sync::Arc;

use anyhow::bail;

use hookonce::gate::Gate;
use hookonce::janitor::Janitor;
use hookonce::receiver::Receiver;
use hookonce::route::Route;
use hookonce::sink::sql::PARAMETERS;
use hookonce::store::Store;
use hookonce::worker::Worker;

use crate::admin::Access;
use crate::config::{Config, Place, SinkConfig};
use crate::wiring::{self, Gates};

/// What takes another configuration over.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) receiver: Arc<Receiver>,
    pub(crate) worker: Arc<Worker>,
    pub(crate) janitor: Arc<Janitor>,
    /// Who may call the admin API.
    pub(crate) access: Arc<Access>,
    /// The sinks there are: one that stays as it is keeps its places, its pace and its breaker.
    pub(crate) gates: Gates,
    /// The configuration that is served.
    pub(crate) config: Config,
}

impl Parts {
    /// Reads the configuration anew and serves by it, or says why the old one stays.
    pub(crate) async fn reload(&mut self, place: &Place) {
        match self.try_reload(place).await {
            Ok(routes) => {
                tracing::info!(
                    sources = self.config.sources.len(),
                    routes,
                    sinks = self.config.sinks.len(),
                    "the configuration was reloaded"
                );
            }
            Err(error) => {
                tracing::error!("the configuration was not reloaded, the old one stays: {error:#}");
            }
        }
    }

    async fn try_reload(&mut self, place: &Place) -> anyhow::Result<usize> {
        let config = Config::load(place)?;
        // An editor that is writing leaves an empty file for a moment, which is a configuration too.
        if config.sources.is_empty() && !self.config.sources.is_empty() {
            bail!("there is no `[sources.NAME]` in it, so that nobody could send any more");
        }
        let sources = wiring::sources(&config)?;
        let (routes, gates) = wiring::routes(&config, &self.store, &self.gates)?;
        let settings = self.access.read(&config, routes.clone())?;
        self.check_statements(&config).await?;
        wiring::mirror(&*self.store, &config, &routes).await?;
        for warning in &config.warnings {
            tracing::warn!("{}", warning.display(place.file()));
        }
        for key in fixed(&self.config, &config) {
            tracing::warn!("`{key}` changed: it is taken over at the next start");
        }
        let n = routes.len();
        self.serve_by(sources, routes, wiring::retention(&config));
        self.access.set(settings);
        let is_kept = |name: &String, gate: &Arc<Gate>| {
            gates.get(name).is_some_and(|(_, kept)| Arc::ptr_eq(kept, gate))
        };
        for (_, (_, gate)) in self.gates.iter().filter(|(name, (_, gate))| !is_kept(name, gate)) {
            gate.retire();
        }
        self.gates = gates;
        self.config = config;
        Ok(n)
    }

    /// New tasks come last: whoever handles them knows their routes by then.
    fn serve_by(
        &self,
        sources: Vec<hookonce::receiver::Source>,
        routes: Arc<[Route]>,
        retention: hookonce::store::Retention,
    ) {
        self.janitor.set_plan(routes.clone(), retention);
        self.worker.set_routes(routes.clone());
        self.receiver.set_plan(sources, routes);
    }

    /// A statement that can't be prepared would fail for every event: at a start a person is looking,
    /// at a reload the old one still works.
    async fn check_statements(&self, config: &Config) -> anyhow::Result<()> {
        for (name, sink) in &config.sinks {
            let SinkConfig::Sql(sql) = sink else { continue };
            let checked = self.store.check(&sql.statement, &PARAMETERS).await;
            checked.map_err(|error| {
                wiring::not_done(&format!("cannot prepare `sinks.{name}.statement`"), &error)
            })?;
        }
        Ok(())
    }
}

/// The keys that differ and can't change while the server runs.
fn fixed(old: &Config, new: &Config) -> Vec<&'static str> {
    let keys = [
        ("store", old.store != new.store),
        ("[server]", old.server != new.server),
        ("[server.tls]", old.tls != new.tls),
        ("[worker]", old.worker != new.worker),
        ("[postgres]", old.postgres != new.postgres),
    ];
    keys.into_iter().filter(|(_, is_changed)| *is_changed).map(|(key, _)| key).collect()
}
