//! How much room is left on the file's disk.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use crate::store::StoreError;

/// For how many milliseconds an answer holds.
const FRESH: u64 = 500;

/// Watches the free space of a file's disk.
pub(super) struct Disk {
    path: PathBuf,
    min_free: u64,
    start: Instant,
    /// When it was asked last, in milliseconds from `start`, plus one.
    asked: AtomicU64,
    free: AtomicU64,
}

impl Disk {
    pub(super) fn new(path: &Path, min_free: u64) -> Self {
        let (asked, free) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { path: path.to_owned(), min_free, start: Instant::now(), asked, free }
    }

    /// Fails while less than the minimum is free; asks the system twice a second at most.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        let now = u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX) + 1;
        let asked = self.asked.load(Ordering::Relaxed);
        if asked == 0 || now > asked + FRESH {
            if let Some(free) = free(&self.path) {
                self.free.store(free, Ordering::Relaxed);
            }
            self.asked.store(now, Ordering::Relaxed);
        }
        let free = self.free.load(Ordering::Relaxed);
        if free >= self.min_free {
            return Ok(());
        }
        Err(StoreError::unavailable(format!(
            "the disk of `{}` has {} MiB left and intake stops below {} MiB (`min_free_disk`): free \
             some space, senders will try again",
            self.path.display(),
            free >> 20,
            self.min_free >> 20,
        )))
    }
}

/// The bytes that are free on a file's disk, if the system tells.
pub(super) fn free(path: &Path) -> Option<u64> {
    rustix::fs::statvfs(path).ok().map(|disk| disk.f_bavail * disk.f_frsize)
}
