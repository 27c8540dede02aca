//! A client that speaks TLS as it is told to.

use std::io;
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::super::client::{Client, post};
use super::super::server::Server;
use crate::bed::authority::Authority;

/// The name that servers have here.
pub(super) const HOST: &str = "hooks.example.com";

pub(super) type TlsClient = Client<TlsStream<TcpStream>>;

pub(super) async fn connect_by(connector: &TlsConnector, server: &Server) -> io::Result<TlsClient> {
    let stream = server.connect().await.stream;
    Ok(Client::on(connector.connect(HOST.try_into().unwrap(), stream).await?))
}

/// How to connect.
#[derive(Clone)]
pub(super) struct Caller {
    roots: RootCertStore,
    shows: Option<(String, String)>,
    versions: Vec<&'static SupportedProtocolVersion>,
    protocol: Vec<u8>,
}

impl Caller {
    pub(super) fn trusting(authority: &Authority) -> Self {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(authority.pem().as_bytes()).unwrap()).unwrap();
        let versions = rustls::ALL_VERSIONS.to_vec();
        Self { roots, shows: None, versions, protocol: b"http/1.1".to_vec() }
    }

    /// With this certificate and its key.
    pub(super) fn showing(self, pair: (String, String)) -> Self {
        Self { shows: Some(pair), ..self }
    }

    pub(super) fn of_version(self, version: &'static SupportedProtocolVersion) -> Self {
        Self { versions: vec![version], ..self }
    }

    pub(super) fn speaking(self, protocol: &[u8]) -> Self {
        Self { protocol: protocol.to_vec(), ..self }
    }

    fn config(&self) -> ClientConfig {
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(&self.versions)
            .unwrap()
            .with_root_certificates(self.roots.clone());
        let mut config = match &self.shows {
            None => config.with_no_client_auth(),
            Some((certificate, key)) => {
                let certificate = CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap();
                let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
                config.with_client_auth_cert(vec![certificate], key).unwrap()
            }
        };
        config.alpn_protocols = vec![self.protocol.clone()];
        config
    }

    pub(super) async fn connect(&self, server: &Server) -> io::Result<TlsClient> {
        connect_by(&self.connector(), server).await
    }

    /// What connects, and remembers its sessions.
    pub(super) fn connector(&self) -> TlsConnector {
        Arc::new(self.config()).into()
    }

    /// Whether a request is answered. By TLS 1.3 a client learns that it is refused only when it
    /// reads.
    pub(super) async fn gets_through(&self, server: &Server) -> bool {
        let Ok(mut client) = self.connect(server).await else { return false };
        let _ = tokio::io::AsyncWriteExt::write_all(&mut client.stream, post("a").as_bytes()).await;
        client.closes_or_answers().await.is_some()
    }
}
