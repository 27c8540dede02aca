//! The handshake of TLS: part of a connection's first head, and held to its limits.
//!
//! Whose certificate is good is the library's to say; here it is only told what came of it.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::task::Poll;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

use super::activity::{Activity, Command, Phase};
use super::tls::Tls;
use crate::telemetry;

/// What is read of a client that is refused, so that it gets to read why.
const REST_LIMIT: u64 = 64 << 10;

/// Shakes hands; `None` if that fails, or the listener wants the connection to end. Its time counts
/// from the first byte, and goes on with the head that follows.
pub(super) async fn shake(
    stream: TcpStream,
    tls: &Tls,
    activity: &Activity,
) -> Option<TlsStream<TcpStream>> {
    // Of an error the handshake will tell.
    let _ = unless_told(activity, stream.readable()).await?;
    activity.enter(Phase::Head);
    let (error, stream) =
        match unless_told(activity, tls.acceptor().accept(stream).into_fallible()).await? {
            Ok(shaken) => return Some(shaken),
            Err(failed) => failed,
        };
    telemetry::handshake_failed(reason(&error), &error);
    unless_told(activity, dismiss(stream)).await?;
    None
}

/// Ends a connection in order. Closing with bytes unread would make the system reset it, and the
/// client would lose the alert that tells what was wrong.
async fn dismiss(mut stream: TcpStream) {
    // Errors mean that nobody reads it any more.
    if stream.shutdown().await.is_ok() {
        let _ = tokio::io::copy(&mut stream.take(REST_LIMIT), &mut tokio::io::sink()).await;
    }
}

/// Waits for `future` unless the connection is told to end. No request is lost by that: none has
/// begun.
async fn unless_told<F: Future>(activity: &Activity, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    poll_fn(|cx| {
        activity.register(cx.waker());
        if activity.command() != Command::None {
            return Poll::Ready(None);
        }
        future.as_mut().poll(cx).map(Some)
    })
    .await
}

/// The word for what went wrong, as metrics have it.
fn reason(error: &io::Error) -> &'static str {
    use rustls::Error::{
        AlertReceived, InvalidCertificate, InvalidMessage, NoCertificatesPresented,
        PeerIncompatible,
    };
    let tls = error.get_ref().and_then(|error| error.downcast_ref::<rustls::Error>());
    match tls {
        None => "closed",
        Some(NoCertificatesPresented) => "certificate_missing",
        Some(InvalidCertificate(_)) => "certificate_refused",
        Some(AlertReceived(_)) => "alert",
        Some(InvalidMessage(_)) => "no_tls",
        Some(PeerIncompatible(_)) => "incompatible",
        Some(_) => "other",
    }
}
