//! Signatures of every scheme but Meta's and those of forms: nothing is proven unless it is worked
//! out here, too.

mod mac;
mod token;
mod way;

use hookonce::scheme::Request;

use super::request::{request, signed};
use way::{Proven, Way};

/// What stands in a header for a signature that is right, under the first secret or the second, and
/// for one that is wrong in a bit.
const MARKS: [char; 3] = ['\u{1}', '\u{2}', '\u{3}'];

/// The first byte says which way of signing it is. Up to the first line feed there are headers, each
/// up to a carriage return: a byte for which of the way's it is, and its value, with marks where a
/// signature is put. The rest is the body.
pub fn signatures(bytes: &[u8]) {
    let Some((which, rest)) = bytes.split_first() else { return };
    let ways = way::all();
    let way = &ways[usize::from(*which) % ways.len()];
    let end = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
    let (line, body) = (&rest[..end], rest.get(end + 1..).unwrap_or_default());

    if let Some(request) = asked(way, line, body) {
        let right = (way.proven)(&request);
        let said = way.scheme.verify(request).map(|verified| verified.secret);
        match right {
            Proven::By(secret) => assert_eq!(said, Ok(Some(secret)), "it is right"),
            Proven::Not => assert!(said.is_err(), "it is wrong, and taken: {said:?}"),
            Proven::Perhaps => {}
        }
    }
    // What the scheme itself signs is right; where another header says it is JSON, it must look so.
    let body = if way.beside.is_empty() { body.to_vec() } else { [b"{", body].concat() };
    let mut request = signed(&*way.scheme, &body, &[]);
    assert_eq!((way.proven)(&request), Proven::By(0));
    let said = way.scheme.verify(request.clone()).map(|verified| verified.secret);
    assert_eq!(said, Ok(Some(0)));
    // And nothing is once it is there twice.
    let name = way.headers[0];
    let value = request.headers[name].clone();
    request.headers.append(name.parse::<axum::http::HeaderName>().expect("it is a name"), value);
    assert!(way.scheme.verify(request).is_err(), "which of two is it");
}

/// The request that the bytes ask for; `None` where HTTP can't carry it.
fn asked(way: &Way, line: &[u8], body: &[u8]) -> Option<Request> {
    let line = std::str::from_utf8(line).ok()?;
    let mut headers = Vec::new();
    for header in line.split('\r') {
        let Some(first) = header.chars().next().filter(char::is_ascii) else { continue };
        let name = way.headers[first as usize % way.headers.len()];
        headers.push((name, header[1..].to_owned()));
    }
    // A signature may be over the other headers.
    let texts = (way.texts)(&made(way, &headers, body)?);
    for (_, value) in &mut headers {
        for (mark, text) in MARKS.into_iter().zip(&texts) {
            *value = value.replace(mark, text);
        }
        *value = token::with_tokens(value);
    }
    made(way, &headers, body)
}

fn made(way: &Way, headers: &[(&str, String)], body: &[u8]) -> Option<Request> {
    let mut request = request(&way.beside, body)?;
    for (name, value) in headers {
        // What is signed of the address is put beside the headers.
        if *name == way::QUERY {
            let query = value.replace(MARKS[2], "0");
            request.target = format!("/webhooks/source?{query}").parse().ok()?;
        } else {
            let value = value.replace(|c: char| c.is_ascii_control() && c != '\t', "0");
            let name = name.parse::<axum::http::HeaderName>().ok()?;
            request.headers.append(name, value.parse().ok()?);
        }
    }
    Some(request)
}
