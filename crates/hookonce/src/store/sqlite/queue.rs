//! What waits for the writer: work that lets tasks go on before work that brings new ones.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use super::session::Session;
use crate::store::StoreError;

/// The most bytes of events that wait; beyond it, intake is refused at once.
const INTAKE_LIMIT: usize = 64 << 20;
/// The most events that one transaction takes in, so that finishes don't wait for long.
const BATCH_LIMIT: usize = 4096;
/// The most user statements that are looked at in one round.
const USER_LIMIT: usize = 256;

/// One piece of work for the writer. It may be run again when the transaction it was part of came
/// to nothing.
pub(super) trait Work: Send {
    /// Nobody waits for it any more, and it need not be done.
    fn is_abandoned(&self) -> bool;
    /// It ran and has an error of its own to tell: what it wrote is to be undone.
    fn is_refused(&self) -> bool;
    /// Does the work within the open transaction. An error means: roll all of it back.
    fn run(&mut self, session: &Session) -> rusqlite::Result<()>;
    /// Tells whoever waits what became of it.
    fn tell(self: Box<Self>, committed: Result<(), StoreError>);
}

/// Which transaction a piece of work belongs to, and how urgent it is.
#[derive(Debug, Clone, Copy)]
pub(super) enum Class {
    /// Claims, extends, finishes and the like: before anything new comes in.
    Own,
    /// New events: how many, and their bytes.
    Intake(usize, usize),
    /// A user's statement: never in one transaction with the others.
    User,
}

/// What the writer does next.
pub(super) struct Batch {
    /// One transaction.
    pub(super) own: Vec<Box<dyn Work>>,
    /// Another transaction, with savepoints.
    pub(super) user: VecDeque<Box<dyn Work>>,
}

/// The queue in front of the writer.
#[derive(Default)]
pub(super) struct Queue {
    waiting: Mutex<Waiting>,
    arrived: Condvar,
}

#[derive(Default)]
struct Waiting {
    tasks: VecDeque<Box<dyn Work>>,
    intake: VecDeque<(Box<dyn Work>, usize, usize)>,
    user: VecDeque<Box<dyn Work>>,
    intake_bytes: usize,
    /// The writer waits to be told.
    sleeps: bool,
    closed: bool,
}

impl Waiting {
    fn len(&self) -> usize {
        self.tasks.len() + self.intake.len() + self.user.len()
    }

    fn take(&mut self) -> Batch {
        let mut own: Vec<_> = self.tasks.drain(..).collect();
        let mut taken = 0;
        while taken < BATCH_LIMIT
            && let Some((work, events, bytes)) = self.intake.pop_front()
        {
            taken += events;
            self.intake_bytes -= bytes;
            own.push(work);
        }
        let users = self.user.len().min(USER_LIMIT);
        Batch { own, user: self.user.drain(..users).collect() }
    }
}

impl Queue {
    /// Puts work into the queue; refuses events beyond the limit of bytes.
    pub(super) fn push(&self, work: Box<dyn Work>, class: Class) -> Result<(), StoreError> {
        let mut waiting = self.lock();
        if waiting.closed {
            return Err(StoreError::unavailable("the store is closed"));
        }
        match class {
            Class::Own => waiting.tasks.push_back(work),
            Class::User => waiting.user.push_back(work),
            Class::Intake(events, bytes) => {
                if waiting.intake_bytes > 0 && waiting.intake_bytes + bytes > INTAKE_LIMIT {
                    return Err(StoreError::unavailable(
                        "more events are waiting to be stored than memory is kept for",
                    ));
                }
                waiting.intake_bytes += bytes;
                waiting.intake.push_back((work, events, bytes));
            }
        }
        // The call costs a system call even where nobody sleeps.
        let sleeps = waiting.sleeps;
        drop(waiting);
        if sleeps {
            self.arrived.notify_one();
        }
        Ok(())
    }

    /// Waits for work and takes what one transaction of each sort may hold; `None` once the queue
    /// is closed and empty.
    pub(super) fn take(&self) -> Option<Batch> {
        let mut waiting = self.lock();
        while waiting.len() == 0 {
            if waiting.closed {
                return None;
            }
            waiting.sleeps = true;
            waiting = self.arrived.wait(waiting).unwrap_or_else(PoisonError::into_inner);
            waiting.sleeps = false;
        }
        Some(waiting.take())
    }

    /// Puts user statements back that a round had no time for, before the others.
    pub(super) fn put_back(&self, user: VecDeque<Box<dyn Work>>) {
        if user.is_empty() {
            return;
        }
        let mut waiting = self.lock();
        for work in user.into_iter().rev() {
            waiting.user.push_front(work);
        }
    }

    /// Lets the writer end once it has done what is waiting.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.arrived.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A closure as a piece of work; what it returns goes to whoever waits, once it is committed.
pub(super) struct Call<T, F> {
    run: F,
    done: Option<Result<T, StoreError>>,
    reply: oneshot::Sender<Result<T, StoreError>>,
    abandonable: bool,
}

impl<T, F> Call<T, F>
where
    T: Send,
    F: FnMut(&Session) -> rusqlite::Result<Result<T, StoreError>> + Send,
{
    /// Work that is done even if nobody waits for it any more.
    pub(super) fn new(reply: oneshot::Sender<Result<T, StoreError>>, run: F) -> Self {
        Self { run, done: None, reply, abandonable: false }
    }

    /// Work that is left when nobody waits for it any more.
    pub(super) fn abandonable(reply: oneshot::Sender<Result<T, StoreError>>, run: F) -> Self {
        Self { abandonable: true, ..Self::new(reply, run) }
    }
}

#[cfg(test)]
impl<T, F> Call<T, F> {
    /// As if it had run.
    pub(super) fn set_done(&mut self, done: T) {
        self.done = Some(Ok(done));
    }
}

impl<T, F> Work for Call<T, F>
where
    T: Send,
    F: FnMut(&Session) -> rusqlite::Result<Result<T, StoreError>> + Send,
{
    fn is_abandoned(&self) -> bool {
        self.abandonable && self.reply.is_closed()
    }

    fn is_refused(&self) -> bool {
        matches!(self.done, Some(Err(_)))
    }

    fn run(&mut self, session: &Session) -> rusqlite::Result<()> {
        self.done = Some((self.run)(session)?);
        Ok(())
    }

    fn tell(self: Box<Self>, committed: Result<(), StoreError>) {
        let Self { done, reply, .. } = *self;
        let lost = || Err(StoreError::unavailable("the work was not done"));
        // Whoever asked may have gone; what is committed stays committed.
        let _ = reply.send(committed.and_then(|()| done.unwrap_or_else(lost)));
    }
}
