//! Where events are stored: one word that says in what, and where.

use std::fmt;
use std::path::{Path, PathBuf};

use hookonce::store::postgres::PostgresOptions;
use hookonce::store::redis::RedisOptions;

/// Where events are stored.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum StoreConfig {
    /// In a file.
    Sqlite(PathBuf),
    /// In the database at this address, which may hold a password: shown only by `Display`.
    Postgres(String),
    /// On the server or cluster at this address, which may hold a password as well.
    Redis(String),
}

impl StoreConfig {
    /// Reads what `store` says; a relative path starts from `dir`. What is wrong is told without what
    /// was written, which may hold a password.
    pub(crate) fn parse(written: &str, dir: &Path) -> Result<Self, String> {
        let written = written.trim();
        if is_postgres(written) {
            let options = PostgresOptions::new(written);
            return match options.check() {
                Ok(()) => Ok(Self::Postgres(written.to_owned())),
                Err(error) => Err(format!(
                    "{error}; write `postgres://USER@HOST:PORT/DATABASE`, with `%40` for an `@` in a \
                     password and so on"
                )),
            };
        }
        if is_redis(written) {
            return match RedisOptions::new(written).check() {
                Ok(()) => Ok(Self::Redis(written.to_owned())),
                Err(error) => Err(format!(
                    "{error}; write `redis://USER@HOST:PORT/0`, or `redis+cluster://HOST:PORT,HOST:PORT`"
                )),
            };
        }
        // What stands before the path may hold a password in a store of another kind: it isn't shown.
        let Some(path) = written.strip_prefix("sqlite:") else {
            return Err(
                "this is no store; write `sqlite:` and a path, `postgres://…` or `redis://…`"
                    .to_owned(),
            );
        };
        let path = path.strip_prefix("//").unwrap_or(path);
        match path {
            "" => Err("the path is missing; write it after `sqlite:`".to_owned()),
            ":memory:" => Err("events must outlive the server; name a file".to_owned()),
            path if path.contains('?') => {
                Err("parameters are not supported; name a file".to_owned())
            }
            path => Ok(Self::Sqlite(dir.join(path))),
        }
    }
}

/// Whether this is the address of a `PostgreSQL` database.
fn is_postgres(written: &str) -> bool {
    ["postgres://", "postgresql://"].iter().any(|scheme| written.starts_with(scheme))
}

/// Whether this is the address of a Redis server or cluster.
fn is_redis(written: &str) -> bool {
    ["redis:", "rediss:", "redis+cluster:", "rediss+cluster:"]
        .iter()
        .any(|scheme| written.starts_with(scheme))
}

/// For people: a path, or an address without its password and parameters.
impl fmt::Display for StoreConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = match self {
            Self::Sqlite(path) => return write!(f, "{}", path.display()),
            Self::Postgres(url) | Self::Redis(url) => url,
        };
        let (scheme, rest) = url.split_once("://").unwrap_or(("postgres", url));
        // The last one, should somebody have left one in the password as it is.
        let (user, place) = match rest.rsplit_once('@') {
            Some((who, place)) => (who.split(':').next(), place),
            None => (None, rest),
        };
        let place = place.split('?').next().unwrap_or_default();
        match user {
            Some(user) => write!(f, "{scheme}://{user}@{place}"),
            None => write!(f, "{scheme}://{place}"),
        }
    }
}

impl fmt::Debug for StoreConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_its_password() {
        for (url, shown) in [
            ("postgres://ops:hunter2@db:5432/hooks", "postgres://ops@db:5432/hooks"),
            ("postgres://ops:hun@ter2@db/hooks", "postgres://ops@db/hooks"),
            ("postgres://ops:hun/ter?2@db/hooks", "postgres://ops@db/hooks"),
            ("postgresql://db/hooks?password=hunter2", "postgresql://db/hooks"),
            ("postgres://ops@a,b/hooks?sslmode=require", "postgres://ops@a,b/hooks"),
        ] {
            assert_eq!(StoreConfig::Postgres(url.to_owned()).to_string(), shown);
        }
    }
}
