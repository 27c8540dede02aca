//! A sender: writes exactly the bytes it is told to, and reads the answer.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Sha256, Sha512};

use super::stand::LIMIT;

/// The App Secret that the corpus is signed with.
pub(crate) const SECRET: &str = "test-app-secret-0001";

pub(crate) struct Client {
    pub(crate) stream: TcpStream,
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        header(&self.head, name)
    }

    /// Events stored now and before, of a request that was taken.
    pub(crate) fn counts(&self) -> (u64, u64) {
        assert_eq!(self.status, 200, "{}", self.body);
        let counts: serde_json::Value = serde_json::from_str(&self.body).unwrap();
        (counts["new"].as_u64().unwrap(), counts["duplicates"].as_u64().unwrap())
    }
}

impl Client {
    pub(crate) fn connect(address: &str) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        stream.set_write_timeout(Some(LIMIT)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream }
    }

    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).unwrap();
    }

    pub(crate) fn ask(&mut self, bytes: impl AsRef<[u8]>) -> Answer {
        self.send(bytes);
        self.answer().expect("the server answers")
    }

    /// Sends as long as the server takes it; says whether it did.
    pub(crate) fn try_send(&self, bytes: impl AsRef<[u8]>) -> bool {
        (&self.stream).write_all(bytes.as_ref()).is_ok()
    }

    /// Reads one answer; `None` where the connection ends before one.
    pub(crate) fn answer(&mut self) -> Option<Answer> {
        let (head, body) = read(&mut self.stream)?;
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Some(Answer { status, head, body })
    }
}

/// Reads one message: its head, and the body that its length tells of.
pub(crate) fn read(stream: &mut TcpStream) -> Option<(String, String)> {
    let mut bytes = Vec::new();
    let mut fill = |bytes: &mut Vec<u8>| {
        let mut part = [0; 16 << 10];
        let n = stream.read(&mut part).ok().filter(|n| *n > 0)?;
        bytes.extend_from_slice(&part[..n]);
        Some(())
    };
    let end = loop {
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break at + 4;
        }
        fill(&mut bytes)?;
    };
    let head = String::from_utf8(bytes.drain(..end).collect()).unwrap();
    let length = header(&head, "content-length").map_or(0, |n| n.parse().unwrap());
    while bytes.len() < length {
        fill(&mut bytes)?;
    }
    Some((head, String::from_utf8(bytes).unwrap()))
}

/// The value of a header.
pub(crate) fn header<'h>(head: &'h str, name: &str) -> Option<&'h str> {
    head.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        key.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

/// The bytes of a request. A chunked one has its body in one chunk.
pub(crate) fn request(
    method: &str,
    path: &str,
    headers: impl IntoIterator<Item = (impl AsRef<str>, impl AsRef<str>)>,
    body: &[u8],
) -> Vec<u8> {
    let mut head = vec![format!("{method} {path} HTTP/1.1\r\nHost: hooks.example.test\r\n")];
    let mut chunked = false;
    for (name, value) in headers {
        let (name, value) = (name.as_ref(), value.as_ref());
        chunked |= name.eq_ignore_ascii_case("transfer-encoding");
        head.push(format!("{name}: {value}\r\n"));
    }
    if chunked {
        let size = format!("\r\n{:x}\r\n", body.len());
        return [head.concat().as_bytes(), size.as_bytes(), body, b"\r\n0\r\n\r\n"].concat();
    }
    head.push(format!("Content-Length: {}\r\n\r\n", body.len()));
    [head.concat().as_bytes(), body].concat()
}

/// The value of `X-Hub-Signature-256` for a body.
pub(crate) fn signature(body: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
    mac.update(body);
    format!("sha256={}", hex::encode(mac.finalize().into_bytes()))
}

/// A POST of this body to the source `waha`, with its HMAC under the same secret.
pub(crate) fn signed_by_waha(body: &str) -> Vec<u8> {
    let mut mac = Hmac::<Sha512>::new_from_slice(SECRET.as_bytes()).unwrap();
    mac.update(body.as_bytes());
    let tag = hex::encode(mac.finalize().into_bytes());
    request("POST", "/webhooks/waha", [("X-Webhook-Hmac", tag)], body.as_bytes())
}

/// A signed POST to the source `meta`.
pub(crate) fn signed(body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    request("POST", "/webhooks/meta", [("X-Hub-Signature-256", signature(body))], body)
}
