//! Where the storm goes: this machine, unless somebody really means another.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context as _, anyhow, bail};
use axum::http::{HeaderValue, Request, Response, Uri};
use hyper::body::Incoming;
use hyper::client::conn::http1::SendRequest;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;
use url::Url;

use super::body::PacedBody;

/// An endpoint.
#[derive(Debug, Clone)]
pub(super) struct Target {
    pub(super) url: Url,
    addresses: Arc<[SocketAddr]>,
    tls: Option<Tls>,
}

#[derive(Clone)]
struct Tls {
    connector: TlsConnector,
    name: ServerName<'static>,
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tls").finish_non_exhaustive()
    }
}

/// A connection to it.
#[derive(Debug)]
pub(super) struct Connection {
    requests: SendRequest<PacedBody>,
    /// Reads and writes; ends with it.
    _driver: JoinSet<()>,
}

impl Connection {
    /// Whether nothing can be sent on it any more.
    pub(super) fn is_closed(&self) -> bool {
        self.requests.is_closed()
    }

    /// Sends a request, once the one before is answered to its end.
    pub(super) async fn send(
        &mut self,
        request: Request<PacedBody>,
    ) -> hyper::Result<Response<Incoming>> {
        self.requests.ready().await?;
        self.requests.send_request(request).await
    }
}

impl Target {
    /// Finds the endpoint; refuses one that is elsewhere, unless `anywhere`.
    pub(super) async fn find(url: &str, anywhere: bool) -> anyhow::Result<Self> {
        let not_one =
            || anyhow!("`{url}` is no address; write such as `http://127.0.0.1:3000/webhook`");
        let url = Url::parse(url).map_err(|_| not_one())?;
        let host = url.host().filter(|_| matches!(url.scheme(), "http" | "https"));
        let host = host.ok_or_else(not_one)?.to_string();
        if !url.username().is_empty() || url.password().is_some() {
            bail!(
                "leave user and password out of the address: a webhook is proven by its signature"
            );
        }
        let name = host.trim_matches(['[', ']']).to_owned();
        let port = url.port_or_known_default().ok_or_else(not_one)?;
        let found = tokio::net::lookup_host((&*name, port)).await;
        let addresses: Vec<SocketAddr> =
            found.with_context(|| format!("cannot find `{name}`; correct the address"))?.collect();
        let elsewhere = addresses.iter().find(|at| !at.ip().to_canonical().is_loopback());
        if let Some(at) = elsewhere.filter(|_| !anywhere) {
            bail!(
                "`{name}` is not on loopback ({}): this would flood it with requests that look real; \
                 if whoever runs it agrees, say --yes-really",
                at.ip()
            );
        }
        let tls = (url.scheme() == "https").then(|| tls(name)).transpose()?;
        Ok(Self { url, addresses: addresses.into(), tls })
    }

    /// The request line's target and the `Host` header for this address.
    pub(super) fn asked(url: &Url) -> anyhow::Result<(Uri, HeaderValue)> {
        let target = &url[url::Position::BeforePath..url::Position::AfterQuery];
        let host = &url[url::Position::BeforeHost..url::Position::AfterPort];
        Ok((target.parse()?, HeaderValue::from_str(host)?))
    }

    /// Opens a connection.
    pub(super) async fn connect(&self) -> anyhow::Result<Connection> {
        let stream = TcpStream::connect(&*self.addresses).await?;
        stream.set_nodelay(true)?;
        match &self.tls {
            None => open(TokioIo::new(stream)).await,
            Some(Tls { connector, name }) => {
                open(TokioIo::new(connector.connect(name.clone(), stream).await?)).await
            }
        }
    }
}

async fn open<S>(stream: S) -> anyhow::Result<Connection>
where
    S: hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static,
{
    let (requests, connection) = hyper::client::conn::http1::handshake(stream).await?;
    let mut driver = JoinSet::new();
    // What goes wrong is told to whoever waits for an answer.
    driver.spawn(async move { drop(connection.await) });
    Ok(Connection { requests, _driver: driver })
}

fn tls(name: String) -> anyhow::Result<Tls> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from(name).context("the host is no name that a certificate has")?;
    Ok(Tls { connector: TlsConnector::from(Arc::new(config)), name })
}
