//! The store: whether it is there, can be used, is kept from others, and has room; and whether it
//! takes every statement.

use std::os::unix::fs::PermissionsExt as _;

use hookonce::sink::sql::PARAMETERS;
use hookonce::store::Store;
use hookonce::store::sqlite::SqliteStore;

use super::Report;
use crate::config::{Config, SinkConfig};
use crate::wiring;

/// Opens the store and looks at it; `None` where there is none that can be used.
pub(super) async fn examine(config: &Config, report: &mut Report) -> Option<SqliteStore> {
    let path = config.store.display();
    if !config.store.exists() {
        let message = format!("there is no store `{path}` yet; `hookonce serve` creates it");
        report.warning("store", message);
        return None;
    }
    let store = match wiring::open_existing(config).await {
        Ok(store) => store,
        Err(error) => {
            report.wrong("store", format!("{error:#}"));
            return None;
        }
    };
    match store.facts().await {
        Ok(facts) => {
            let (version, mode) = (facts.version, facts.journal_mode);
            let message = format!("`{path}` has tables of version {version}, journal mode {mode}");
            report.fine("store", message);
            room(config, facts.free_disk, report);
        }
        Err(error) => report.wrong("store", format!("`{path}` can't be read: {error}")),
    }
    permissions(config, report);
    match store.ready().await {
        Ok(()) => report.fine("readiness", "events can be stored now"),
        Err(error) => report.wrong("readiness", error.to_string()),
    }
    Some(store)
}

/// Has the store prepare every statement.
pub(super) async fn statements(config: &Config, store: &dyn Store, report: &mut Report) {
    for (name, sink) in &config.sinks {
        let SinkConfig::Sql(sql) = sink else { continue };
        match store.check(&sql.statement, &PARAMETERS).await {
            Ok(()) => report.fine("statements", format!("the store takes that of sink `{name}`")),
            Err(error) => report.wrong(
                "statements",
                format!(
                    "the store refuses that of sink `{name}`: {error}; correct the statement, or \
                     create what it names"
                ),
            ),
        }
    }
}

fn room(config: &Config, free: Option<u64>, report: &mut Report) {
    let (check, least) = ("disk", config.server.min_free_disk.get());
    let Some(free) = free else {
        return report.warning(check, "the system doesn't tell how much of the disk is free");
    };
    let message = format!("{} MiB of the store's disk are free", free >> 20);
    let limit = format!("intake stops below {} MiB (`server.min_free_disk`)", least >> 20);
    if free < least {
        report.wrong(check, format!("{message}: {limit} and has stopped; free some space"));
    } else if free / 2 < least {
        report.warning(check, format!("{message}: {limit}; free some space soon"));
    } else {
        report.fine(check, message);
    }
}

/// Payloads are people's messages.
fn permissions(config: &Config, report: &mut Report) {
    let (check, path) = ("permissions", config.store.display());
    let mode = match std::fs::metadata(&config.store) {
        Ok(file) => file.permissions().mode() & 0o777,
        Err(error) => return report.wrong(check, format!("`{path}` can't be seen: {error}")),
    };
    let others = mode & 0o077;
    if others == 0 {
        return report.fine(check, format!("only its owner can get at `{path}`"));
    }
    report.warning(
        check,
        format!(
            "others than its owner can get at `{path}` (mode {mode:04o}), and it holds people's \
             messages; if they need not, `chmod 600 {path}`"
        ),
    );
}
