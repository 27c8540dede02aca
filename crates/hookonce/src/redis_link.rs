//! A connection to one Redis that is there again by itself: opened from a URL, shared by all who ask,
//! opened anew once it has broken.
//!
//! It follows no redirection of a cluster, repeats no command, and doesn't know what a command is for.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{
    AsyncConnectionConfig, Client, Cmd, IntoConnectionInfo as _, ProtocolVersion, RedisError,
    TlsCertificates, Value,
};
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::scheme::Secret;

/// The longest that reaching the server may take, with TLS and the password.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Where a Redis is, and as whom we come.
#[derive(Clone)]
pub struct RedisOptions {
    /// `redis://[USER[:PASSWORD]@]HOST[:PORT][/DATABASE]`, or `rediss://…` for TLS.
    pub url: String,
    /// The password, where the URL has none.
    pub password: Option<Secret>,
    /// Authorities that are trusted in place of the system's, in PEM.
    pub ca: Option<Vec<u8>>,
}

impl RedisOptions {
    /// With everything but the URL as it is by default.
    pub fn new(url: impl Into<String>) -> Self {
        Self { url: url.into(), password: None, ca: None }
    }
}

impl fmt::Debug for RedisOptions {
    /// Shows nothing of the URL, which may have a password in it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisOptions").field("ca", &self.ca.is_some()).finish_non_exhaustive()
    }
}

/// Why no connection can be made of options. Each says what to change.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RedisOptionsError {
    /// The URL can't be read; it isn't repeated, because there may be a password in it.
    #[error(
        "`url` is no address of a Redis; write `redis://HOST:PORT` or `rediss://HOST:PORT` for TLS, \
         with `USER@` before and `/DATABASE` behind it if need be"
    )]
    Url,
    /// There are two passwords.
    #[error("the password is in `url` and in `password`; remove it from `url`")]
    TwoPasswords,
    /// An authority for a connection that isn't encrypted.
    #[error("`ca` is for TLS: write `rediss://…` in `url`, or remove it")]
    NoTls,
    /// There is no certificate in what should have some.
    #[error("`ca` has no certificate in PEM")]
    Ca,
}

/// Why a command has no answer to show.
#[derive(Debug)]
pub(crate) enum RedisTrouble {
    /// The server can't be reached; the command was not sent.
    Away(String),
    /// The command was sent, and the answer did not come.
    Unanswered(String),
    /// The server refused the command: its word for it, and the whole.
    Refused(String, String),
}

/// The connection.
pub(crate) struct RedisLink {
    client: Client,
    place: String,
    open: Mutex<Option<Open>>,
}

/// A connection, and whether it has broken.
#[derive(Clone)]
struct Open {
    connection: MultiplexedConnection,
    broken: Arc<AtomicBool>,
}

impl RedisLink {
    /// Reads the options. Nothing is connected before the first command.
    pub(crate) fn new(options: RedisOptions) -> Result<Self, RedisOptionsError> {
        let url = redis::parse_redis_url(&options.url)
            .filter(|url| matches!(url.scheme(), "redis" | "rediss"))
            .filter(|url| url.has_host() && url.query().is_none() && url.fragment().is_none())
            .ok_or(RedisOptionsError::Url)?;
        if options.password.is_some() && url.password().is_some() {
            return Err(RedisOptionsError::TwoPasswords);
        }
        let has_tls = url.scheme() == "rediss";
        let info = url.into_connection_info().map_err(|_| RedisOptionsError::Url)?;
        // The newer protocol, by which a broken connection is told of before anything is sent.
        let mut settings = info.redis_settings().clone().set_protocol(ProtocolVersion::RESP3);
        if let Some(password) = &options.password {
            settings = settings.set_password(password.expose());
        }
        let info = info.set_redis_settings(settings.set_skip_set_lib_name());
        let place = info.addr().to_string();
        let client = match (has_tls, options.ca) {
            (true, ca) => encrypted(info, ca)?,
            (false, Some(_)) => return Err(RedisOptionsError::NoTls),
            (false, None) => Client::open(info).map_err(|_| RedisOptionsError::Url)?,
        };
        Ok(Self { client, place, open: Mutex::new(None) })
    }

