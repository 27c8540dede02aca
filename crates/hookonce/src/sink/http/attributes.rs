//! The event's attributes as headers, by the HTTP binding of `CloudEvents` 1.0 in binary mode.

use axum::http::{HeaderMap, HeaderName, HeaderValue};

use crate::sink::attributes;
use crate::step::StepContext;

/// The attributes and the idempotency key.
pub(super) fn headers(context: &StepContext<'_>) -> HeaderMap {
    let mut headers = HeaderMap::with_capacity(16);
    for (name, text) in attributes::of(context) {
        let name = HeaderName::try_from(format!("ce-{name}"));
        headers.insert(
            name.expect("attributes are named in lower case"),
            value(&attributes::encoded(&text)),
        );
    }
    headers.insert(HeaderName::from_static("idempotency-key"), value(&idempotency_key(context)));
    headers
}

/// The idempotency key as it goes into a header; names in other alphabets are encoded.
pub(super) fn idempotency_key(context: &StepContext<'_>) -> String {
    attributes::encoded(&context.idempotency_key())
}

/// A header's value of text that is printable ASCII by now.
pub(super) fn value(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).expect("encoded text is printable ASCII")
}
