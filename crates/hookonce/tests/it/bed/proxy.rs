//! A proxy before a server, which loses or keeps an answer when it is told to.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicIsize, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// Passes on what both sides say, for as long as it is there.
pub(crate) struct Proxy {
    pub(crate) port: u16,
    /// How many answers are passed on until one is lost; below nothing, all are.
    left: Arc<AtomicIsize>,
    /// The connection is not cut then, but silent from there on.
    keeps: Arc<AtomicBool>,
    /// How many connections are closed before a word.
    refusals: Arc<AtomicIsize>,
    _running: JoinSet<()>,
}

impl Proxy {
    /// Before a PostgreSQL server, whose answers end with its being ready.
    pub(crate) async fn start(server: String) -> Self {
        Self::before(server, answer_end).await
    }

    /// Before a Redis server, of whose answers as many are one as come at once.
    pub(crate) async fn before_redis(server: String) -> Self {
        Self::before(server, |said| (!said.is_empty()).then_some(said.len())).await
    }

    async fn before(server: String, end: AnswerEnd) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let left = Arc::new(AtomicIsize::new(-1));
        let keeps = Arc::new(AtomicBool::new(false));
        let refusals = Arc::new(AtomicIsize::new(0));
        let refused = refusals.clone();
        let told = (left.clone(), keeps.clone(), end);
        let mut running = JoinSet::new();
        running.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                if refused.fetch_sub(1, Ordering::SeqCst) > 0 {
                    continue;
                }
                connections.spawn(pass(client, server.clone(), told.clone()));
            }
        });
        Self { port, left, keeps, refusals, _running: running }
    }

    /// Passes on `n` answers, and cuts the connection of the next one, which the server has given.
    pub(crate) fn lose_after(&self, n: isize) {
        self.left.store(n, Ordering::SeqCst);
    }

    /// Passes on `n` answers, and keeps the next one to itself, and all that follow on that connection.
    pub(crate) fn keep_after(&self, n: isize) {
        self.keeps.store(true, Ordering::SeqCst);
        self.left.store(n, Ordering::SeqCst);
    }

    /// Lets the next `n` not in.
    pub(crate) fn refuse(&self, n: isize) {
        self.refusals.store(n, Ordering::SeqCst);
    }

    /// Whether it has lost it, or was told of none.
    pub(crate) fn has_lost(&self) -> bool {
        self.left.load(Ordering::SeqCst) < 0
    }
}

/// Where the first answer ends, if it is here whole.
type AnswerEnd = fn(&[u8]) -> Option<usize>;

type Told = (Arc<AtomicIsize>, Arc<AtomicBool>, AnswerEnd);

async fn pass(client: TcpStream, server: String, (left, keeps, answer_end): Told) {
    let Ok(server) = TcpStream::connect(server).await else { return };
    // Nobody waits for more to go with what was said.
    for stream in [&client, &server] {
        stream.set_nodelay(true).unwrap();
    }
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let ask = async {
        let _ = tokio::io::copy(&mut from_client, &mut to_server).await;
    };
    let answer = async {
        let mut said = Vec::new();
        while from_server.read_buf(&mut said).await.is_ok_and(|n| n > 0) {
            // Whole answers are passed on: each ends with the server being ready.
            while let Some(end) = answer_end(&said) {
                if left.fetch_sub(1, Ordering::SeqCst) == 0 {
                    if keeps.load(Ordering::SeqCst) {
                        std::future::pending::<()>().await;
                    }
                    return;
                }
                // Below nothing it stays: more are passed on than can be counted down.
                if to_client.write_all(&said[..end]).await.is_err() {
                    return;
                }
                said.drain(..end);
            }
            // What is no answer yet, such as a notification, or the greeting.
            if !said.is_empty() && is_apart(&said) {
                let _ = to_client.write_all(&said).await;
                said.clear();
            }
        }
        let _ = to_client.write_all(&said).await;
    };
    tokio::select! {
        () = ask => {}
        () = answer => {}
    }
}

/// Where the first answer ends, if it is here whole.
fn answer_end(said: &[u8]) -> Option<usize> {
    let mut at = 0;
    while let Some(head) = said.get(at..at + 5) {
        let length = u32::from_be_bytes(head[1..].try_into().unwrap()) as usize;
        at += 1 + length;
        if head[0] == b'Z' {
            return (at <= said.len()).then_some(at);
        }
    }
    None
}

/// Whether it asks for something before the server is ready: a password.
fn is_apart(said: &[u8]) -> bool {
    said[0] == b'R' && said.len() > 8 && said[5..9] != [0, 0, 0, 0]
}
