//! What is wrong with how a Redis server is reached, and with what it can't do.

use super::super::document::Document;
use super::super::{Config, SinkConfig, StoreConfig};

/// Checks everything but the password.
pub(super) fn check(config: &Config, document: &mut Document) {
    let is_redis = matches!(config.store, StoreConfig::Redis(_));
    if !is_redis && document.lines.find("redis").is_some() {
        let message =
            "it says how a `store` that is `redis://…` is reached, and `store` is another";
        document.warn("redis", message);
    }
    for (name, sink) in &config.sinks {
        if is_redis && matches!(sink, SinkConfig::Sql(_)) {
            let message = "a `sql` sink needs a store that speaks SQL, and `store` is Redis: use \
                           `sqlite:PATH` or `postgres://…`, or another sink";
            document.problem(&format!("sinks.{name}.type"), message);
        }
    }
}

/// Checks that the password is at hand.
pub(super) fn secrets(config: &Config, document: &mut Document) {
    if let Err(message) = config.redis_password() {
        document.problem("redis.password", message);
    }
}
