//! A request as a scheme sees it: what came in, at which address, and when.

use std::sync::Arc;

use axum::http::{HeaderMap, HeaderValue, Uri};
use bytes::Bytes;
use jiff::Timestamp;

use super::Unproven;

/// What a scheme needs to know of a request.
#[derive(Debug, Clone)]
pub struct Request {
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body, byte for byte.
    pub body: Bytes,
    /// Path and query, as the request line has them.
    pub target: Uri,
    /// Where its sender believes us to be, such as `https://hooks.example.com`, if a proxy that is
    /// trusted says so.
    pub base: Option<String>,
    /// When it reached us: what a signed time is compared with.
    pub received_at: Timestamp,
}

impl Request {
    /// A request with this body and nothing else: a sample, or one that a program makes itself.
    pub fn of(body: impl Into<Bytes>, received_at: Timestamp) -> Self {
        let (headers, target) = (HeaderMap::new(), Uri::default());
        Self { headers, body: body.into(), target, base: None, received_at }
    }

    /// The raw query string; empty where there is none.
    pub fn query(&self) -> &str {
        self.target.query().unwrap_or_default()
    }

    /// The address that the sender used: the source's `public` one, else the one that a trusted
    /// proxy tells, with this request's query behind it. `None` if neither is known: what a client
    /// says in `Host` is no ground to prove anything on.
    pub fn url(&self, public: Option<&str>) -> Option<String> {
        let mut url = match (public, &self.base) {
            (Some(public), _) => public.to_owned(),
            (None, Some(base)) => format!("{base}{}", self.target.path()),
            (None, None) => return None,
        };
        if let Some(query) = self.target.query() {
            url.push(if url.contains('?') { '&' } else { '?' });
            url.push_str(query);
        }
        Some(url)
    }

    /// The one value of the header `name`. Of two, an intermediary and we might each look at
    /// another, so that two prove nothing.
    pub fn only_header(&self, name: &str) -> Result<&HeaderValue, Unproven> {
        let mut values = self.headers.get_all(name).iter();
        let first = values.next().ok_or(Unproven::Missing)?;
        if values.next().is_some() { Err(Unproven::Malformed) } else { Ok(first) }
    }

    /// The text of the one header `name`.
    pub fn header_text(&self, name: &str) -> Result<&str, Unproven> {
        let value = self.only_header(name)?;
        std::str::from_utf8(value.as_bytes()).map_err(|_| Unproven::Malformed)
    }

    /// What stands in `Authorization` behind this word for how it is to be read.
    pub fn credentials(&self, word: &str) -> Result<&str, Unproven> {
        let (named, rest) =
            self.header_text("authorization")?.split_once(' ').ok_or(Unproven::Malformed)?;
        let rest = rest.trim();
        let is_meant = !rest.is_empty() && named.eq_ignore_ascii_case(word);
        if is_meant { Ok(rest) } else { Err(Unproven::Malformed) }
    }
}

/// Where a request came in.
#[derive(Debug, Clone)]
pub struct Origin {
    /// The source's name.
    pub source: Arc<str>,
    /// What its events' ids are computed from, beside the key.
    pub scope: Arc<str>,
    /// When the request reached us.
    pub received_at: Timestamp,
}

/// A request that is yet to be signed, by a person who tries a source out.
#[derive(Debug, Clone, Copy)]
pub struct Unsigned<'a> {
    /// Its body.
    pub body: &'a [u8],
    /// The address that it goes to, where the source has no public one.
    pub url: &'a str,
    /// An id of its own, for senders that give each request one.
    pub id: &'a str,
    /// When it is signed.
    pub at: Timestamp,
}

/// What its sender would put around a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signed {
    /// Headers, `content-type` among them.
    pub headers: Vec<(String, String)>,
    /// What belongs into the address behind a `?`.
    pub query: Option<String>,
}

impl Signed {
    /// A JSON body with these headers.
    pub fn json(headers: impl IntoIterator<Item = (String, String)>) -> Self {
        let content_type = ("content-type".to_owned(), crate::event::JSON.to_owned());
        Self { headers: std::iter::once(content_type).chain(headers).collect(), query: None }
    }
}
