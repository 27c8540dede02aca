//! The event's attributes as headers, by the HTTP binding of `CloudEvents` 1.0 in binary mode.

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use crate::sink::attributes;
use crate::step::StepContext;

/// What the binding encodes beside everything that is not ASCII: space, double quote, percent.
const ENCODED: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'%');

/// The attributes and the idempotency key.
pub(super) fn headers(context: &StepContext<'_>) -> HeaderMap {
    let mut headers = HeaderMap::with_capacity(16);
    for (name, text) in attributes::of(context) {
        let name = HeaderName::try_from(format!("ce-{name}"));
        headers.insert(name.expect("attributes are named in lower case"), value(&encode(&text)));
    }
    headers.insert(HeaderName::from_static("idempotency-key"), value(&idempotency_key(context)));
    headers
}

/// The idempotency key as it goes into a header; names in other alphabets are encoded.
pub(super) fn idempotency_key(context: &StepContext<'_>) -> String {
    encode(&context.idempotency_key())
}

fn encode(text: &str) -> String {
    utf8_percent_encode(text, ENCODED).to_string()
}

/// A header's value of text that is printable ASCII by now.
pub(super) fn value(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).expect("encoded text is printable ASCII")
}

#[cfg(test)]
mod tests {
    use super::encode;

    #[test]
    fn values_are_encoded_as_the_binding_says() {
        assert_eq!(encode("Euro € 😀"), "Euro%20%E2%82%AC%20%F0%9F%98%80");
        assert_eq!(encode("a\"b%41\u{7f}\n"), "a%22b%2541%7F%0A");
        assert_eq!(encode("!#$&'()*+,-./:;<=>?@[]^_`{|}~"), "!#$&'()*+,-./:;<=>?@[]^_`{|}~");
    }
}
