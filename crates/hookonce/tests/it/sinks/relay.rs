//! What stands between a sink and a server that tests share: it can cut the way, hold answers back, and
//! encrypt.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, copy};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

/// What becomes of connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// All is passed on.
    Open,
    /// What the server says is not passed on.
    Mute,
    /// There are none: those that there were are closed.
    Cut,
}

/// Passes on what both sides say, for as long as it is there.
pub(crate) struct Relay {
    pub(crate) port: u16,
    way: watch::Sender<Way>,
    /// How many connections are open.
    open: watch::Receiver<usize>,
    /// How many there were.
    all: Arc<AtomicUsize>,
    _running: JoinSet<()>,
}

impl Relay {
    pub(crate) async fn start(server: String) -> Self {
        Self::start_with(server, None).await
    }

    /// One whose clients have to encrypt.
    pub(crate) async fn start_tls(server: String, tls: rustls::ServerConfig) -> Self {
        Self::start_with(server, Some(TlsAcceptor::from(Arc::new(tls)))).await
    }

    async fn start_with(server: String, tls: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (way, told) = watch::channel(Way::Open);
        let (count, open) = watch::channel(0);
        let all = Arc::new(AtomicUsize::new(0));
        let counted = all.clone();
        let mut running = JoinSet::new();
        running.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                let (server, tls, told) = (server.clone(), tls.clone(), told.clone());
                let count = count.clone();
                counted.fetch_add(1, Ordering::Relaxed);
                count.send_modify(|open| *open += 1);
                connections.spawn(async move {
                    match tls {
                        Some(tls) => {
                            if let Ok(client) = tls.accept(client).await {
                                pass(client, &server, told).await;
                            }
                        }
                        None => pass(client, &server, told).await,
                    }
                    count.send_modify(|open| *open -= 1);
                });
            }
        });
        Self { port, way, open, all, _running: running }
    }

    /// Waits until no connection is open.
    pub(crate) async fn until_empty(&self) {
        self.open.clone().wait_for(|open| *open == 0).await.unwrap();
    }

    /// How many connections there were.
    pub(crate) fn connections(&self) -> usize {
        self.all.load(Ordering::Relaxed)
    }

    pub(crate) fn set(&self, way: Way) {
        self.way.send_replace(way);
    }
}

async fn pass(client: impl AsyncRead + AsyncWrite, server: &str, mut way: watch::Receiver<Way>) {
    let Ok(server) = TcpStream::connect(server).await else { return };
    let (mut from_client, mut to_client) = tokio::io::split(client);
    let (mut from_server, mut to_server) = server.into_split();
    let mut told = way.clone();
    let ask = async {
        let _ = copy(&mut from_client, &mut to_server).await;
    };
    let answer = async {
        let mut said = vec![0; 1 << 16];
        loop {
            let Ok(n @ 1..) = tokio::io::AsyncReadExt::read(&mut from_server, &mut said).await
            else {
                return;
            };
            told.wait_for(|way| *way != Way::Mute).await.unwrap();
            if to_client.write_all(&said[..n]).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        biased;
        _ = way.wait_for(|way| *way == Way::Cut) => {}
        () = ask => {}
        () = answer => {}
    }
}
