//! An HTTP client that writes exactly the bytes it is told to.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::scheme::SECRET;

/// The longest that anything in these tests may take.
pub(crate) const LIMIT: Duration = Duration::from_secs(20);

#[derive(Debug)]
pub(crate) struct Client<S = TcpStream> {
    pub(crate) stream: S,
    read: Vec<u8>,
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

impl Client {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        let stream = tokio::time::timeout(LIMIT, TcpStream::connect(address)).await;
        Self::on(stream.unwrap().unwrap())
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Client<S> {
    pub(crate) fn on(stream: S) -> Self {
        Self { stream, read: Vec::new() }
    }

    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).await.unwrap();
    }

    /// Reads one answer to a request that is no HEAD.
    pub(crate) async fn answer(&mut self) -> Answer {
        let (status, head) = self.head().await;
        let length = Answer { status, head: head.clone(), body: String::new() };
        let length = length.header("content-length").map_or(0, |n| n.parse().unwrap());
        while self.read.len() < length {
            assert!(self.fill().await > 0, "the body is cut short");
        }
        let body = self.read.drain(..length).collect();
        Answer { status, head, body: String::from_utf8(body).unwrap() }
    }

    /// Reads the head of an answer, an informational one too.
    pub(crate) async fn head(&mut self) -> (u16, String) {
        let end = loop {
            if let Some(at) = self.read.windows(4).position(|four| four == b"\r\n\r\n") {
                break at + 4;
            }
            assert!(self.fill().await > 0, "the connection closed before an answer");
        };
        let head = String::from_utf8(self.read.drain(..end).collect()).unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), head)
    }

    /// Waits until the server closes; everything it still sent.
    pub(crate) async fn closed(&mut self) -> Vec<u8> {
        while self.fill().await > 0 {}
        std::mem::take(&mut self.read)
    }

    /// The status of an answer; `None` if the server closes before one.
    pub(crate) async fn closes_or_answers(&mut self) -> Option<u16> {
        while !self.read.ends_with(b"}") {
            if self.fill().await == 0 {
                return None;
            }
        }
        Some(self.answer().await.status)
    }

    pub(crate) async fn ask(&mut self, request: impl AsRef<[u8]>) -> Answer {
        self.send(request).await;
        self.answer().await
    }

    async fn fill(&mut self) -> usize {
        let read = tokio::time::timeout(LIMIT, self.stream.read_buf(&mut self.read)).await;
        read.expect("the server answers or closes in time").unwrap_or(0)
    }
}

/// A signed POST of `body` to the source `test`.
pub(crate) fn post(body: &str) -> String {
    post_to("/webhooks/test", &format!("X-Secret: {SECRET}\r\n"), body)
}

pub(crate) fn post_to(path: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!("POST {path} HTTP/1.1\r\nHost: x\r\n{headers}Content-Length: {length}\r\n\r\n{body}")
}

/// A signed POST whose body is `chunks`, which are framed already.
pub(crate) fn chunked(chunks: &str) -> String {
    format!(
        "POST /webhooks/test HTTP/1.1\r\nHost: x\r\nX-Secret: {SECRET}\r\n\
         Transfer-Encoding: chunked\r\n\r\n{chunks}"
    )
}
