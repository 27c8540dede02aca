//! A store in a file: whether it is kept from others and has room.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use hookonce::store::sqlite::SqliteStore;

use super::Report;
use crate::config::Config;
use crate::wiring;

/// Opens the store and looks at its file; `None` where there is none that can be used.
pub(super) async fn examine(
    config: &Config,
    path: &Path,
    report: &mut Report,
) -> Option<SqliteStore> {
    let shown = path.display();
    if !path.exists() {
        let message = format!("there is no store `{shown}` yet; `hookonce serve` creates it");
        report.warning("store", message);
        return None;
    }
    let store = match wiring::open_existing_sqlite(config, path).await {
        Ok(store) => store,
        Err(error) => {
            report.wrong("store", format!("{error:#}"));
            return None;
        }
    };
    match store.facts().await {
        Ok(facts) => {
            let (version, mode) = (facts.version, facts.journal_mode);
            let message = format!("`{shown}` has tables of version {version}, journal mode {mode}");
            report.fine("store", message);
            room(config, facts.free_disk, report);
        }
        Err(error) => report.wrong("store", format!("`{shown}` can't be read: {error}")),
    }
    permissions(path, report);
    Some(store)
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
fn permissions(file: &Path, report: &mut Report) {
    let (check, path) = ("permissions", file.display());
    let mode = match std::fs::metadata(file) {
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