    /// Sends a command, on a new connection where there is none that works, and waits for its answer
    /// as long as `timeout`.
    pub(crate) async fn ask(
        &self,
        command: &Cmd,
        timeout: Duration,
    ) -> Result<Value, RedisTrouble> {
        let until = Instant::now() + timeout;
        let connecting = CONNECT_TIMEOUT.min(timeout / 2);
        let mut open = match tokio::time::timeout(connecting, self.opened()).await {
            Ok(Ok(open)) => open,
            Ok(Err(error)) => return Err(RedisTrouble::Away(format!("can't connect: {error}"))),
            Err(_) => return Err(RedisTrouble::Away("no connection in time".to_owned())),
        };
        let asked = tokio::time::timeout_at(until, command.query_async(&mut open.connection)).await;
        let Ok(answer) = asked else {
            // Nobody else should wait on it for an answer.
            open.broken.store(true, Ordering::Relaxed);
            return Err(RedisTrouble::Unanswered(format!("no answer within {timeout:?}")));
        };
        answer.map_err(|error: RedisError| {
            if let Some(code) = error.code() {
                let detail = error.detail().unwrap_or_default();
                // After the first the server hangs up, which is heard of later; one that takes no writes
                // any more may not be the one that the address leads to now.
                let elsewhere = matches!(code, "READONLY" | "MASTERDOWN" | "LOADING");
                if detail.starts_with("Protocol error") || elsewhere {
                    open.broken.store(true, Ordering::Relaxed);
                }
                let text = format!("Redis refuses: {code} {detail}");
                return RedisTrouble::Refused(code.to_owned(), text);
            }
            open.broken.store(true, Ordering::Relaxed);
            RedisTrouble::Unanswered(format!("the connection broke before an answer came: {error}"))
        })
    }

    /// The connection that is open, or a new one. Whoever comes while one is being opened waits for
    /// it.
    async fn opened(&self) -> Result<Open, RedisError> {
        let mut open = self.open.lock().await;
        if let Some(open) = open.as_ref().filter(|open| !open.broken.load(Ordering::Relaxed)) {
            return Ok(open.clone());
        }
        *open = None;
        let broken = Arc::new(AtomicBool::new(false));
        let told = broken.clone();
        let config = AsyncConnectionConfig::new()
            // Whoever asks has limits of their own.
            .set_connection_timeout(None)
            .set_response_timeout(None)
            .set_push_sender(move |push: redis::PushInfo| {
                if push.kind == redis::PushKind::Disconnection {
                    told.store(true, Ordering::Relaxed);
                }
                Ok::<(), redis::aio::SendError>(())
            });
        let connection = self.client.get_multiplexed_async_connection_with_config(&config).await?;
        Ok(open.insert(Open { connection, broken }).clone())
    }
}

impl fmt::Debug for RedisLink {
    /// Shows host and port alone.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisLink").field("place", &self.place).finish_non_exhaustive()
    }
}

fn encrypted(
    info: redis::ConnectionInfo,
    ca: Option<Vec<u8>>,
) -> Result<Client, RedisOptionsError> {
    // The driver looks for the process's provider of cryptography and panics without one. Whoever
    // embeds us and has installed another keeps it: ours is then refused, which is no error.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let has_any = |pem: &Vec<u8>| {
        use rustls::pki_types::{CertificateDer, pem::PemObject as _};
        CertificateDer::pem_slice_iter(pem).any(|certificate| certificate.is_ok())
    };
    if ca.as_ref().is_some_and(|pem| !has_any(pem)) {
        return Err(RedisOptionsError::Ca);
    }
    let certificates = TlsCertificates { client_tls: None, root_cert: ca };
    Client::build_with_tls(info, certificates).map_err(|_| RedisOptionsError::Ca)
}
