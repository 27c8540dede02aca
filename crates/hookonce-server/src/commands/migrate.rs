//! Brings the store's tables up to date, and makes them where there are none.

use anyhow::bail;
use hookonce::store::Migrated;
use hookonce::store::postgres::PostgresStore;
use hookonce::store::sqlite::SqliteStore;

use crate::config::{Config, Place, StoreConfig};
use crate::out::{self, Format};
use crate::wiring;

pub(crate) async fn run(place: &Place, format: Format) -> anyhow::Result<()> {
    let config = Config::load_for_store(place)?;
    let migrated = match &config.store {
        StoreConfig::Sqlite(path) => {
            wiring::must_have_directory(path)?;
            let (path, options) = (path.clone(), wiring::sqlite(&config));
            tokio::task::spawn_blocking(move || SqliteStore::migrate(&path, options)).await?
        }
        StoreConfig::Postgres(url) => {
            PostgresStore::migrate(&wiring::postgres(&config, url)?).await
        }
        StoreConfig::Redis(_) => bail!(
            "the store `{}` is on Redis, which has no tables: there is nothing to bring up to date",
            config.store
        ),
    };
    let what = format!("cannot bring the tables of `{}` up to date", config.store);
    let migrated = migrated.map_err(|error| wiring::not_done(&what, &error))?;
    if format == Format::Json {
        return out::json(&migrated);
    }
    let Migrated { from, to, grants } = migrated;
    let said = match from {
        0 => format!("made the tables of `{}`, version {to}", config.store),
        from if from == to => {
            format!("the tables of `{}` are up to date: version {to}", config.store)
        }
        from => format!("brought the tables of `{}` from version {from} to {to}", config.store),
    };
    out::text(&said)?;
    if let Some(grants) = grants {
        out::remark(
            "Workers in other languages can't call the SQL functions yet: this user may not make the \
             role `hookonce_worker`. If you want such workers, have one who may run this:",
        );
        out::text(grants)?;
    }
    Ok(())
}
