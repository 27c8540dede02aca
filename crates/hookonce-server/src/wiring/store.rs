//! Opens the store that the configuration names.

use std::path::Path;
use std::sync::Arc;

use anyhow::anyhow;
use hookonce::store::postgres::{PostgresOptions, PostgresStore};
use hookonce::store::redis::{RedisOptions, RedisStore};
use hookonce::store::sqlite::{SqliteOptions, SqliteStore};
use hookonce::store::{Clock, Store, StoreError};

use crate::config::{self, Config, StoreConfig};

/// Opens the store, and makes it where there is none.
pub(crate) async fn open(config: &Config) -> anyhow::Result<Arc<dyn Store>> {
    try_open(config).await?.map_err(|error| not_opened(&config.store, &error))
}

/// As [`open`]; within, what the store itself has to say, which may pass by itself.
pub(crate) async fn try_open(
    config: &Config,
) -> anyhow::Result<Result<Arc<dyn Store>, StoreError>> {
    match &config.store {
        StoreConfig::Sqlite(path) => Ok(open_sqlite(config, path, SqliteStore::open)
            .await?
            .map(|store| Arc::new(store) as Arc<dyn Store>)),
        StoreConfig::Postgres(url) => Ok(PostgresStore::open(postgres(config, url)?)
            .await
            .map(|store| Arc::new(store) as Arc<dyn Store>)),
        StoreConfig::Redis(url) => Ok(RedisStore::open(redis(config, url)?)
            .await
            .map(|store| Arc::new(store) as Arc<dyn Store>)),
    }
}

/// Opens the store for a look at it; it must be there, and what is none stays as it is.
pub(crate) async fn open_existing(config: &Config) -> anyhow::Result<Arc<dyn Store>> {
    match &config.store {
        StoreConfig::Sqlite(path) => Ok(Arc::new(open_existing_sqlite(config, path).await?)),
        StoreConfig::Postgres(url) => Ok(Arc::new(open_existing_postgres(config, url).await?)),
        StoreConfig::Redis(url) => Ok(Arc::new(open_redis(config, url).await?)),
    }
}

/// Opens the store in a file, for what only such a store can do.
pub(crate) async fn open_existing_sqlite(
    config: &Config,
    path: &Path,
) -> anyhow::Result<SqliteStore> {
    must_be_there(path)?;
    let opened = open_sqlite(config, path, SqliteStore::open_existing).await?;
    opened.map_err(|error| not_opened(&config.store, &error))
}

/// Opens the store in a database, for what only such a store can do.
pub(crate) async fn open_existing_postgres(
    config: &Config,
    url: &str,
) -> anyhow::Result<PostgresStore> {
    let opened = PostgresStore::open_existing(postgres(config, url)?).await;
    opened.map_err(|error| not_opened(&config.store, &error))
}

/// Opens the store on a Redis server, for what only such a store can do; where nothing is stored yet,
/// there is nothing to make.
pub(crate) async fn open_redis(config: &Config, url: &str) -> anyhow::Result<RedisStore> {
    // Nothing is acked by whoever looks: a replica that is away keeps nobody from looking.
    let options = RedisOptions { wait_replicas: 0, ..redis(config, url)? };
    let opened = RedisStore::open(options).await;
    opened.map_err(|error| not_opened(&config.store, &error))
}

/// Fails where there is no file of this name.
pub(crate) fn must_be_there(path: &Path) -> anyhow::Result<()> {
    let shown = path.display();
    if path.exists() && !path.is_file() {
        return Err(anyhow!("the store `{shown}` is no file; correct `store`"));
    }
    if !path.is_file() {
        return Err(anyhow!("there is no store `{shown}` yet; `hookonce serve` creates it"));
    }
    Ok(())
}

/// How a database is reached: what the configuration says, and where its password may be.
pub(crate) fn postgres(config: &Config, url: &str) -> anyhow::Result<PostgresOptions> {
    let password = config.postgres_password();
    let password = password.map_err(|error| anyhow!("`postgres.password`: {error}"))?;
    Ok(PostgresOptions {
        password: password.map(|password| password.expose().to_owned()),
        passfile: config::postgres_passwords(),
        connections: config.postgres.connections,
        listen_url: config.postgres.listen_url.clone(),
        ..PostgresOptions::new(url)
    })
}

/// How a Redis server is reached: what the configuration says, and where its password is.
fn redis(config: &Config, url: &str) -> anyhow::Result<RedisOptions> {
    let password = config.redis_password();
    let password = password.map_err(|error| anyhow!("`redis.password`: {error}"))?;
    Ok(RedisOptions {
        password: password.map(|password| password.expose().to_owned()),
        wait_replicas: config.redis.wait_replicas,
        ..RedisOptions::new(url)
    })
}

/// How a file is opened.
pub(crate) fn sqlite(config: &Config) -> SqliteOptions {
    SqliteOptions { clock: Clock::system(), min_free_disk: config.server.min_free_disk.get() }
}

/// Fails where the directory of a file is missing, which an engine would tell less clearly.
pub(crate) fn must_have_directory(path: &Path) -> anyhow::Result<()> {
    let directory = path.parent().filter(|dir| !dir.as_os_str().is_empty());
    if let Some(missing) = directory.filter(|dir| !dir.is_dir()) {
        return Err(anyhow!(
            "cannot open the store `{}`: there is no directory `{}`; create it",
            path.display(),
            missing.display()
        ));
    }
    Ok(())
}

async fn open_sqlite(
    config: &Config,
    path: &Path,
    open: fn(&Path, SqliteOptions) -> Result<SqliteStore, StoreError>,
) -> anyhow::Result<Result<SqliteStore, StoreError>> {
    must_have_directory(path)?;
    let (path, options) = (path.to_owned(), sqlite(config));
    Ok(tokio::task::spawn_blocking(move || open(&path, options)).await?)
}

/// What a store that could not be opened says.
pub(crate) fn not_opened(store: &StoreConfig, why: &StoreError) -> anyhow::Error {
    super::not_done(&format!("cannot open the store `{store}`"), why)
}
