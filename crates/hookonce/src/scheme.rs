//! How a sender signs and shapes its requests: bytes in, proven events out.
//!
//! A scheme is pure: it does no I/O and never asks for the time. Parsing needs a [`Verified`], which
//! only a successful proof makes, so that parsing unverified bytes does not compile.

pub mod meta;
pub mod signature;

use std::fmt;
use std::sync::Arc;

use axum::http::HeaderMap;
use bytes::Bytes;
use jiff::Timestamp;

use crate::event::NewEvent;

pub use signature::{Proof, Secret, Verified};

/// How one kind of sender signs and shapes its requests.
pub trait Scheme: Send + Sync + fmt::Debug {
    /// Proves that the sender made this request, over its raw bytes and before any parsing.
    fn verify(&self, request: Request) -> Result<Verified, Unproven>;

    /// Cuts a proven request into its events: every element becomes exactly one. A request that
    /// can't be read becomes one unreadable event, so that nothing authentic is refused.
    fn parse(&self, verified: &Verified, origin: &Origin) -> Vec<NewEvent>;

    /// Answers the sender's question whether we are who it thinks; `query` is the raw query string.
    fn challenge(&self, query: &str) -> Challenge;

    /// Signs `body` as the sender would: the headers to send with it. For people who try a source
    /// out; `None` where the scheme has no secret to sign with.
    fn sign(&self, body: &[u8]) -> Option<Vec<(&'static str, String)>>;
}

/// What a scheme needs to know of a request.
#[derive(Debug, Clone)]
pub struct Request {
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body, byte for byte.
    pub body: Bytes,
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

/// The sender of a request isn't proven. The reason is for our metrics; the sender gets none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unproven {
    /// No signature came with it.
    Missing,
    /// The signature is not of the form that the scheme asks for.
    Malformed,
    /// The signature was made with another secret or over another body.
    Wrong,
}

impl Unproven {
    /// The word for the reason, as metrics have it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Missing => "signature_missing",
            Self::Malformed => "signature_malformed",
            Self::Wrong => "signature_wrong",
        }
    }
}

/// What to answer to a challenge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Challenge {
    /// It was asked rightly: this text, verbatim.
    Answer(String),
    /// It was asked with another token, or none is configured.
    Refused,
    /// Nothing was asked.
    NotAsked,
}
