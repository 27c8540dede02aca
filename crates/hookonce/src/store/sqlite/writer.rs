//! The one thread that writes: it commits what has queued up as one transaction.
//!
//! There is no timer: while one batch is flushed, the next gathers and is written. So a lone request
//! is committed at once, and a thousand at a time share one flush.

use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::ErrorCode;
use tokio::sync::Notify;

use super::checkpoint::{self, Checkpoint};
use super::disk;
use super::flush::{Flush, Log};
use super::queue::{Batch, Queue, Work};
use super::session::{Session, is_of_the_database};
use super::statement::ended;
use crate::store::{Clock, StoreError};

/// After how long a round of user statements gives way to intake.
const USER_ROUND: Duration = Duration::from_millis(100);

/// Room enough for the log to grow as it does ordinarily.
const LOG_ROOM: u64 = 64 << 20;

/// The writer's state: its connection, if it has one that works.
pub(super) struct Writer {
    path: PathBuf,
    clock: Clock,
    session: Option<Session>,
    checkpoint: Checkpoint,
    /// The disk was full: until there is room again, the log begins anew before each transaction.
    /// The room that somebody made would otherwise go to the log, and the database could not take
    /// in what is in it.
    is_tight: bool,
    flush: Flush,
    /// Told when a commit made a task due.
    due: Arc<Notify>,
}

/// Why a transaction came to nothing.
enum Failed {
    /// The database can't be used: all that was to be written shares this fate.
    Database(StoreError),
    /// Some work in it failed.
    Work(rusqlite::Error),
    /// All of it was done, and the commit refused.
    Commit(rusqlite::Error),
    /// A statement ended the transaction from within.
    Ended,
}

impl Writer {
    /// Opens the file.
    pub(super) fn open(path: &Path, clock: Clock, due: Arc<Notify>) -> Result<Self, StoreError> {
        let mut writer = Self {
            path: path.to_owned(),
            clock,
            session: None,
            checkpoint: Checkpoint::start(path)?,
            is_tight: false,
            flush: Flush::start()?,
            due,
        };
        writer.session()?;
        Ok(writer)
    }

    /// Does what comes until the queue is closed.
    pub(super) fn run(mut self, queue: &Queue) {
        while let Some(batch) = queue.take() {
            // Code of a caller may panic here. Its transaction ends with the connection, whoever
            // waits for a piece of the batch is told, and the writer goes on.
            let round = AssertUnwindSafe(|| self.round(queue, batch));
            if std::panic::catch_unwind(round).is_err() {
                self.session = None;
            }
        }
    }

    fn round(&mut self, queue: &Queue, batch: Batch) {
        let own = batch.own.into_iter().filter(|work| !work.is_abandoned()).collect();
        self.commit(own);
        queue.put_back(self.commit_user(batch.user));
        if let Some(session) = &self.session {
            self.checkpoint.after_commit(&session.connection);
        }
    }

    /// Commits all of `works` as one transaction. If one of them fails, each gets a transaction of
    /// its own, so that it fails alone; if the database fails, all of them do.
    fn commit(&mut self, mut works: Vec<Box<dyn Work>>) {
        if works.is_empty() {
            return;
        }
        let run = |session: &Session| {
            works.iter_mut().try_for_each(|work| work.run(session)).map_err(Failed::Work)
        };
        match self.transaction(run) {
            Ok(log) => self.tell_committed(log, works),
            Err(Failed::Work(_) | Failed::Commit(_) | Failed::Ended) if works.len() > 1 => {
                for work in works {
                    self.commit(vec![work]);
                }
            }
            Err(failed) => tell(works, Some(failed.into())),
        }
    }

    /// Commits user statements as one transaction, each within a savepoint, and gives back those
    /// that the round had no time for. On a surprise each gets a transaction of its own.
    fn commit_user(&mut self, mut works: VecDeque<Box<dyn Work>>) -> VecDeque<Box<dyn Work>> {
        if works.is_empty() {
            return works;
        }
        let until = Instant::now() + USER_ROUND;
        let mut run: Vec<Box<dyn Work>> = Vec::new();
        let together = self.transaction(|session| {
            while run.is_empty() || Instant::now() < until {
                let Some(work) = works.pop_front() else { break };
                run.push(work);
                let work = run.last_mut().ok_or(Failed::Ended)?;
                session.execute("savepoint one", ()).map_err(Failed::Work)?;
                work.run(session).map_err(Failed::Work)?;
                // A statement may have ended the whole transaction (`or rollback`, an interrupt):
                // then those before it are undone too, and none may be told as committed.
                if session.connection.is_autocommit() {
                    return Err(Failed::Ended);
                }
                if work.is_refused() {
                    session.execute("rollback to one", ()).map_err(Failed::Work)?;
                }
                session.execute("release one", ()).map_err(Failed::Work)?;
            }
            Ok(())
        });
        match together {
            Ok(log) => self.tell_committed(log, run),
            // Those that it didn't come to would wait for as long as the database is held, and nobody
            // would tell whoever waits for them.
            Err(Failed::Database(error)) => {
                run.extend(works.drain(..));
                tell(run, Some(error));
            }
            // Nobody else was in it: there is nothing to be found out by running it again.
            Err(_) if run.len() == 1 && run[0].is_refused() => tell(run, None),
            Err(_) => run.into_iter().for_each(|work| self.commit_alone(work)),
        }
        works
    }

