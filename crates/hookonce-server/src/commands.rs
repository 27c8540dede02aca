//! The commands beside `serve`: each reads the configuration and, where it needs to, opens the
//! store directly.

pub(crate) mod backup;
pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod copy;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod init;
pub(crate) mod list;
pub(crate) mod migrate;
pub(crate) mod prune;
pub(crate) mod show;
pub(crate) mod sign;
pub(crate) mod stats;
pub(crate) mod steer;
pub(crate) mod storm;
pub(crate) mod tail;

use hookonce::store::{AuditEntry, Store};
use serde_json::Value;

use crate::{config, wiring};

/// Writes down who does what, before it is done.
async fn audit(store: &dyn Store, action: &str, details: &Value) -> anyhow::Result<()> {
    let who = format!("cli:{}", config::user());
    let entry = AuditEntry { who, action: action.to_owned(), details: details.to_string() };
    let written = store.audit(&entry).await;
    written.map_err(|error| wiring::not_done("cannot write down who does this", &error))
}

/// Does `work` unless it is told to end before that is done, by Ctrl-C, SIGTERM or a terminal that goes;
/// `None` if it was.
async fn unless_interrupted<T>(work: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        done = work => Some(done),
        () = interrupted() => None,
    }
}

async fn interrupted() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
        // What can't be watched ends the process.
        if let [Ok(mut one), Ok(mut other), Ok(mut third)] = kinds.map(signal) {
            tokio::select! {
                _ = one.recv() => return,
                _ = other.recv() => return,
                _ = third.recv() => return,
            }
        }
    }
    #[cfg(not(unix))]
    if tokio::signal::ctrl_c().await.is_ok() {
        return;
    }
    std::future::pending::<()>().await;
}
