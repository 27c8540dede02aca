//! Why a call was not done, as RFC 9457 says it.

use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use hookonce::store::StoreError;
use hookonce::telemetry;
use schemars::JsonSchema;
use serde::Serialize;

use crate::config::nearest;

/// After how many seconds to come again.
const RETRY_AFTER_SECS: HeaderValue = HeaderValue::from_static("5");

/// Why a call was not done.
#[derive(Debug)]
pub(super) struct Problem {
    status: StatusCode,
    detail: String,
    header: Option<(HeaderName, HeaderValue)>,
}

/// A problem as it is shown.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Problem")]
pub(super) struct ProblemAnswer {
    /// Always `about:blank`: the status says what sort of problem it is.
    #[serde(rename = "type")]
    kind: &'static str,
    /// The status in words.
    title: &'static str,
    /// The status.
    status: u16,
    /// What is wrong and what to do about it, for a person.
    detail: String,
}

impl Problem {
    fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self { status, detail: detail.into(), header: None }
    }

    fn with(self, name: HeaderName, value: HeaderValue) -> Self {
        Self { header: Some((name, value)), ..self }
    }

    /// The call says something that can't be understood or done.
    pub(super) fn bad(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, detail)
    }

    /// One part of the call is wrong.
    pub(super) fn bad_member(name: &str, what: impl std::fmt::Display) -> Self {
        Self::bad(format!("`{name}`: {what}"))
    }

    /// What the call says, in the member of this name if it is known, doesn't read as what it takes.
    /// Adds the word that was probably meant to what `serde` says of one it doesn't know.
    pub(super) fn unread(name: Option<&str>, error: &impl std::fmt::Display) -> Self {
        let text = error.to_string();
        let text = text.split(" at line ").next().unwrap_or_default();
        let mut words = text.split('`').skip(1).step_by(2);
        let hint = text.contains("unknown variant").then(|| words.next()).flatten();
        let hint = hint.and_then(|given| nearest(given, &words.collect::<Vec<_>>()));
        let hint = hint.map(|word| format!("; did you mean `{word}`?")).unwrap_or_default();
        match name {
            Some(name) => Self::bad_member(name, format!("{text}{hint}")),
            None => Self::bad(format!("{text}{hint}")),
        }
    }

    /// Nobody who may call is proven.
    pub(super) fn unauthenticated() -> Self {
        let detail =
            "every call needs a token of `[[admin.tokens]]`, as `Authorization: Bearer TOKEN`";
        Self::new(StatusCode::UNAUTHORIZED, detail)
            .with(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))
    }

    /// The caller may not do this.
    pub(super) fn forbidden(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, detail)
    }

    /// The request is for a host that isn't ours.
    pub(super) fn foreign_host() -> Self {
        Self::forbidden(
            "this is no name of the admin listener; call it by its address, or add the name to \
             `admin.hosts`",
        )
    }

    /// There is nothing of this name.
    pub(super) fn not_found(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, detail)
    }

    /// There is no call with this path and method; `allow` has the methods.
    pub(super) fn method(allow: &str) -> Self {
        let header = HeaderValue::from_str(allow).ok().map(|allow| (header::ALLOW, allow));
        Self { header, ..Self::new(StatusCode::METHOD_NOT_ALLOWED, format!("use {allow}")) }
    }

    /// The claim is no longer the caller's.
    pub(super) fn lost() -> Self {
        let detail = "the claim is lost: it was finished, given back or taken over, or its lease \
                      ended; nothing was written";
        Self::new(StatusCode::CONFLICT, detail)
    }

    /// The body is longer than it may be.
    pub(super) fn too_large(limit: usize) -> Self {
        let detail = format!("the body is longer than {limit} bytes");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, detail).closing()
    }

    /// The body did not come in time.
    pub(super) fn body_slow() -> Self {
        Self::new(StatusCode::REQUEST_TIMEOUT, "the body took too long").closing()
    }

    /// The body broke off.
    pub(super) fn body_broken() -> Self {
        Self::bad("the body can't be read").closing()
    }

    /// The body is not JSON by its own word.
    pub(super) fn not_json() -> Self {
        let detail = "send the body as JSON, with `Content-Type: application/json`";
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail)
    }

    /// The store doesn't answer.
    pub(super) fn slow() -> Self {
        let detail = "the store did not answer in time; whether it was done is unknown";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, detail)
            .with(header::RETRY_AFTER, RETRY_AFTER_SECS)
    }

    // What is left of such a body is not read, so nothing can follow it.
    fn closing(self) -> Self {
        self.with(header::CONNECTION, HeaderValue::from_static("close"))
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        if matches!(error, StoreError::Lost) {
            return Self::lost();
        }
        telemetry::admin_failed(&error);
        let detail = "the store can't be used now; the log says why";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, detail)
            .with(header::RETRY_AFTER, RETRY_AFTER_SECS)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let Self { status, detail, header } = self;
        let title = status.canonical_reason().unwrap_or_default();
        let answer = ProblemAnswer { kind: "about:blank", title, status: status.as_u16(), detail };
        // Texts and a number: they can always be written.
        let body = serde_json::to_vec(&answer).unwrap_or_default();
        let json = [(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"))];
        let mut response = (status, json, body).into_response();
        response.headers_mut().extend(header);
        response
    }
}
