//! The sections of the webhook listener.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::quantity::{Period, Size};

/// How webhooks are received.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct ServerConfig {
    /// Host and port of webhooks, `/healthz` and `/readyz`. It speaks plain HTTP: put a proxy that
    /// speaks TLS in front of it, or write `[server.tls]`.
    pub(crate) listen: String,
    /// Host and port of the admin API, `/metrics`, `/healthz` and `/readyz`. It speaks plain HTTP:
    /// leave it on loopback, or put a proxy that speaks TLS in front of it.
    pub(crate) admin_listen: String,
    /// The longest request body; a longer one is answered 413. At most `128MiB`, which is what all
    /// requests together may take in memory.
    #[schemars(with = "String")]
    pub(crate) body_limit: Size,
    /// How long a sender waits for its request to be stored before it is answered 503, so that it
    /// comes again. At least `500ms`.
    #[schemars(with = "String")]
    pub(crate) ack_timeout: Period,
    /// How long a sender waits for its events to be handled, where its source answers only then
    /// (`ack = "handled"`), before it is answered 503. At least `ack_timeout`.
    #[schemars(with = "String")]
    pub(crate) handled_timeout: Period,
    /// With less disk free than this nothing new is stored (503), so that what is stored can still
    /// be handled.
    #[schemars(with = "String")]
    pub(crate) min_free_disk: Size,
    /// Addresses of proxies in front of it, each alone or as a range, such as `10.0.0.0/8`. What they
    /// say of a client counts, by `X-Forwarded-For`, `X-Forwarded-Proto`, `X-Forwarded-Host` or
    /// `Forwarded`; from anybody else these count for nothing.
    pub(crate) proxies: Vec<String>,
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            listen: "127.0.0.1:8080".into(),
            admin_listen: "127.0.0.1:8081".into(),
            body_limit: Size::mebibytes(4),
            ack_timeout: Period::seconds(3),
            handled_timeout: Period::seconds(10),
            min_free_disk: Size::mebibytes(256),
            proxies: vec![],
        }
    }
}

/// How the webhook listener is encrypted; it speaks plain HTTP where there is no such section. Files
/// are PEM. They are looked at every second: a renewed one is used for new connections, and one that
/// can't be used is told of in the log while the old one stays.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct TlsConfig {
    /// The file of the certificate and those that lead to its authority (the full chain).
    pub(crate) certificate: String,
    /// The file of its private key, without a password.
    pub(crate) key: String,
    /// The file of the authorities that vouch for clients. With it every client must show a
    /// certificate of theirs, whoever asks for `/healthz` and `/readyz` there too; the admin listener
    /// has both for everybody.
    pub(crate) client_ca: Option<String>,
    /// The name that the certificate of every client must be for, among its subject alternative names,
    /// such as `client.webhooks.fbclientcerts.com`. Needs `client_ca`.
    pub(crate) client_name: Option<String>,
}
