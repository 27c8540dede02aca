//! What a connection is doing and since when, and what it is told to do: shared by the connection
//! and the listener, without a lock.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::task::Waker;
use std::time::Duration;

use futures_util::task::AtomicWaker;
use tokio::time::Instant;

use super::head::Head;

/// What a connection is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// It has sent nothing yet.
    New = 0,
    /// It waits for the next request.
    Idle = 1,
    /// A request's head is arriving.
    Head = 2,
    /// A request is being answered.
    Busy = 3,
}

/// What a connection is told; a greater one overrides a smaller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Command {
    /// Nothing.
    None = 0,
    /// To close after the request in flight, at once if there is none.
    Finish = 1,
    /// To close now.
    Drop = 2,
}

/// One connection's state.
#[derive(Debug)]
pub(super) struct Activity {
    started_at: Instant,
    /// Milliseconds since `started_at` when the phase began, and the phase in the lowest two bits.
    phase: AtomicU64,
    /// What was seen of the head of the request that is next.
    head: AtomicU8,
    command: AtomicU8,
    /// The body of the request that is being answered has been read to its end.
    body_ended: AtomicBool,
    /// More of that body is waited for.
    body_awaited: AtomicBool,
    waker: AtomicWaker,
}

impl Activity {
    pub(super) fn new(started_at: Instant) -> Self {
        let activity = Self {
            started_at,
            phase: AtomicU64::new(0),
            head: AtomicU8::new(0),
            command: AtomicU8::new(0),
            body_ended: AtomicBool::new(false),
            body_awaited: AtomicBool::new(false),
            waker: AtomicWaker::new(),
        };
        activity.enter(Phase::New);
        activity
    }

    /// Notes whether the body of the present request has been read to its end.
    pub(super) fn set_body_ended(&self, has_ended: bool) {
        self.body_ended.store(has_ended, Ordering::Relaxed);
    }

    /// Whether the body of the present request has been read to its end.
    pub(super) fn has_body_ended(&self) -> bool {
        self.body_ended.load(Ordering::Relaxed)
    }

    /// Notes whether more of the present request's body is waited for.
    pub(super) fn set_body_awaited(&self, is_awaited: bool) {
        self.body_awaited.store(is_awaited, Ordering::Relaxed);
    }

    /// Whether more of the present request's body is waited for, and nothing else.
    pub(super) fn awaits_body(&self) -> bool {
        self.body_awaited.load(Ordering::Relaxed)
    }

    /// The phase, and how long it has lasted.
    pub(super) fn phase(&self) -> (Phase, Duration) {
        let packed = self.phase.load(Ordering::Relaxed);
        let phase = match packed & 3 {
            0 => Phase::New,
            1 => Phase::Idle,
            2 => Phase::Head,
            _ => Phase::Busy,
        };
        (phase, self.started_at.elapsed().saturating_sub(Duration::from_millis(packed >> 2)))
    }

    pub(super) fn enter(&self, phase: Phase) {
        // 2^62 milliseconds are longer than anything runs.
        let now = u64::try_from(self.started_at.elapsed().as_millis()).unwrap_or(u64::MAX >> 2);
        self.phase.store(now << 2 | phase as u64, Ordering::Relaxed);
    }

    /// Whether the bytes that arrive now are a request's head.
    pub(super) fn awaits_head(&self) -> bool {
        self.phase.load(Ordering::Relaxed) & 3 != Phase::Busy as u64
    }

    /// Whether the head has begun to arrive.
    pub(super) fn in_head(&self) -> bool {
        self.phase.load(Ordering::Relaxed) & 3 == Phase::Head as u64
    }

    pub(super) fn see(&self, head: Head) {
        self.head.store(head.bits(), Ordering::Relaxed);
    }

    /// What was seen of the head of the request that is now handled.
    pub(super) fn take_head(&self) -> Head {
        Head::from_bits(self.head.swap(0, Ordering::Relaxed))
    }

    pub(super) fn command(&self) -> Command {
        match self.command.load(Ordering::Acquire) {
            0 => Command::None,
            1 => Command::Finish,
            _ => Command::Drop,
        }
    }

    /// Tells the connection something; false if it was told as much before.
    pub(super) fn order(&self, command: Command) -> bool {
        let news = self.command.fetch_max(command as u8, Ordering::AcqRel) < command as u8;
        if news {
            self.waker.wake();
        }
        news
    }

    /// Whom to wake when there is a new command.
    pub(super) fn register(&self, waker: &Waker) {
        self.waker.register(waker);
    }
}
