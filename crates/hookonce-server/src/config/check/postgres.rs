//! What is wrong with how a database is reached.

use super::super::document::Document;
use super::super::{Config, StoreConfig};

/// So many connections in a process are of use; a server has about a hundred for everybody.
const CONNECTIONS: std::ops::RangeInclusive<usize> = 4..=64;

/// Checks everything but the password.
pub(super) fn check(config: &Config, document: &mut Document) {
    let postgres = &config.postgres;
    if !CONNECTIONS.contains(&postgres.connections) {
        let (least, most) = (CONNECTIONS.start(), CONNECTIONS.end());
        let message = format!("write a number from {least} to {most}");
        document.problem("postgres.connections", message);
    }
    if let Some(url) = &postgres.listen_url {
        match StoreConfig::parse(url, &config.dir) {
            Ok(StoreConfig::Postgres(_)) => {}
            Ok(_) => {
                let message =
                    "only a PostgreSQL server notifies; write `postgres://…` or remove it";
                document.problem("postgres.listen_url", message);
            }
            Err(message) => document.problem("postgres.listen_url", message),
        }
    }
    let is_there = document.lines.find("postgres").is_some();
    if is_there && !matches!(config.store, StoreConfig::Postgres(_)) {
        let message =
            "it says how a `store` that is `postgres://…` is reached, and `store` is another";
        document.warn("postgres", message);
    }
}

/// Checks that the password is at hand.
pub(super) fn secrets(config: &Config, document: &mut Document) {
    if let Err(message) = config.postgres_password() {
        document.problem("postgres.password", message);
    }
}
