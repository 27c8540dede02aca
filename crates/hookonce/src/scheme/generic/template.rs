//! What a signature is over: the body, with whatever a sender puts around it.

use std::fmt;
use std::str::FromStr;

use axum::http::HeaderName;
use bytes::Bytes;
use sha2::{Digest as _, Sha256};

use super::super::{Request, Unproven};
use super::Misspelt;

/// What a signature is over: a text in which `{body}` stands for the body, `{body_sha256}` for the 32
/// bytes of its SHA-256, `{body_sha256_hex}` for that in hex digits, `{timestamp}` for the time as it
/// was sent, `{url}` for the address and `{header:NAME}` for a header. The body is always in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    text: String,
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(Bytes),
    Body,
    BodySha256,
    BodySha256Hex,
    Timestamp,
    Url,
    Header(HeaderName),
}

/// What is put into a template.
pub(super) struct Filling<'f> {
    pub(super) body: &'f Bytes,
    pub(super) timestamp: Option<&'f str>,
    pub(super) url: Option<&'f str>,
}

impl Template {
    /// The body alone.
    pub fn body() -> Self {
        Self { text: "{body}".into(), pieces: vec![Piece::Body] }
    }

    /// Whether the time is in it.
    pub fn has_timestamp(&self) -> bool {
        self.pieces.contains(&Piece::Timestamp)
    }

    /// Whether the address is in it.
    pub fn has_url(&self) -> bool {
        self.pieces.contains(&Piece::Url)
    }

    /// Whether the header of this name is in it.
    pub fn has_header(&self, name: &str) -> bool {
        self.headers().any(|known| known.as_str().eq_ignore_ascii_case(name))
    }

    /// The headers that are in it.
    pub(super) fn headers(&self) -> impl Iterator<Item = &HeaderName> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Header(name) => Some(name),
            _ => None,
        })
    }

    /// What was signed, piece by piece.
    pub(super) fn fill(
        &self,
        filling: &Filling<'_>,
        header: impl Fn(&HeaderName) -> Result<Bytes, Unproven>,
    ) -> Result<Vec<Bytes>, Unproven> {
        let copy = |text: Option<&str>| {
            text.map(|text| Bytes::copy_from_slice(text.as_bytes())).ok_or(Unproven::Missing)
        };
        let piece = |piece: &Piece| {
            Ok(match piece {
                Piece::Text(text) => text.clone(),
                Piece::Body => filling.body.clone(),
                Piece::BodySha256 => Bytes::from(Sha256::digest(filling.body).to_vec()),
                Piece::BodySha256Hex => Bytes::from(hex::encode(Sha256::digest(filling.body))),
                Piece::Timestamp => copy(filling.timestamp)?,
                Piece::Url => copy(filling.url)?,
                Piece::Header(name) => header(name)?,
            })
        };
        self.pieces.iter().map(piece).collect()
    }
}

/// The one value of a header, as it was received.
pub(super) fn header_of(request: &Request, name: &HeaderName) -> Result<Bytes, Unproven> {
    Ok(Bytes::copy_from_slice(request.only_header(name.as_str())?.as_bytes()))
}

impl FromStr for Template {
    type Err = Misspelt;

    fn from_str(text: &str) -> Result<Self, Misspelt> {
        let (mut pieces, mut rest) = (Vec::new(), text);
        while let Some((before, after)) = rest.split_once('{') {
            let (name, after) = after.split_once('}').ok_or_else(|| {
                Misspelt::new(format!("a `{{` of `{text}` has no `}}` behind it"))
            })?;
            if !before.is_empty() {
                pieces.push(Piece::Text(Bytes::copy_from_slice(before.as_bytes())));
            }
            pieces.push(placeholder(name)?);
            rest = after;
        }
        if !rest.is_empty() {
            pieces.push(Piece::Text(Bytes::copy_from_slice(rest.as_bytes())));
        }
        let is_body =
            |piece: &Piece| matches!(piece, Piece::Body | Piece::BodySha256 | Piece::BodySha256Hex);
        if !pieces.iter().any(is_body) {
            return Err(Misspelt::new(format!(
                "`{text}` has no body in it, so that any body would go with a signature; put \
                 `{{body}}` or `{{body_sha256}}` where the sender has it"
            )));
        }
        Ok(Self { text: text.to_owned(), pieces })
    }
}

fn placeholder(name: &str) -> Result<Piece, Misspelt> {
    Ok(match name {
        "body" => Piece::Body,
        "body_sha256" => Piece::BodySha256,
        "body_sha256_hex" => Piece::BodySha256Hex,
        "timestamp" => Piece::Timestamp,
        "url" => Piece::Url,
        _ => match name.strip_prefix("header:").map(str::parse) {
            Some(Ok(header)) => Piece::Header(header),
            _ => {
                return Err(Misspelt::new(format!(
                    "there is no `{{{name}}}`; there are {{body}}, {{body_sha256}}, \
                     {{body_sha256_hex}}, {{timestamp}}, {{url}} and {{header:NAME}}"
                )));
            }
        },
    })
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_has_the_body_in_it_and_nothing_unknown() {
        for good in ["{body}", "v0:{timestamp}:{body}", "{header:a}\n{url}\n{body_sha256}"] {
            assert_eq!(good.parse::<Template>().unwrap().to_string(), good);
        }
        for wrong in ["", "body", "{timestamp}", "{body", "{Body}", "{header:}{body}", "{}{body}"] {
            assert!(wrong.parse::<Template>().is_err(), "{wrong}");
        }
        assert!("{header:X-Id}{body}".parse::<Template>().unwrap().has_header("x-id"));
    }
}
