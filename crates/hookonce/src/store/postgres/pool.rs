//! Connections: a few for everything, one for leases alone, so that a claim is kept however busy the
//! others are.

use std::time::Duration;

use deadpool_postgres::{
    Manager, ManagerConfig, Object, PoolConfig, RecyclingMethod, Runtime, Timeouts,
};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Config, Row};

use super::PostgresOptions;
use super::error::Failed;
use crate::store::StoreError;

/// How long a connection is waited for.
const WAIT: Duration = Duration::from_secs(2);

/// A parameter with its type: without named statements, the server has to be told.
pub(super) type Typed<'a> = (&'a (dyn ToSql + Sync), Type);

/// The connections to the database.
pub(super) struct Pool {
    all: deadpool_postgres::Pool,
    leases: deadpool_postgres::Pool,
}

impl Pool {
    pub(super) fn new(options: &PostgresOptions) -> Result<Self, StoreError> {
        let config = config(&options.url)?;
        Ok(Self { all: pool(&config, options.connections.max(2))?, leases: pool(&config, 1)? })
    }

    /// A connection for anything.
    pub(super) async fn get(&self) -> Result<Object, Failed> {
        get(&self.all).await
    }

    /// The connection for leases.
    pub(super) async fn for_leases(&self) -> Result<Object, Failed> {
        get(&self.leases).await
    }

    /// Runs one statement in a transaction of its own.
    pub(super) async fn query(
        &self,
        sql: &str,
        parameters: &[Typed<'_>],
    ) -> Result<Vec<Row>, Failed> {
        Ok(self.get().await?.query_typed(sql, parameters).await?)
    }
}

/// Reads the database's address.
pub(super) fn config(url: &str) -> Result<Config, StoreError> {
    let mut config: Config = url.parse().map_err(|error: tokio_postgres::Error| {
        // The error doesn't repeat the address, which may hold a password.
        StoreError::unavailable(format!("the address of the database can't be read: {error}"))
    })?;
    config.application_name("hookonce").connect_timeout(WAIT).keepalives(true);
    Ok(config)
}

fn pool(config: &Config, size: usize) -> Result<deadpool_postgres::Pool, StoreError> {
    let manager = ManagerConfig { recycling_method: RecyclingMethod::Fast };
    let manager = Manager::from_config(config.clone(), tokio_postgres::NoTls, manager);
    let timeouts = Timeouts { wait: Some(WAIT), create: Some(WAIT), recycle: Some(WAIT) };
    deadpool_postgres::Pool::builder(manager)
        .config(PoolConfig { max_size: size, timeouts, ..PoolConfig::default() })
        .runtime(Runtime::Tokio1)
        .build()
        .map_err(|error| StoreError::unavailable(format!("no connections can be made: {error}")))
}

async fn get(pool: &deadpool_postgres::Pool) -> Result<Object, Failed> {
    pool.get().await.map_err(|error| match error {
        deadpool_postgres::PoolError::Backend(error) if error.code().is_some() => {
            Failed::Database(error)
        }
        error => Failed::NoConnection(error.to_string()),
    })
}
