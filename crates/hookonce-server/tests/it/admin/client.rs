//! A client that says exactly what it is told to, and looks for tokens in every answer.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

/// The tokens of the stand's configuration, by name. None of them may ever be in an answer.
pub(super) const TOKENS: [(&str, &str); 4] = [
    ("viewer", "view-0123456789abcdef"),
    ("ops", "operate-0123456789abcdef"),
    ("crm", "worker-crm-0123456789abcdef"),
    ("both", "worker-both-0123456789abcdef"),
];

/// What was answered.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) head: String,
    pub(super) body: String,
}

/// A call to be made.
#[derive(Debug, Clone)]
pub(super) struct Ask {
    line: String,
    headers: Vec<(String, String)>,
    body: String,
}

impl Answer {
    /// The body as JSON.
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("{}{}", self.head, self.body))
    }

    /// What a problem says.
    pub(super) fn detail(&self) -> String {
        assert!(self.header("content-type") == Some("application/problem+json"), "{}", self.head);
        let problem = self.json();
        assert_eq!(problem["status"], self.status);
        problem["detail"].as_str().unwrap().to_owned()
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// The answer, which must have this status.
    #[track_caller]
    pub(super) fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}{}", self.head, self.body);
        self
    }
}

impl Ask {
    /// A call without anything but its line and the host.
    pub(super) fn bare(method: &str, path: &str) -> Self {
        Self { line: format!("{method} {path} HTTP/1.1"), headers: vec![], body: String::new() }
    }

    pub(super) fn new(method: &str, path: &str) -> Self {
        Self::bare(method, path).header("host", "localhost")
    }

    pub(super) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// With the token of this name.
    pub(super) fn by(self, name: &str) -> Self {
        let (_, token) = TOKENS.iter().find(|(known, _)| *known == name).unwrap();
        self.header("authorization", &format!("Bearer {token}"))
    }

    pub(super) fn json(mut self, body: &(impl ToString + ?Sized)) -> Self {
        self.body = body.to_string();
        self.header("content-type", "application/json")
    }

    pub(super) fn form(mut self, body: &str) -> Self {
        body.clone_into(&mut self.body);
        self.header("content-type", "application/x-www-form-urlencoded")
    }

    pub(super) fn send(&self, to: &str) -> Answer {
        let says_length = |(name, _): &(String, String)| {
            matches!(name.as_str(), "content-length" | "transfer-encoding")
        };
        let has_length = self.headers.iter().any(says_length);
        let mut lines = vec![self.line.clone(), "connection: close".to_owned()];
        lines.extend(self.headers.iter().map(|(name, value)| format!("{name}: {value}")));
        if !has_length && !self.body.is_empty() {
            lines.push(format!("content-length: {}", self.body.len()));
        }
        let mut stream = TcpStream::connect(to).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream.write_all((lines.join("\r\n") + "\r\n\r\n").as_bytes()).unwrap();
        // A server that has refused the head reads no more of the body.
        let _ = stream.write_all(self.body.as_bytes());
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8(answer).unwrap();
        for (name, token) in TOKENS {
            assert!(!answer.contains(token), "the token of {name} is shown:\n{answer}");
        }
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{answer}"));
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answer { status, head: head.to_owned(), body: body.to_owned() }
    }
}
