//! The other side of an HTTP sink: reads whole requests and writes what it is told to.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

#[derive(Debug)]
pub(crate) struct Peer {
    listener: TcpListener,
}

#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) head: String,
    pub(crate) body: String,
    stream: TcpStream,
}

impl Peer {
    pub(crate) async fn listen() -> Self {
        Self { listener: TcpListener::bind("127.0.0.1:0").await.unwrap() }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/hook?token=of-the-url", self.listener.local_addr().unwrap())
    }

    pub(crate) fn into_listener(self) -> TcpListener {
        self.listener
    }

    /// Reads the next connection's first request.
    pub(crate) async fn receive(&self) -> Received {
        let (mut stream, _) = self.listener.accept().await.unwrap();
        let mut read = Vec::new();
        let end = loop {
            if let Some(at) = read.windows(4).position(|four| four == b"\r\n\r\n") {
                break at + 4;
            }
            assert!(stream.read_buf(&mut read).await.unwrap() > 0);
        };
        let head = String::from_utf8(read.drain(..end).collect()).unwrap();
        let mut received = Received { head, body: String::new(), stream };
        let length: usize = received.header("content-length").unwrap().parse().unwrap();
        while read.len() < length {
            assert!(received.stream.read_buf(&mut read).await.unwrap() > 0);
        }
        received.body = String::from_utf8(read).unwrap();
        received
    }

    /// Answers every connection's first request with these bytes, until it is dropped.
    pub(crate) fn answering(self, answer: String) -> JoinSet<()> {
        let mut running = JoinSet::new();
        running.spawn(async move {
            loop {
                self.receive().await.answer(&answer).await;
            }
        });
        running
    }
}

impl Received {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    pub(crate) async fn answer(&mut self, answer: &str) {
        // Whoever has enough may close before it has read all.
        let _ = self.stream.write_all(answer.as_bytes()).await;
    }
}
