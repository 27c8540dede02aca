//! Makes connections: asks the hosts of an address, the one that answered last first.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio_postgres::config::SslMode;
use tokio_postgres::error::SqlState;
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{CancelToken, Client, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::PostgresOptions;
use super::address::{Address, At};
use super::error::{Failed, explained};
use super::tls::{self, Mode};
use crate::store::StoreError;

/// What moves the bytes of a connection.
pub(super) type Driver =
    tokio_postgres::Connection<Socket, <MakeRustlsConnect as MakeTlsConnect<Socket>>::Stream>;

/// Makes connections to one database.
pub(super) struct Connector {
    address: Address,
    tls: MakeRustlsConnect,
    last: AtomicUsize,
}

impl Connector {
    pub(super) fn new(url: &str, options: &PostgresOptions) -> Result<Self, StoreError> {
        let address = Address::read(url, options)?;
        let tls = address.tls.make()?;
        Ok(Self { address, tls, last: AtomicUsize::new(0) })
    }

    /// How long connecting may take.
    pub(super) fn limit(&self) -> Duration {
        self.address.limit()
    }

    /// Connects to the first host that lets us in.
    pub(super) async fn connect(&self) -> Result<(Client, Driver), Failed> {
        let hosts = &self.address.hosts;
        let first = self.last.load(Ordering::Relaxed);
        let mut reasons = Vec::new();
        for at in (0..hosts.len()).map(|n| (first + n) % hosts.len()) {
            let host = &hosts[at];
            match tokio::time::timeout(host.limit, self.connect_to(host)).await {
                Ok(Ok(connection)) => {
                    self.last.store(at, Ordering::Relaxed);
                    return Ok(connection);
                }
                // Its code says whether it helps to try again.
                Ok(Err(error)) if error.code().is_some() && hosts.len() == 1 => {
                    return Err(Failed::Database(error));
                }
                Ok(Err(error)) => reasons.push(format!("`{}`: {}", host.name, explained(&error))),
                Err(_) => reasons.push(format!(
                    "`{}`: no answer within {:.1} s",
                    host.name,
                    host.limit.as_secs_f64()
                )),
            }
        }
        Err(Failed::Unreached(reasons.join("; ")))
    }

    /// Asks the server to give up what a connection is doing.
    pub(super) async fn cancel(&self, token: &CancelToken) {
        // It may be too late, or the server be gone: then there is nothing to give up.
        let _ = tokio::time::timeout(self.limit(), token.cancel_query(self.tls.clone())).await;
    }

    async fn connect_to(&self, host: &At) -> Result<(Client, Driver), tokio_postgres::Error> {
        match host.config.connect(self.tls.clone()).await {
            // As libpq does: encryption that fails is no reason to stay away.
            Err(error) if self.address.tls.mode == Mode::Prefer && is_of_encryption(&error) => {
                let mut plain = host.config.clone();
                plain.ssl_mode(SslMode::Disable).connect(self.tls.clone()).await
            }
            connected => connected,
        }
    }
}

/// Whether it might be otherwise without encryption: the server may let somebody in only so.
fn is_of_encryption(error: &tokio_postgres::Error) -> bool {
    let is_kept_out = error.code() == Some(&SqlState::INVALID_AUTHORIZATION_SPECIFICATION);
    is_kept_out || tls::cause(error).is_some()
}
