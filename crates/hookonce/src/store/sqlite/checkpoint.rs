//! Moves the write-ahead log into the file beside the writer, so that no commit waits for it.
//!
//! A log that is never wholly moved never begins anew, and under a steady load new pages always
//! come. So the thread here moves the many, and the writer itself the few that came meanwhile.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

use rusqlite::Connection;
use rusqlite::hooks::Wal;

use super::session::Session;
use crate::store::StoreError;

/// From how many pages on the log is moved: the more, the less often a page is moved that changes
/// again soon. 64 MiB.
const PAGES: u32 = 16_000;

/// The log is as short as it should be, or being moved.
const RESTING: u8 = 0;
/// The many were moved: the few are the writer's.
const NEARLY_DONE: u8 = 1;

/// The thread that moves the log, as the writer sees it.
pub(super) struct Checkpoint {
    wanted: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
    state: Arc<AtomicU8>,
    /// Pages in the log after the last commit.
    pages: Arc<AtomicU32>,
}

impl Checkpoint {
    /// Starts the thread, which opens the file when it is first asked.
    pub(super) fn start(path: &Path) -> Result<Self, StoreError> {
        let (wanted, asked) = sync_channel(1);
        let state = Arc::new(AtomicU8::new(RESTING));
        let (path, done) = (path.to_owned(), state.clone());
        let thread = std::thread::Builder::new()
            .name("hookonce-checkpoint".to_owned())
            .spawn(move || {
                let mut connection = None;
                for () in asked {
                    if connection.is_none() {
                        connection = Session::open_plain(&path).ok();
                    }
                    // What can't be moved now stays in the log and is as safe there.
                    match &connection {
                        Some(open) if run(open).is_ok() => {
                            done.store(NEARLY_DONE, Ordering::Release);
                        }
                        _ => connection = None,
                    }
                }
            })
            .map_err(|error| {
                StoreError::unavailable(format!("no thread can be started: {error}"))
            })?;
        let pages = Arc::default();
        Ok(Self { wanted: Some(wanted), thread: Some(thread), state, pages })
    }

    /// Has a writer's connection tell how long the log is, in place of moving it itself.
    pub(super) fn watch(&self, connection: &mut Connection) -> rusqlite::Result<()> {
        let pages = self.pages.clone();
        connection.wal_hook(Some(move |_: &mut Wal, in_log| {
            pages.store(u32::try_from(in_log).unwrap_or(0), Ordering::Relaxed);
            Ok(())
        }))
    }

    /// After a commit: asks for the log to be moved once it is long, and ends what was begun.
    pub(super) fn after_commit(&self, connection: &Connection) {
        if self.state.swap(RESTING, Ordering::Acquire) == NEARLY_DONE {
            // If a reader is in the way, it is tried again when the log is next moved.
            let _ = run(connection);
        } else if self.pages.load(Ordering::Relaxed) >= PAGES
            && let Some(wanted) = &self.wanted
        {
            // A full channel: it is asked already.
            let _ = wanted.try_send(());
        }
    }
}

impl Drop for Checkpoint {
    fn drop(&mut self) {
        drop(self.wanted.take());
        if let Some(thread) = self.thread.take() {
            // It panicked: then it has said so.
            let _ = thread.join();
        }
    }
}

/// Moves all that is in the log and empties it, waiting a while for readers; says whether it did.
pub(super) fn run_to_end(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row(
        "pragma wal_checkpoint(truncate)",
        (),
        |row| Ok(row.get::<_, i64>(0)? == 0),
    )
}

/// Moves what is in the log as far as no reader is in the way, waiting for nobody; says whether that
/// was all of it, so that the log begins anew.
pub(super) fn run(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("pragma wal_checkpoint(passive)", (), |row| {
        let (pages, moved): (i64, i64) = (row.get(1)?, row.get(2)?);
        Ok(pages == moved)
    })
}