    /// Commits one user statement in a transaction of its own, so that what it breaks is its own.
    fn commit_alone(&mut self, mut work: Box<dyn Work>) {
        let result = self.transaction(|session| {
            work.run(session).map_err(Failed::Work)?;
            if work.is_refused() || session.connection.is_autocommit() {
                return Err(Failed::Ended);
            }
            Ok(())
        });
        match result {
            Ok(log) => self.tell_committed(log, vec![work]),
            // It has its own answer: why it was refused.
            Err(Failed::Ended) if work.is_refused() => work.tell(Ok(())),
            Err(failed) => work.tell(Err(failed.into())),
        }
    }

    /// Tells everybody their own answer: once the log is flushed, if anything was written.
    fn tell_committed(&self, log: Option<Log>, works: Vec<Box<dyn Work>>) {
        match log {
            Some(log) => self.flush.tell(log, works),
            None => tell(works, None),
        }
    }

    /// Runs `work` in a transaction and commits it; gives the log that is to be flushed, if anything
    /// was written. A connection that broke is opened anew by the next transaction, so that the
    /// store comes back by itself once the cause is gone.
    fn transaction(
        &mut self,
        work: impl FnOnce(&Session) -> Result<(), Failed>,
    ) -> Result<Option<Log>, Failed> {
        self.settle_log()?;
        if self.is_tight {
            let session = self.session().map_err(Failed::Database)?;
            let is_anew = checkpoint::run(&session.connection).unwrap_or(false);
            self.is_tight = !is_anew || disk::free(&self.path).unwrap_or(0) < LOG_ROOM;
        }
        let session = self.session().map_err(Failed::Database)?;
        let changes = session.connection.total_changes();
        let mut result = session.begin().map_err(Failed::Work);
        if result.is_ok() {
            result = work(session)
                .and_then(|()| session.flush_counts().map_err(Failed::Work))
                .and_then(|()| session.execute("commit", ()).map(drop).map_err(Failed::Commit));
        }
        let Err(failed) = result else {
            let wrote = session.connection.total_changes() != changes;
            let log = wrote.then(|| session.log.clone());
            if session.take_due() {
                self.due.notify_one();
            }
            return Ok(log);
        };
        let ended = session.connection.is_autocommit()
            || session.connection.execute_batch("rollback").is_ok();
        match failed {
            Failed::Work(error) | Failed::Commit(error) if is_of_the_database(&error) => {
                let busy = error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy);
                self.is_tight |= error.sqlite_error_code() == Some(ErrorCode::DiskFull);
                if !busy || !ended {
                    self.session = None;
                }
                Err(Failed::Database(error.into()))
            }
            failed => {
                if !ended {
                    self.session = None;
                }
                Err(failed)
            }
        }
    }

    /// After a flush that failed: what is in the log may be read but never get to the disk. Moved into
    /// the database it is written anew; until then nothing is.
    fn settle_log(&mut self) -> Result<(), Failed> {
        if !self.flush.has_failed() {
            return Ok(());
        }
        let session = self.session().map_err(Failed::Database)?;
        match checkpoint::run_to_end(&session.connection) {
            Ok(true) => {
                self.flush.settle();
                Ok(())
            }
            result => {
                self.session = None;
                let why = result.err().map_or(String::new(), |error| format!(" ({error})"));
                Err(Failed::Database(StoreError::unavailable(format!(
                    "the disk failed to take the database's log, and it can't be moved{why}: check \
                     the disk; senders will try again"
                ))))
            }
        }
    }

    fn session(&mut self) -> Result<&mut Session, StoreError> {
        if let Some(session) = &self.session {
            session.check_in_place()?;
        }
        match &mut self.session {
            Some(session) => Ok(session),
            none => {
                let mut session = Session::open(&self.path, self.clock.clone())?;
                self.checkpoint.watch(&mut session.connection)?;
                Ok(none.insert(session))
            }
        }
    }
}

/// Tells everybody: their own answer, or the error that they share.
fn tell(works: Vec<Box<dyn Work>>, error: Option<StoreError>) {
    let message = error.map(|error| error.to_string());
    for work in works {
        work.tell(message.clone().map_or(Ok(()), |message| Err(StoreError::unavailable(message))));
    }
}

impl From<Failed> for StoreError {
    fn from(failed: Failed) -> Self {
        match failed {
            Failed::Database(error) => error,
            // A constraint of the user's that is only checked there.
            Failed::Commit(error)
                if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) =>
            {
                Self::Statement { permanent: true, message: error.to_string() }
            }
            // What a user's statement is refused, it tells itself: this is a write of ours.
            Failed::Work(error) | Failed::Commit(error) => error.into(),
            Failed::Ended => ended(),
        }
    }
}
