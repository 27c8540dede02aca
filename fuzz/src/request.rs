//! A request as a scheme is given it, for fuzzing and for benchmarks: the one place that makes one.

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use hookonce::scheme::{Request, Scheme, Unsigned};
use jiff::Timestamp;

/// When every request is signed and arrives.
pub const NOW: Timestamp = Timestamp::constant(1_760_000_000, 0);

/// A request as its sender would sign it, with further headers.
pub fn signed(scheme: &dyn Scheme, body: &[u8], more: &[(&str, &[u8])]) -> Request {
    let url = "https://hooks.example.org/webhooks/source";
    let signed = scheme.sign(&Unsigned { body, url, id: "msg_1", at: NOW });
    let headers = signed.headers.iter().map(|(name, value)| (&**name, value.as_bytes()));
    let headers: Vec<_> = headers.chain(more.iter().copied()).collect();
    let mut request = request(&headers, body).expect("what a scheme signs with can be sent");
    if let Some(query) = signed.query {
        let target = format!("/webhooks/source?{query}");
        request.target = target.parse().expect("what a scheme signs with can be asked");
    }
    request
}

/// A request with these headers; `None` if one of them is none that HTTP can carry.
pub fn request(headers: &[(&str, &[u8])], body: &[u8]) -> Option<Request> {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        map.append(name.parse::<HeaderName>().ok()?, HeaderValue::from_bytes(value).ok()?);
    }
    Some(Request { headers: map, ..Request::of(body.to_vec(), NOW) })
}
