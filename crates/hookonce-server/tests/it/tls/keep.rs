//! A connection by TLS that is kept for several requests.

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::cases::stand::LIMIT;
use crate::program::Server;

/// The name that servers have here.
pub(super) const HOST: &str = "hooks.example.com";

pub(super) struct Kept(StreamOwned<ClientConnection, TcpStream>);

impl Kept {
    /// Connects, and fails where the server isn't vouched for by this authority.
    pub(super) fn connect(server: &Server, root: &str) -> io::Result<Self> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(root.as_bytes()).unwrap()).unwrap();
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let stream = TcpStream::connect(server.url.strip_prefix("https://").unwrap())?;
        stream.set_read_timeout(Some(LIMIT))?;
        let session = ClientConnection::new(config.into(), HOST.try_into().unwrap()).unwrap();
        let mut kept = StreamOwned::new(session, stream);
        while kept.conn.is_handshaking() {
            kept.conn.complete_io(&mut kept.sock)?;
        }
        Ok(Self(kept))
    }

    /// The status of the answer to a GET.
    pub(super) fn ask(&mut self, path: &str) -> u16 {
        write!(self.0, "GET {path} HTTP/1.1\r\nHost: {HOST}\r\n\r\n").unwrap();
        let mut read = Vec::new();
        // Bodies here end with their only line.
        while !read.ends_with(b"\n") || read.ends_with(b"\r\n") {
            let mut part = [0; 4096];
            let n = self.0.read(&mut part).unwrap();
            assert!(n > 0, "the connection closed before an answer");
            read.extend_from_slice(&part[..n]);
        }
        String::from_utf8(read).unwrap().split(' ').nth(1).unwrap().parse().unwrap()
    }
}
