//! A sender like Meta: signed requests over connections of its own.

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// The secret that requests are signed with.
pub(crate) const SECRET: &str = "app secret";

/// How long an answer may take: longer than any that the program promises.
const TIMEOUT: Duration = Duration::from_secs(20);

/// One message of a conversation.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    /// Its id at the sender.
    pub(crate) id: String,
    /// Who wrote it: the conversation.
    pub(crate) from: u64,
    pub(crate) text: &'static str,
}

impl Message {
    pub(crate) fn new(id: impl Into<String>, from: u64) -> Self {
        Self { id: id.into(), from, text: "hello" }
    }
}

/// A request with these messages, as Meta writes it.
pub(crate) fn body(messages: &[Message]) -> String {
    let message = |message: &Message| {
        let Message { id, from, text } = message;
        format!(
            r#"{{"from":"{from}","id":"{id}","timestamp":"1749416383","type":"text","text":{{"body":"{text}"}}}}"#
        )
    };
    let messages = messages.iter().map(message).collect::<Vec<_>>().join(",");
    format!(
        r#"{{"object":"whatsapp_business_account","entry":[{{"id":"1","changes":[{{"field":"messages","value":{{"messaging_product":"whatsapp","metadata":{{"display_phone_number":"15550783881","phone_number_id":"106540352242922"}},"messages":[{messages}]}}}}]}}]}}"#
    )
}

/// What a request was answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// The head, in lower case.
    pub(crate) head: String,
    pub(crate) body: String,
}

/// One connection to the server; opened with the first request.
pub(crate) struct Sender {
    at: String,
    stream: Option<TcpStream>,
}

impl Sender {
    /// Of the server with this URL.
    pub(crate) fn new(url: &str) -> Self {
        Self { at: url.strip_prefix("http://").unwrap().to_owned(), stream: None }
    }

    /// Posts a signed request and reads the whole answer.
    pub(crate) fn post(&mut self, body: &str) -> io::Result<Answer> {
        let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
        mac.update(body.as_bytes());
        let tag = hex::encode(mac.finalize().into_bytes());
        let request = format!(
            "POST /webhooks/whatsapp HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\n\
             x-hub-signature-256: sha256={tag}\r\ncontent-length: {}\r\n\r\n{body}",
            self.at,
            body.len()
        );
        self.ask(&request)
    }

    /// Asks for a page.
    pub(crate) fn get(&mut self, path: &str) -> io::Result<Answer> {
        self.ask(&format!("GET {path} HTTP/1.1\r\nhost: {}\r\n\r\n", self.at))
    }

    fn ask(&mut self, request: &str) -> io::Result<Answer> {
        let stream = match &mut self.stream {
            Some(stream) => stream,
            none => none.insert(TcpStream::connect(&self.at)?),
        };
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.write_all(request.as_bytes())?;
        read_answer(stream)
    }
}

fn read_answer(stream: &mut TcpStream) -> io::Result<Answer> {
    let (head, mut body) = read_head(stream)?;
    let head = head.to_lowercase();
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap();
    let length = header(&head, "content-length").map_or(0, |value| value.parse().unwrap());
    let arrived = body.len();
    body.resize(length, 0);
    stream.read_exact(&mut body[arrived..])?;
    Ok(Answer { status, head, body: String::from_utf8(body).unwrap() })
}

/// Reads up to the end of a head; gives it, and what has arrived behind it.
pub(crate) fn read_head(stream: &mut TcpStream) -> io::Result<(String, Vec<u8>)> {
    let mut bytes = vec![];
    loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let rest = bytes.split_off(end + 4);
            return Ok((String::from_utf8(bytes).unwrap(), rest));
        }
        let mut buffer = [0; 4096];
        match stream.read(&mut buffer)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            n => bytes.extend_from_slice(&buffer[..n]),
        }
    }
}

/// The value of a header in a head.
pub(crate) fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = head.lines().filter_map(|line| line.split_once(':'));
    lines.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
}
