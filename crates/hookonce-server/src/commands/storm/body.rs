//! The body of a request that is sent in pieces, and perhaps never to its end.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::Future as _;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use tokio::time::Sleep;

/// Into how many pieces what is sent slowly is cut.
const PIECES: usize = 4;
/// How long is waited before each of them.
const PAUSE: Duration = Duration::from_millis(20);

/// A body, whose length is said before.
#[derive(Debug)]
pub(super) struct PacedBody {
    length: u64,
    pieces: VecDeque<Bytes>,
    pause: Option<Pin<Box<Sleep>>>,
    /// It stops where the pieces end.
    is_cut: bool,
}

impl PacedBody {
    /// In one piece.
    pub(super) fn whole(body: &Bytes) -> Self {
        Self::new(body, VecDeque::from([body.clone()]), false)
    }

    /// In several, with time between them.
    pub(super) fn slow(body: &Bytes) -> Self {
        let size = body.len().div_ceil(PIECES).max(1);
        let from = (0..body.len()).step_by(size);
        let pieces = from.map(|from| body.slice(from..(from + size).min(body.len())));
        let pause = Some(Box::pin(tokio::time::sleep(PAUSE)));
        Self { pause, ..Self::new(body, pieces.collect(), false) }
    }

    /// Half of it, and nothing more.
    pub(super) fn cut(body: &Bytes) -> Self {
        Self::new(body, VecDeque::from([body.slice(..body.len() / 2)]), true)
    }

    fn new(body: &Bytes, pieces: VecDeque<Bytes>, is_cut: bool) -> Self {
        Self { length: body.len() as u64, pieces, pause: None, is_cut }
    }
}

impl Body for PacedBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if let Some(pause) = &mut self.pause {
            std::task::ready!(pause.as_mut().poll(context));
            self.pause = Some(Box::pin(tokio::time::sleep(PAUSE)));
        }
        match self.pieces.pop_front() {
            Some(piece) => {
                self.length -= piece.len() as u64;
                Poll::Ready(Some(Ok(Frame::data(piece))))
            }
            // Nobody wakes it: whoever sends it drops it.
            None if self.is_cut => Poll::Pending,
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.length == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.length)
    }
}
