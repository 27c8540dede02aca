//! Flushes the write-ahead log beside the writer, and only then tells whoever waits.
//!
//! The writer commits without waiting for the disk (`synchronous = normal`), so that the next batch
//! is written while the one before it is flushed. Nothing is told before the flush that covers it
//! has returned: neither a sender, nor a worker whose claim lets an effect happen. The log's sums
//! are chained, so that what a power cut leaves of it is always a beginning.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use super::queue::Work;
use crate::store::StoreError;

/// Batches that may wait for a flush; beyond them the writer waits too.
const BATCHES: usize = 1;

/// The log of an open database, as a flush needs it.
pub(super) type Log = Arc<File>;

/// Opens the log of a database that is open in WAL mode, so that it has one.
pub(super) fn open_log(database: &Path) -> std::io::Result<Log> {
    // SQLite keeps the log beside the file itself, not beside a link to it.
    let mut path = std::fs::canonicalize(database)?.into_os_string();
    path.push("-wal");
    File::open(path).map(Arc::new)
}

/// The thread that flushes, as the writer sees it.
pub(super) struct Flush {
    batches: Option<SyncSender<Batch>>,
    thread: Option<JoinHandle<()>>,
    failed: Arc<AtomicBool>,
}

/// What was committed as one transaction.
struct Batch {
    log: Log,
    works: Vec<Box<dyn Work>>,
}

impl Flush {
    /// Starts the thread.
    pub(super) fn start() -> Result<Self, StoreError> {
        let (batches, committed) = sync_channel(BATCHES);
        let failed = Arc::new(AtomicBool::new(false));
        let noted = failed.clone();
        let thread = std::thread::Builder::new()
            .name("hookonce-flush".to_owned())
            .spawn(move || run(&committed, &noted))
            .map_err(|error| {
                StoreError::unavailable(format!("no thread can be started: {error}"))
            })?;
        Ok(Self { batches: Some(batches), thread: Some(thread), failed })
    }

    /// Tells `works` once what was committed before this call is on the disk.
    pub(super) fn tell(&self, log: Log, works: Vec<Box<dyn Work>>) {
        if let Some(batches) = &self.batches {
            // Without the thread the works are dropped here, and whoever waits is told by that.
            let _ = batches.send(Batch { log, works });
        }
    }

    /// Whether a flush has failed since the last call. What it left in doubt may never get to the
    /// disk by flushing again: the log must be moved into the database first.
    pub(super) fn take_failed(&self) -> bool {
        self.failed.swap(false, Ordering::AcqRel)
    }
}

impl Drop for Flush {
    fn drop(&mut self) {
        drop(self.batches.take());
        if let Some(thread) = self.thread.take() {
            // It panicked: then it has said so.
            let _ = thread.join();
        }
    }
}

/// One flush for all that was committed while the one before it ran.
fn run(committed: &Receiver<Batch>, failed: &AtomicBool) {
    while let Ok(first) = committed.recv() {
        let mut batches = vec![first];
        batches.extend(committed.try_iter());
        let mut flushed: Option<(Log, Result<(), String>)> = None;
        for Batch { log, works } in batches {
            let known = flushed.take().filter(|(last, _)| Arc::ptr_eq(last, &log));
            let (log, result) = known.unwrap_or_else(|| {
                let result = log.sync_data().map_err(|error| {
                    failed.store(true, Ordering::Release);
                    format!("the database's log can't be flushed to the disk: {error}")
                });
                (log, result)
            });
            for work in works {
                work.tell(result.clone().map_err(StoreError::unavailable));
            }
            flushed = Some((log, result));
        }
    }
}
