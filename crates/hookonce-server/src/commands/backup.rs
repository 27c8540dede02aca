//! Copies the store to a new file while it is in use.

use anyhow::bail;
use serde_json::json;

use crate::cli::BackupOptions;
use crate::config::{Config, Place, StoreConfig};
use crate::out::{self, Format};
use crate::wiring;

pub(crate) async fn run(
    place: &Place,
    options: &BackupOptions,
    format: Format,
) -> anyhow::Result<()> {
    let config = Config::load_for_store(place)?;
    let to = options.file.clone();
    if to.to_str().is_none() {
        bail!(
            "`{}` is not UTF-8, and the store can't write to a file of such a name; name another",
            to.display()
        );
    }
    let from = match &config.store {
        StoreConfig::Sqlite(path) => path,
        StoreConfig::Redis(_) => bail!(
            "the store `{}` is on Redis, whose own tools copy it while it is in use: `redis-cli --rdb \
             {}`, or its append-only file",
            config.store,
            to.display()
        ),
        StoreConfig::Postgres(_) => bail!(
            "the store `{store}` is in PostgreSQL, whose own tools copy it while it is in use: \
             `pg_dump --format=custom --file={file} DATABASE`, or a base backup with its WAL",
            store = config.store,
            file = to.display()
        ),
    };
    let store = wiring::open_existing_sqlite(&config, from).await?;
    if to.exists() {
        bail!("`{}` is there already; name a new file", to.display());
    }
    let copied = tokio::task::spawn_blocking(move || store.backup(&to)).await?;
    let shown = options.file.display();
    let what = format!("cannot copy the store to `{shown}`");
    copied.map_err(|error| wiring::not_done(&what, &error))?;
    if format == Format::Json {
        return out::json(&json!({ "file": shown.to_string() }));
    }
    out::text(&format!("copied `{}` to `{shown}`", config.store))
}
