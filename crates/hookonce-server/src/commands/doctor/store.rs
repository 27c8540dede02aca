//! The store: whether it is there and can be used, and whether it takes every statement.

use std::sync::Arc;

use hookonce::sink::sql::PARAMETERS;
use hookonce::store::Store;

use super::{Report, postgres, redis, sqlite};
use crate::config::{Config, SinkConfig, StoreConfig};

/// Opens the store and looks at it; `None` where there is none that can be used.
pub(super) async fn examine(config: &Config, report: &mut Report) -> Option<Arc<dyn Store>> {
    let store: Arc<dyn Store> = match &config.store {
        StoreConfig::Sqlite(path) => Arc::new(sqlite::examine(config, path, report).await?),
        StoreConfig::Postgres(url) => Arc::new(postgres::examine(config, url, report).await?),
        StoreConfig::Redis(url) => Arc::new(redis::examine(config, url, report).await?),
    };
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
