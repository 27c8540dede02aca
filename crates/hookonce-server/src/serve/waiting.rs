//! Waits for a store that can't be reached yet: the server may be started before its database.
//!
//! Meanwhile senders are answered 503, so that they come again, and readiness is red. A store that
//! refuses this program, by a wrong password or a version it doesn't know, is not waited for: only a
//! person can mend that.

use std::net;
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::time::Duration;

use axum::http::{StatusCode, header};
use axum::routing::get;
use hookonce::listener::{self, ListenerOptions};
use hookonce::store::{Store, StoreError};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::{Doors, until_told};
use crate::config::{Config, StoreConfig};
use crate::wiring;

/// How long to wait before trying again.
const PAUSE: Duration = Duration::from_secs(1);
/// When senders are told to come again, in seconds.
const RETRY_AFTER: &str = "5";

/// A store, and whether it had to be waited for.
pub(super) struct Opened {
    pub(super) store: Arc<dyn Store>,
    pub(super) has_waited: bool,
}

/// Opens the store. If it has to be waited for, `say` is told so, and who comes to the listeners is
/// turned away.
pub(super) async fn open(
    config: &Config,
    doors: &Doors,
    say: impl FnOnce() -> anyhow::Result<()>,
) -> anyhow::Result<Opened> {
    let mut why = match try_open(config).await? {
        Ok(store) => return Ok(Opened { store, has_waited: false }),
        Err(why) => why,
    };
    let closed = Closed::start(doors)?;
    say()?;
    tracing::warn!("waiting for the store `{}`: {why}", config.store);
    loop {
        tokio::time::sleep(PAUSE).await;
        match try_open(config).await? {
            Ok(store) => {
                closed.stop().await;
                tracing::info!("the store `{}` is open", config.store);
                return Ok(Opened { store, has_waited: true });
            }
            // Said again only when it is something else.
            Err(now) if now.to_string() != why.to_string() => {
                tracing::warn!("still waiting for the store `{}`: {now}", config.store);
                why = now;
            }
            Err(_) => {}
        }
    }
}

/// Tries once; within, why it is worth another try.
async fn try_open(config: &Config) -> anyhow::Result<Result<Arc<dyn Store>, StoreError>> {
    match wiring::try_open(config).await? {
        Err(error) if !may_pass(config, &error) => Err(wiring::not_opened(&config.store, &error)),
        opened => Ok(opened),
    }
}

/// Whether somebody else may come to run what is missing.
fn may_pass(config: &Config, error: &StoreError) -> bool {
    let is_elsewhere = matches!(config.store, StoreConfig::Postgres(_) | StoreConfig::Redis(_));
    is_elsewhere && matches!(error, StoreError::Unavailable { .. })
}

/// What stands at the listeners until there is a store.
struct Closed {
    stop: watch::Sender<bool>,
    running: JoinSet<()>,
}

impl Closed {
    fn start(doors: &Doors) -> anyhow::Result<Self> {
        let (stop, stopped) = watch::channel(false);
        let mut running = JoinSet::new();
        if let Some(certificates) = &doors.certificates {
            running.spawn(certificates.clone().follow(stopped.clone()));
        }
        let tls = doors.certificates.as_ref().map(|certificates| certificates.tls());
        for (listener, tls) in [(&doors.webhooks, tls), (&doors.admin, None)] {
            // Of the same socket, so that nobody who comes while they change is lost.
            let same = net::TcpListener::from(listener.as_fd().try_clone_to_owned()?);
            let same = TcpListener::from_std(same)?;
            let until = until_told(stopped.clone());
            let options = ListenerOptions { grace: PAUSE, tls, ..ListenerOptions::default() };
            running.spawn(async move { listener::serve(same, router(), options, until).await });
        }
        Ok(Self { stop, running })
    }

    async fn stop(mut self) {
        self.stop.send_replace(true);
        while self.running.join_next().await.is_some() {}
    }
}

fn router() -> axum::Router {
    let not_ready = async || {
        let why = "not ready: the store can't be reached yet; the log says why\n";
        (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, RETRY_AFTER)], why)
    };
    axum::Router::new().route("/healthz", get(async || "ok\n")).fallback(not_ready)
}
