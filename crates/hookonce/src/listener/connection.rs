//! One connection: HTTP/1.1 on a TCP stream, encrypted or not, one request after another.

use std::convert::Infallible;
use std::future::{Future as _, poll_fn};
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Bytes, HttpBody};
use axum::extract::ConnectInfo;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use hyper::body::{Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tower_service::Service as _;

use super::activity::{Activity, Command, Phase};
use super::handshake;
use super::tls::Tls;
use super::wire::Wire;
use crate::telemetry;

/// The longest head of a request, and what is read ahead of a body. Bounds what a connection holds.
const BUFFER_LIMIT: usize = 64 << 10;

/// Serves a connection until its client or the listener ends it.
pub(super) async fn serve(
    (stream, peer): (TcpStream, SocketAddr),
    tls: Option<Arc<Tls>>,
    router: axum::Router,
    activity: Arc<Activity>,
) {
    // Without it the system may wait for the client's acknowledgement before it sends an answer. A
    // stream that refuses is broken, which reading from it will show.
    let _ = stream.set_nodelay(true);
    let wire = match tls {
        None => Wire::new(stream, activity.clone()),
        Some(tls) => match handshake::shake(stream, &tls, &activity).await {
            Some(stream) => Wire::new(stream, activity.clone()),
            None => return,
        },
    };
    let io = TokioIo::new(wire);
    let service = service_fn(|mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(ConnectInfo(peer));
        answer(request, &router, &activity)
    });
    let connection = http1::Builder::new()
        // A client that has sent its request and closes its sending half still gets its answer, and
        // one that went away has its request stored to the end. It also saves a read each request.
        .half_close(true)
        // The listener's sweep sees to it: without a timer for each request, and apart from the
        // time between requests.
        .header_read_timeout(None)
        .max_buf_size(BUFFER_LIMIT)
        .serve_connection(io, service);
    let mut connection = pin!(connection);
    let mut told = false;
    poll_fn(|cx| {
        activity.register(cx.waker());
        match activity.command() {
            Command::Drop => return Poll::Ready(()),
            Command::Finish if !told => {
                told = true;
                connection.as_mut().graceful_shutdown();
            }
            Command::Finish | Command::None => {}
        }
        // Its errors are the client's: it went away or does not speak HTTP.
        connection.as_mut().poll(cx).map(|_| ())
    })
    .await;
}

async fn answer(
    request: hyper::Request<Incoming>,
    router: &axum::Router,
    activity: &Arc<Activity>,
) -> Result<Response, Infallible> {
    let ambiguous = activity.take_head().is_ambiguous() || !framing_is_known(request.headers());
    activity.enter(Phase::Busy);
    activity.set_body_ended(request.body().is_end_stream());
    let request = request.map(|body| Watched { body, activity: activity.clone() });
    let mut answer = if ambiguous { refuse() } else { router.clone().call(request).await? };
    // What is left of a body is not read, so that no other request can follow: a client that isn't told
    // sends one, and a proxy may send another client's.
    if !activity.has_body_ended() {
        answer.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    // An answer whose end isn't known may take as long as it likes.
    if answer.body().size_hint().exact().is_some() {
        activity.enter(Phase::Idle);
    }
    Ok(answer)
}

/// A request's body, of which it is noted when it is waited for and when it has ended.
struct Watched {
    body: Incoming,
    activity: Arc<Activity>,
}

impl Drop for Watched {
    /// Whoever gives it up waits no longer.
    fn drop(&mut self) {
        self.activity.set_body_awaited(false);
    }
}

impl HttpBody for Watched {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(cx);
        self.activity.set_body_awaited(frame.is_pending());
        if self.body.is_end_stream() || matches!(frame, Poll::Ready(None)) {
            self.activity.set_body_ended(true);
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Whether a body's length is given in a way that everybody between its sender and us understands
/// alike: `chunked` alone, or no transfer coding.
fn framing_is_known(headers: &HeaderMap) -> bool {
    let mut codings = headers.get_all(header::TRANSFER_ENCODING).iter();
    let first = codings.next().map(HeaderValue::as_bytes);
    first.is_none_or(|coding| coding.trim_ascii().eq_ignore_ascii_case(b"chunked"))
        && codings.next().is_none()
}

fn refuse() -> Response {
    telemetry::refused(None, "ambiguous_length");
    let close = [(header::CONNECTION, HeaderValue::from_static("close"))];
    (StatusCode::BAD_REQUEST, close, "the length of the body is ambiguous\n").into_response()
}
