//! Why a request was not taken, and what its sender is told.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::scheme::Unproven;
use crate::telemetry::{self, SourceMeter};

/// After how many seconds a sender may come again.
const RETRY_AFTER_SECS: &str = "5";

/// Why a request was not taken. A variant exists because its answer differs, or because the person
/// who reads the metrics does something else about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rejection {
    /// No source has this name.
    UnknownSource,
    /// A webhook path is not asked that way.
    Method,
    /// It comes from an address that the source doesn't allow, or nobody knows from which.
    Address,
    /// The sender isn't proven.
    Unproven(Unproven),
    /// A challenge with another token than ours, or none is configured.
    ChallengeRefused,
    /// A GET that asks no challenge.
    NotAsked,
    /// The body is longer than allowed.
    TooLarge,
    /// The body is compressed. Which bytes a sender signs then is anybody's guess, and none of ours
    /// compresses.
    Encoded,
    /// The body did not arrive in time.
    BodySlow,
    /// The body broke off or is not framed as HTTP says.
    BodyBroken,
    /// More bytes are in flight than the budget has.
    Busy,
    /// The store could not take the events.
    NotStored,
    /// The store did not answer in time.
    StoreSlow,
    /// An attempt to handle the events failed, and their sender waits for that.
    NotHandled,
    /// The events were not handled in time, and their sender waits for that.
    HandledSlow,
}

impl Rejection {
    /// The word for the reason, as metrics have it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::UnknownSource => "unknown_source",
            Self::Method => "method",
            Self::Address => "address",
            Self::Unproven(unproven) => unproven.as_str(),
            Self::ChallengeRefused => "challenge_refused",
            Self::NotAsked => "challenge_not_asked",
            Self::TooLarge => "body_too_large",
            Self::Encoded => "body_encoded",
            Self::BodySlow => "body_slow",
            Self::BodyBroken => "body_broken",
            Self::Busy => "busy",
            Self::NotStored => "not_stored",
            Self::StoreSlow => "store_slow",
            Self::NotHandled => "not_handled",
            Self::HandledSlow => "handled_slow",
        }
    }

    /// Whether it is ours to mend, and the sender is to come again.
    fn is_failure(self) -> bool {
        matches!(
            self,
            Self::Busy | Self::NotStored | Self::StoreSlow | Self::NotHandled | Self::HandledSlow
        )
    }

    /// Counts the rejection and makes the answer to it.
    pub(super) fn answer(self, source: Option<&SourceMeter>) -> Response {
        match source {
            Some(source) if self.is_failure() => telemetry::failed(source, self.as_str()),
            _ => telemetry::refused(source, self.as_str()),
        }
        self.into_response()
    }

    /// The status and a sentence for the person who looks into the sender's log. One sentence for
    /// every unproven request: the difference would help only who tries.
    fn status(self) -> (StatusCode, &'static str) {
        match self {
            Self::UnknownSource => (StatusCode::NOT_FOUND, "no such source\n"),
            Self::Method => (StatusCode::METHOD_NOT_ALLOWED, "send webhooks by POST\n"),
            Self::Address => (StatusCode::FORBIDDEN, "this address may not send here\n"),
            Self::Unproven(_) => (StatusCode::UNAUTHORIZED, "the sender is not proven\n"),
            Self::ChallengeRefused => (StatusCode::FORBIDDEN, "the challenge is refused\n"),
            Self::NotAsked => (StatusCode::BAD_REQUEST, "no challenge is asked\n"),
            Self::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "the body is too large\n"),
            Self::Encoded => {
                (StatusCode::UNSUPPORTED_MEDIA_TYPE, "send the body without Content-Encoding\n")
            }
            Self::BodySlow => (StatusCode::REQUEST_TIMEOUT, "the body took too long\n"),
            Self::BodyBroken => (StatusCode::BAD_REQUEST, "the body can't be read\n"),
            Self::Busy | Self::NotStored | Self::StoreSlow => {
                (StatusCode::SERVICE_UNAVAILABLE, "not stored; send it again\n")
            }
            Self::NotHandled | Self::HandledSlow => {
                (StatusCode::SERVICE_UNAVAILABLE, "stored, not handled yet; send it again\n")
            }
        }
    }
}

impl From<Unproven> for Rejection {
    fn from(unproven: Unproven) -> Self {
        Self::Unproven(unproven)
    }
}

impl IntoResponse for Rejection {
    fn into_response(self) -> Response {
        let (status, sentence) = self.status();
        let mut answer = (status, super::plain(), sentence).into_response();
        let headers = answer.headers_mut();
        match self {
            Self::Method => headers.extend(super::allow()),
            Self::Encoded => {
                headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
            }
            _ if self.is_failure() => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from_static(RETRY_AFTER_SECS));
            }
            _ => {}
        }
        // What is left of such a body is not read, so nothing can follow it.
        if matches!(self, Self::TooLarge | Self::BodySlow | Self::BodyBroken | Self::Busy) {
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        answer
    }
}
