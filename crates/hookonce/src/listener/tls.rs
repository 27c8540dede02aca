//! How a listener encrypts, and whom it lets speak: certificate, key, and who vouches for clients.
//!
//! It reads no file: whoever does hands over what is in them, again whenever that has changed.

mod clients;

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::NoServerSessionStorage;
use rustls::server::danger::ClientCertVerifier;
use rustls::{ConfigBuilder, ServerConfig, WantsVerifier};
use tokio_rustls::TlsAcceptor;

/// The one protocol that is spoken within TLS.
const ALPN: &[u8] = b"http/1.1";

/// What a listener encrypts with; may be replaced while it listens.
pub struct Tls {
    used: RwLock<(TlsOptions, Arc<ServerConfig>)>,
}

/// What [`Tls`] is made of; everything but the name in PEM.
#[derive(Clone, PartialEq, Eq)]
pub struct TlsOptions {
    /// Our certificate, first, and those that lead to its authority.
    pub certificate: Vec<u8>,
    /// Its private key, without a password.
    pub key: Vec<u8>,
    /// Authorities, one of which must vouch for every client. `None`: anybody may speak.
    pub client_ca: Option<Vec<u8>>,
    /// The name that a client's certificate must be for, among its subject alternative names. Means
    /// nothing without `client_ca`.
    pub client_name: Option<String>,
}

/// Why TLS can't be made; a variant for each thing that a person would mend.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// The certificate can't be used.
    #[error("the certificate can't be read: {0}")]
    Certificate(String),
    /// The key can't be used.
    #[error("the key can't be read: {0}; it has to be PEM without a password")]
    Key(String),
    /// Each can be used, but not together.
    #[error("the key is not that of the certificate")]
    Pair,
    /// The clients' authorities can't be used.
    #[error("the clients' authority can't be read: {0}")]
    ClientCa(String),
    /// The clients' name is none.
    #[error("`{0}` is no name that a certificate could be for")]
    ClientName(String),
}

impl Tls {
    /// Makes it.
    pub fn new(options: &TlsOptions) -> Result<Arc<Self>, TlsError> {
        let used = (options.clone(), Arc::new(config(options)?));
        Ok(Arc::new(Self { used: RwLock::new(used) }))
    }

    /// Uses these for new connections, and says whether they are others than before; connections
    /// that are open go on as they began. What can't be used changes nothing.
    pub fn replace(&self, options: &TlsOptions) -> Result<bool, TlsError> {
        if self.used.read().unwrap_or_else(PoisonError::into_inner).0 == *options {
            return Ok(false);
        }
        let new = (options.clone(), Arc::new(config(options)?));
        *self.used.write().unwrap_or_else(PoisonError::into_inner) = new;
        Ok(true)
    }

    /// What shakes hands with the next connection.
    pub(super) fn acceptor(&self) -> TlsAcceptor {
        self.used.read().unwrap_or_else(PoisonError::into_inner).1.clone().into()
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").finish_non_exhaustive()
    }
}

impl fmt::Debug for TlsOptions {
    /// Without the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsOptions").field("client_name", &self.client_name).finish_non_exhaustive()
    }
}

fn config(options: &TlsOptions) -> Result<ServerConfig, TlsError> {
    let provider = Arc::new(ring::default_provider());
    let chain = certificates(&options.certificate).map_err(TlsError::Certificate)?;
    let key = PrivateKeyDer::from_pem_slice(&options.key)
        .map_err(|error| TlsError::Key(said(&error, "key")))?;
    let clients = clients::verifier(options, &provider)?;
    let is_mutual = clients.is_some();
    let builder = match clients {
        Some(clients) => {
            builder(provider)?.with_client_cert_verifier(clients as Arc<dyn ClientCertVerifier>)
        }
        None => builder(provider)?.with_no_client_auth(),
    };
    let mut config = builder.with_single_cert(chain, key).map_err(|error| match error {
        rustls::Error::InconsistentKeys(_) => TlsError::Pair,
        rustls::Error::InvalidCertificate(_) => TlsError::Certificate(error.to_string()),
        error => TlsError::Key(error.to_string()),
    })?;
    config.alpn_protocols = vec![ALPN.to_vec()];
    if is_mutual {
        // A session that is taken up again doesn't show its certificate again, which may have ended.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
    }
    Ok(config)
}

fn builder(
    provider: Arc<CryptoProvider>,
) -> Result<ConfigBuilder<ServerConfig, WantsVerifier>, TlsError> {
    ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| TlsError::Certificate(error.to_string()))
}

/// Reads certificates, at least one.
fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let read = CertificateDer::pem_slice_iter(pem).collect::<Result<Vec<_>, _>>();
    let found = read.map_err(|error| said(&error, "certificate"))?;
    if found.is_empty() { Err(said(&pem::Error::NoItemsFound, "certificate")) } else { Ok(found) }
}

/// What is wrong with a PEM text, in words of ours: the library's own quote the text, key and all.
fn said(error: &pem::Error, what: &str) -> String {
    let wrong = match error {
        pem::Error::NoItemsFound => return format!("there is no {what} in it"),
        pem::Error::MissingSectionEnd { .. } => "a `-----BEGIN …-----` has no line that ends it",
        pem::Error::IllegalSectionStart { .. } => "a line that begins with `-----BEGIN` is broken",
        pem::Error::Base64Decode(_) => "what stands between its lines is not base64",
        _ => "it is broken",
    };
    format!("{wrong}; it must be PEM, with its line breaks")
}
