//! A request as a scheme is given it, for fuzzing and for benchmarks: the one place that makes one.

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use hookonce::scheme::Request;

/// A request with these headers; `None` if one of them is none that HTTP can carry.
pub fn request(headers: &[(&str, &[u8])], body: &[u8]) -> Option<Request> {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        map.append(name.parse::<HeaderName>().ok()?, HeaderValue::from_bytes(value).ok()?);
    }
    Some(Request { headers: map, body: body.to_vec().into() })
}
