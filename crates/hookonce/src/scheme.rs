//! How a sender signs and shapes its requests: bytes in, proven events out.
//!
//! A scheme is pure: it does no I/O and never asks for the time. Parsing needs a [`Verified`], which
//! only a successful proof makes, so that parsing unverified bytes does not compile.

pub mod evolution;
pub mod generic;
mod jwt;
pub mod meta;
pub mod signature;
pub mod twilio;
pub mod waha;
pub mod wasender;

mod cut;
mod envelope;
mod gateway;
mod identity;
mod instant;
mod place;
mod redact;
mod request;

use std::fmt;

use crate::event::NewEvent;

pub use request::{Origin, Request, Signed, Unsigned};
pub use signature::{Proof, Secret, Verified};

/// How one kind of sender signs and shapes its requests.
pub trait Scheme: Send + Sync + fmt::Debug {
    /// Proves that the sender made this request, over its raw bytes and before any parsing.
    fn verify(&self, request: Request) -> Result<Verified, Unproven>;

    /// Cuts a proven request into its events: every element becomes exactly one. A request that
    /// can't be read becomes one unreadable event, so that nothing authentic is refused.
    fn parse(&self, verified: &Verified, origin: &Origin) -> Vec<NewEvent>;

    /// Signs a request as the sender would, with the first secret; one that has none leaves it
    /// unsigned. For people who try a source out.
    fn sign(&self, unsigned: &Unsigned<'_>) -> Signed;

    /// Answers the sender's question, by GET, whether we are who it thinks; `query` is the raw query
    /// string. Most senders ask nothing.
    fn challenge(&self, _query: &str) -> Challenge {
        Challenge::NotAsked
    }

    /// The answer to that question where it is asked by a proven POST, which then is no event;
    /// `None` for every other request.
    fn question(&self, _verified: &Verified) -> Option<String> {
        None
    }

    /// What a request is answered once it is taken, where the sender asks for something of its own;
    /// else it is told how many of its events were new.
    fn answer(&self) -> Option<Answer> {
        None
    }

    /// What the key of each event of a request lacks, in words, so that it has a hash instead. For
    /// people who try a source out, where that depends on how it is configured.
    fn lacks(&self, _verified: &Verified) -> Vec<Vec<String>> {
        Vec::new()
    }
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
    /// The signed time is too far from ours: an old request is sent again, or a clock is wrong.
    Untimely,
}

impl Unproven {
    /// The word for the reason, as metrics have it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Missing => "signature_missing",
            Self::Malformed => "signature_malformed",
            Self::Wrong => "signature_wrong",
            Self::Untimely => "signature_untimely",
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

/// What a sender is to be answered, with status 200.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// The media type of `body`.
    pub content_type: &'static str,
    /// The answer itself.
    pub body: &'static str,
}
