//! A connection's bytes: watches them go by, and ends them so that the last answer gets read.

use std::fmt::Debug;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use super::activity::{Activity, Command, Phase};
use super::head::HeadScan;

/// How long a client that is still sending may go on after its last answer.
const LINGER_TIMEOUT: Duration = Duration::from_secs(10);
/// How many bytes such a client may send.
const LINGER_LIMIT: usize = 64 << 20;

/// A stream, encrypted or not, that tells the listener what it is doing.
#[derive(Debug)]
pub(super) struct Wire {
    stream: Pin<Box<dyn Duplex>>,
    activity: Arc<Activity>,
    scan: HeadScan,
    /// The client has said that it sends nothing more.
    ended: bool,
    linger: Option<Linger>,
}

/// What goes both ways.
pub(super) trait Duplex: AsyncRead + AsyncWrite + Debug + Send {}

impl<S: AsyncRead + AsyncWrite + Debug + Send> Duplex for S {}

/// Reading on after the last answer.
#[derive(Debug)]
struct Linger {
    left: usize,
    until: Pin<Box<Sleep>>,
    discarded: Box<[u8]>,
}

impl Wire {
    pub(super) fn new(stream: impl Duplex + 'static, activity: Arc<Activity>) -> Self {
        let stream = Box::pin(stream);
        Self { stream, activity, scan: HeadScan::default(), ended: false, linger: None }
    }

    fn watch(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            self.ended = true;
        } else if self.activity.awaits_head() {
            if !self.activity.in_head() {
                self.activity.enter(Phase::Head);
                self.scan = HeadScan::default();
            }
            self.activity.see(self.scan.read(bytes));
        }
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(self.stream.as_mut().poll_read(cx, buffer))?;
        self.watch(&buffer.filled()[before..]);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.stream.as_mut().poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.stream.as_mut().poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.as_mut().poll_flush(cx)
    }

    /// Says that no more answers come, then reads and forgets what the client still sends. Closing
    /// with bytes unread would make the system reset the connection, and the client would lose the
    /// answer that tells it what was wrong: a 413 above all.
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let wire = &mut *self;
        if wire.linger.is_none() {
            ready!(wire.stream.as_mut().poll_shutdown(cx))?;
            // A connection that lingers may be shed like an idle one.
            wire.activity.enter(Phase::Idle);
        }
        let linger = wire.linger.get_or_insert_with(|| Linger {
            left: LINGER_LIMIT,
            until: Box::pin(sleep(LINGER_TIMEOUT)),
            discarded: vec![0; 16 << 10].into_boxed_slice(),
        });
        // Whoever is told to finish has been idle, or is being shut down with everything else.
        while !wire.ended && linger.left > 0 && wire.activity.command() == Command::None {
            let mut buffer = ReadBuf::new(&mut linger.discarded);
            match wire.stream.as_mut().poll_read(cx, &mut buffer) {
                Poll::Pending => {
                    ready!(linger.until.as_mut().poll(cx));
                    break;
                }
                Poll::Ready(Err(_)) => break,
                Poll::Ready(Ok(())) => {
                    wire.ended = buffer.filled().is_empty();
                    linger.left = linger.left.saturating_sub(buffer.filled().len());
                }
            }
        }
        Poll::Ready(Ok(()))
    }
}
