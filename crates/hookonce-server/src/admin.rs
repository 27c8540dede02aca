//! The admin listener: the API for people, programs and workers outside, `/metrics`, and the health
//! of the server.
//!
//! It is a listener of its own, so that what is for the public can't reach it, and it answers until
//! everything else has stopped.

mod api;
mod call;
mod claims;
mod events;
mod filter;
mod host;
mod metrics;
mod openapi;
mod problem;
mod router;
mod steer;
mod token;

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use hookonce::listener::{self, ListenerOptions};
use hookonce::route::{Route, RouteWorker};
use hookonce::store::Store;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet};

use crate::config::Config;
use crate::dashboard::{self, Live};
use host::Hosts;
use token::Tokens;

pub(crate) use api::calls;
pub(crate) use metrics::Metrics;
pub(crate) use openapi::{PROBLEMS, document};
pub(crate) use steer::write_down;
pub(crate) use token::Caller;

/// How long calls that run may take once everything else has stopped.
const GRACE: Duration = Duration::from_secs(1);

/// The admin listener, running.
#[derive(Debug)]
pub(crate) struct Admin {
    stop: watch::Sender<bool>,
    parts: JoinSet<()>,
}

/// Who may do what, by the configuration that is served.
#[derive(Debug)]
pub(crate) struct Access {
    /// Where the listener was told to be.
    listen: String,
    settings: RwLock<Arc<Settings>>,
}

/// What a configuration says of the admin listener.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) tokens: Tokens,
    hosts: Hosts,
    pub(crate) routes: Arc<[Route]>,
}

/// What its requests share.
#[derive(Debug, Clone)]
pub(crate) struct Shared {
    pub(crate) store: Arc<dyn Store>,
    access: Arc<Access>,
    metrics: Arc<Metrics>,
    pub(crate) live: Arc<Live>,
}

impl Admin {
    /// Serves the API on so many connections of a listener, and what `health` answers.
    pub(crate) fn start(
        (listener, connections): (TcpListener, usize),
        access: &Arc<Access>,
        store: &Arc<dyn Store>,
        metrics: Arc<Metrics>,
        health: axum::Router,
    ) -> Self {
        let (access, store) = (access.clone(), store.clone());
        let live = Arc::new(Live::new());
        let (metrics_kept, live_kept, looked_at) = (metrics.clone(), live.clone(), store.clone());
        let shared = Shared { store, access, metrics, live };
        let pages = dashboard::router(shared.clone());
        let router = router::router(shared, health.merge(pages));
        let limits = ListenerOptions { connections, grace: GRACE, ..ListenerOptions::default() };
        let (stop, mut stopped) = watch::channel(false);
        let until = async move {
            // An error means that nobody is left to tell: stop as well.
            let _ = stopped.wait_for(|stopped| *stopped).await;
        };
        let mut parts = JoinSet::new();
        parts.spawn(async move {
            tokio::select! {
                () = listener::serve(listener, router, limits, until) => {}
                () = metrics_kept.keep_up() => {}
                () = live_kept.keep_up(&*looked_at) => {}
            }
        });
        Self { stop, parts }
    }

    /// Returns when it has ended, which it doesn't by itself.
    pub(crate) async fn ended(&mut self) -> Option<Result<(), JoinError>> {
        self.parts.join_next().await
    }

    /// Stops it, once there is nothing left to ask about.
    pub(crate) async fn stop(mut self) {
        self.stop.send_replace(true);
        while self.parts.join_next().await.is_some() {}
    }
}

impl Access {
    /// Reads the configuration; `listen` is where the listener was told to be.
    pub(crate) fn new(listen: &str, config: &Config, routes: Arc<[Route]>) -> anyhow::Result<Self> {
        let settings = RwLock::new(Arc::new(Settings::new(listen, config, routes)?));
        Ok(Self { listen: listen.to_owned(), settings })
    }

    /// Reads another configuration.
    pub(crate) fn read(&self, config: &Config, routes: Arc<[Route]>) -> anyhow::Result<Settings> {
        Settings::new(&self.listen, config, routes)
    }

    /// Goes on by another configuration; requests that run are not disturbed.
    pub(crate) fn set(&self, settings: Settings) {
        *self.settings.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(settings);
    }
}

impl Settings {
    fn new(listen: &str, config: &Config, routes: Arc<[Route]>) -> anyhow::Result<Self> {
        let hosts = Hosts::new(listen, &config.admin.hosts);
        Ok(Self { tokens: Tokens::new(config)?, hosts, routes })
    }

    /// The route of this name, if it is left to workers outside.
    fn external(&self, name: &str) -> Option<&Route> {
        let is_external = |route: &&Route| route.worker == RouteWorker::External;
        self.routes.iter().filter(is_external).find(|route| *route.name == *name)
    }
}

impl Shared {
    pub(crate) fn settings(&self) -> Arc<Settings> {
        self.access.settings.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
