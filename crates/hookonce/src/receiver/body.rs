//! Reading a body whole, within its limits: bytes, time, and the budget shared by all requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::body::{Body, HttpBody as _};
use axum::http::{HeaderMap, header};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;

use super::{ReceiverOptions, Rejection};
use crate::scheme::Request;

/// How much room is made at once for a body that comes in parts: a length that is only announced
/// is not worth memory.
const FIRST_ROOM: usize = 64 << 10;

/// Reads a request whole. What can be refused by its headers is refused before anything is read,
/// and so before `100 Continue` is sent.
pub(super) async fn read(
    request: axum::extract::Request,
    options: &ReceiverOptions,
    budget: &Arc<Budget>,
) -> Result<(Request, Held), Rejection> {
    let received_at = options.clock.now();
    let (parts, body) = request.into_parts();
    if is_encoded(&parts.headers) {
        return Err(Rejection::Encoded);
    }
    let announced = body.size_hint().lower();
    if announced > options.body_limit as u64 {
        return Err(Rejection::TooLarge);
    }
    if announced > budget.left() as u64 {
        return Err(Rejection::Busy);
    }
    let mut held = Held { budget: budget.clone(), bytes: 0 };
    let whole = collect(body, options.body_limit, &mut held);
    let body = tokio::time::timeout(options.body_timeout, whole)
        .await
        .map_err(|_| Rejection::BodySlow)??;
    let (headers, target) = (parts.headers, parts.uri);
    Ok((Request { headers, body, target, base: None, received_at }, held))
}

/// Puts a body together. A short one comes in one piece, which is not copied.
async fn collect(mut body: Body, limit: usize, held: &mut Held) -> Result<Bytes, Rejection> {
    let mut first = Bytes::new();
    let mut whole = BytesMut::new();
    while !body.is_end_stream() {
        let Some(frame) = body.frame().await else { break };
        // Trailers say nothing that we would believe.
        let Ok(data) = frame.map_err(|_| Rejection::BodyBroken)?.into_data() else { continue };
        if held.bytes + data.len() > limit {
            return Err(Rejection::TooLarge);
        }
        held.take(data.len())?;
        if held.bytes == data.len() {
            first = data;
            continue;
        }
        if whole.is_empty() {
            whole.reserve(FIRST_ROOM.max(held.bytes));
            whole.extend_from_slice(&first);
        }
        whole.extend_from_slice(&data);
    }
    Ok(if whole.is_empty() { first } else { whole.freeze() })
}

fn is_encoded(headers: &HeaderMap) -> bool {
    headers
        .get_all(header::CONTENT_ENCODING)
        .iter()
        .any(|value| !value.as_bytes().trim_ascii().eq_ignore_ascii_case(b"identity"))
}

/// The bytes of bodies that may be held at once.
#[derive(Debug)]
pub(super) struct Budget {
    limit: usize,
    taken: AtomicUsize,
}

impl Budget {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, taken: AtomicUsize::new(0) }
    }

    pub(super) fn taken(&self) -> usize {
        self.taken.load(Ordering::Relaxed)
    }

    fn left(&self) -> usize {
        self.limit.saturating_sub(self.taken())
    }
}

/// A request's part of the budget, given back once nothing holds its body any more. Bytes are taken as
/// they arrive: were they taken as announced, a few headers could block the way for everybody.
#[derive(Debug)]
pub(super) struct Held {
    budget: Arc<Budget>,
    bytes: usize,
}

impl Held {
    fn take(&mut self, bytes: usize) -> Result<(), Rejection> {
        let before = self.budget.taken.fetch_add(bytes, Ordering::Relaxed);
        self.bytes += bytes;
        if before + bytes > self.budget.limit { Err(Rejection::Busy) } else { Ok(()) }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.budget.taken.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}
