//! A log line that may come ten thousand times a second, written once in ten.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// The least time between two lines, in seconds.
const PAUSE_SECS: u64 = 10;

/// Lets a line through once in a while and counts the others, so that a flood of bad requests or a
/// store that is down can't fill the disk with log.
#[derive(Debug)]
pub(super) struct Seldom {
    /// Seconds since [`START`], plus one, at which the last line was let through; 0 for never.
    last: AtomicU64,
    held_back: AtomicU64,
}

static START: LazyLock<Instant> = LazyLock::new(Instant::now);

impl Seldom {
    pub(super) const fn new() -> Self {
        Self { last: AtomicU64::new(0), held_back: AtomicU64::new(0) }
    }

    /// How many lines this one stands for, itself included; `None` if it is not to be written.
    pub(super) fn ask(&self) -> Option<u64> {
        let now = START.elapsed().as_secs() + 1;
        let last = self.last.load(Ordering::Relaxed);
        let due = last == 0 || now >= last + PAUSE_SECS;
        let won = due
            && self.last.compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        if won {
            return Some(self.held_back.swap(0, Ordering::Relaxed) + 1);
        }
        self.held_back.fetch_add(1, Ordering::Relaxed);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::Seldom;

    #[test]
    fn only_the_first_of_many_lines_is_written() {
        let line = Seldom::new();
        assert_eq!(line.ask(), Some(1));
        assert!((0..1000).all(|_| line.ask().is_none()));
    }
}
