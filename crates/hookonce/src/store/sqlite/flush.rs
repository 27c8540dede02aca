//! Flushes the write-ahead log beside the writer, and only then tells whoever waits.
//!
//! The writer commits without waiting for the disk (`synchronous = normal`), so that the next batch
//! is written while the one before it is flushed. Nothing is told before the flush that covers it
//! has returned: neither a sender, nor a worker whose claim lets an effect happen. The log's sums
//! are chained, so that what a power cut leaves of it is always a beginning.

use std::fs::File;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use super::queue::Work;
use crate::store::StoreError;

/// Batches that may wait for a flush; beyond them the writer waits too.
const BATCHES: usize = 1;

/// The log of an open database, as a flush needs it.
pub(super) type Log = Arc<File>;

/// The path of a database's log.
pub(super) fn log_path(database: &Path) -> std::io::Result<PathBuf> {
    // SQLite keeps the log beside the file itself, not beside a link to it.
    let mut path = std::fs::canonicalize(database)?.into_os_string();
    path.push("-wal");
    Ok(path.into())
}

/// The thread that flushes, as the writer sees it.
pub(super) struct Flush {
    batches: Option<SyncSender<Batch>>,
    thread: Option<JoinHandle<()>>,
    /// The first generation in which no flush has failed.
    sound: Arc<AtomicU64>,
    generation: u64,
}

/// What was committed as one transaction.
struct Batch {
    log: Log,
    /// Raised after each failure, once what it left in doubt is settled.
    generation: u64,
    works: Vec<Box<dyn Work>>,
}

impl Flush {
    /// Starts the thread.
    pub(super) fn start() -> Result<Self, StoreError> {
        let (batches, committed) = sync_channel(BATCHES);
        let sound = Arc::new(AtomicU64::new(0));
        let noted = sound.clone();
        let thread = std::thread::Builder::new()
            .name("hookonce-flush".to_owned())
            .spawn(move || run(&committed, &noted))
            .map_err(|error| {
                StoreError::unavailable(format!("no thread can be started: {error}"))
            })?;
        Ok(Self { batches: Some(batches), thread: Some(thread), sound, generation: 0 })
    }

    /// Tells `works` once what was committed before this call is on the disk.
    pub(super) fn tell(&self, log: Log, works: Vec<Box<dyn Work>>) {
        if let Some(batches) = &self.batches {
            // Without the thread the works are dropped here, and whoever waits is told by that.
            let _ = batches.send(Batch { log, generation: self.generation, works });
        }
    }

    /// Whether a flush has failed. The system says so once: what it then left in doubt may be read
    /// but never get to the disk by flushing again, and what follows it in the log is lost with it.
    /// So every flush fails from then on, until the log was moved and [`Flush::settle`] says so.
    pub(super) fn has_failed(&self) -> bool {
        self.sound.load(Ordering::Acquire) > self.generation
    }

    /// The log was moved into the database: what is committed from now on is flushed again.
    pub(super) fn settle(&mut self) {
        self.generation = self.sound.load(Ordering::Acquire);
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
fn run(committed: &Receiver<Batch>, sound: &AtomicU64) {
    while let Ok(first) = committed.recv() {
        let mut batches = vec![first];
        batches.extend(committed.try_iter());
        let mut flushed: Option<(Log, u64, Result<(), String>)> = None;
        for Batch { log, generation, works } in batches {
            let same = |(last, of, _): &(Log, u64, _)| Arc::ptr_eq(last, &log) && *of == generation;
            let (log, _, result) = flushed.take().filter(same).unwrap_or_else(|| {
                let result = flush(&log, generation, sound);
                (log, generation, result)
            });
            for work in works {
                let answer = result.clone().map_err(StoreError::unavailable);
                // What a caller's closure does when it is dropped is that caller's own.
                let _ = std::panic::catch_unwind(AssertUnwindSafe(|| work.tell(answer)));
            }
            flushed = Some((log, generation, result));
        }
    }
}

fn flush(log: &Log, generation: u64, sound: &AtomicU64) -> Result<(), String> {
    if generation < sound.load(Ordering::Acquire) {
        return Err("an earlier flush of the database's log failed".to_owned());
    }
    log.sync_data().map_err(|error| {
        sound.store(generation + 1, Ordering::Release);
        format!("the database's log can't be flushed to the disk: {error}")
    })
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use super::super::queue::Call;
    use super::*;

    /// What is told of a transaction whose log is `log`.
    fn told(flush: &Flush, log: &Log) -> Result<(), StoreError> {
        let (reply, answer) = oneshot::channel();
        let mut work = Call::new(reply, |_: &_| Ok(Ok(())));
        work.set_done(());
        flush.tell(log.clone(), vec![Box::new(work)]);
        answer.blocking_recv().unwrap()
    }

    #[test]
    fn after_a_failed_flush_nothing_is_told_as_stored_until_the_log_was_moved() {
        let file = |path: &str| Arc::new(File::open(path).unwrap());
        // A device can't be flushed.
        let (fails, flushes) = (file("/dev/null"), file("Cargo.toml"));
        let mut flush = Flush::start().unwrap();
        assert!(told(&flush, &flushes).is_ok() && !flush.has_failed());
        assert!(told(&flush, &fails).is_err());
        assert!(flush.has_failed());
        // The system itself would say yes to this one.
        assert!(told(&flush, &flushes).is_err());
        flush.settle();
        assert!(told(&flush, &flushes).is_ok() && !flush.has_failed());
    }
}
