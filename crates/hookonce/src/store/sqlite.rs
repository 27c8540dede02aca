//! SQLite, the store that needs no set-up: one file, one writer thread, readers apart.
//!
//! Lanes are settled inside `insert`, `finish`, `replay` and `bury`: there is one writer, so there
//! is no race. Several processes may share the file; each waits for the other's transaction.
//!
//! Long because every method of the contract is bound here to the file that does it.

mod backup;
mod checkpoint;
mod claim;
pub(super) mod copy;
mod facts;
mod finish;
mod flush;
mod insert;
mod migrate;
mod mirror;
mod prune;
mod queue;
mod read;
mod rows;
mod session;
mod statement;
mod steer;
mod writer;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use rusqlite::Connection;
use tokio::sync::{Notify, oneshot};

pub use self::facts::SqliteFacts;

use self::disk::Disk;
use self::finish::Written;
use self::prune::Walk;
use self::queue::{Call, Class, Queue};
use self::session::Session;
use self::writer::Writer;
use super::pick::Turn;
use super::way::Way;
use super::{
    Arrival, AuditEntry, ClaimOrder, Clock, Counts, EventDetails, Filter, Migrated, MirrorRoute,
    MirrorSource, Moved, Page, Progress, Pruned, Release, Retention, RouteCounts, Statement,
    StepDone, Store, StoreError,
};
use crate::event::{EventId, NewEvent};
use crate::task::{Claim, NewTask, Outcome, StepState, TaskId, Token};

mod disk;

/// The SQLite of this store, for who writes with [`SqliteStore::finish_in`].
pub use rusqlite;

/// Connections for reading that are kept open.
const READERS: usize = 2;

/// How a store's file is opened.
#[derive(Debug, Clone)]
pub struct SqliteOptions {
    /// The store's clock.
    pub clock: Clock,
    /// Intake stops when less than this many bytes are free on the file's disk, so that work can
    /// finish.
    pub min_free_disk: u64,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self { clock: Clock::system(), min_free_disk: 256 << 20 }
    }
}

/// The store in an SQLite file.
pub struct SqliteStore {
    path: PathBuf,
    queue: Arc<Queue>,
    writer: Option<std::thread::JoinHandle<()>>,
    readers: Arc<Mutex<Vec<Connection>>>,
    disk: Disk,
    clock: Clock,
    due: Arc<Notify>,
    turn: Arc<Mutex<Turn>>,
    walk: Arc<Mutex<Walk>>,
}

impl SqliteStore {
    /// Opens the file, makes it if it isn't there, and brings its tables up to date. Blocks while
    /// it does.
    pub fn open(path: &Path, options: SqliteOptions) -> Result<Self, StoreError> {
        let due = Arc::new(Notify::new());
        let queue = Arc::new(Queue::default());
        let writer = Writer::open(path, options.clock.clone(), due.clone())?;
        let work = queue.clone();
        let writer = std::thread::Builder::new()
            .name("hookonce-writer".to_owned())
            .spawn(move || writer.run(&work))
            .map_err(|error| StoreError::Unavailable {
                message: format!("the writer's thread can't be started: {error}"),
                source: Some(Box::new(error)),
            })?;
        Ok(Self {
            path: path.to_owned(),
            queue,
            writer: Some(writer),
            readers: Arc::default(),
            disk: Disk::new(path, options.min_free_disk),
            clock: options.clock,
            due,
            turn: Arc::default(),
            walk: Arc::default(),
        })
    }

    /// Opens a store that is there, and changes nothing in a file that is none, or that another
    /// version made. Blocks while it does.
    pub fn open_existing(path: &Path, options: SqliteOptions) -> Result<Self, StoreError> {
        migrate::check(path)?;
        Self::open(path, options)
    }

    /// Brings the tables of a file up to date, and makes both where they aren't there. Blocks while it
    /// does.
    pub fn migrate(path: &Path, options: SqliteOptions) -> Result<Migrated, StoreError> {
        let from = migrate::found(path)?.unwrap_or_default();
        drop(Session::open(path, options.clock)?);
        Ok(Migrated { from, to: migrate::VERSION, grants: None })
    }

    /// Runs `effect` in one transaction with the completion of the claimed task, on the writer's
    /// thread: whatever it writes and the completion happen together or not at all. A step that did
    /// this returns [`Done::Task`](crate::step::Done::Task).
    ///
    /// Keep it short, for the intake waits: after 1 s it is interrupted. It may read, and change rows
    /// of tables that don't begin with `hookonce_`; it may run more than once before it is committed
    /// once, so it does nothing outside the database.
    ///
    /// Fails with [`StoreError::Lost`], without running `effect`, where the claim is lost: return, for
    /// nothing more can be written. Every other error has left nothing behind;
    /// [`Failure::of_store`](crate::step::Failure::of_store) says what it means for the task.
    pub async fn finish_in<F>(&self, claim: &Claim, effect: F) -> Result<(), StoreError>
    where
        F: FnMut(&Connection) -> rusqlite::Result<()> + Send + 'static,
    {
        let (claim, mut effect) = (claim.clone(), effect);
        self.write(Class::User, move |session| statement::finish_in(session, &claim, &mut effect))
            .await
    }

    /// Copies the store as it is now to a new file, while it is in use. Blocks while it does.
    pub fn backup(&self, to: &Path) -> Result<(), StoreError> {
        backup::backup(&self.path, to)
    }

    /// Has the writer do `work` and waits until it is committed.
    async fn write<T, F>(&self, class: Class, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnMut(&Session) -> rusqlite::Result<Result<T, StoreError>> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let call = match class {
            // A sender that hung up sends again; what it left behind need not be stored.
            Class::Intake(..) => Call::abandonable(reply, work),
            Class::Own | Class::User => Call::new(reply, work),
        };
        self.queue.push(Box::new(call), class)?;
        answer
            .await
            .unwrap_or_else(|_| Err(StoreError::unavailable("the writer broke off its work")))
    }

    /// Has the writer do what concerns a claim.
    async fn write_claim<F>(&self, claim: &Claim, mut work: F) -> Result<(), StoreError>
    where
        F: FnMut(&Session, &Claim) -> Written + Send + 'static,
    {
        let claim = claim.clone();
        self.write(Class::Own, move |session| work(session, &claim)).await
    }

    /// Asks a reader.
    async fn read<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        let (readers, path) = (self.readers.clone(), self.path.clone());
        let lock = |readers: &Arc<Mutex<Vec<Connection>>>| {
            readers.lock().unwrap_or_else(PoisonError::into_inner).pop()
        };
        let ask = move || {
            let connection = match lock(&readers) {
                Some(connection) => connection,
                None => Session::open_reader(&path)?,
            };
            // A connection that failed is not kept: the next reader opens the file anew.
            let answer = work(&connection)?;
            let mut kept = readers.lock().unwrap_or_else(PoisonError::into_inner);
            if kept.len() < READERS {
                kept.push(connection);
            }
            Ok(answer)
        };
        tokio::task::spawn_blocking(ask)
            .await
            .unwrap_or_else(|_| Err(StoreError::unavailable("reading the database panicked")))
    }
}

#[async_trait]
impl Store for SqliteStore {
    async fn insert(&self, events: Vec<NewEvent>) -> Result<Vec<Arrival>, StoreError> {
        self.disk.check()?;
        let bytes = events.iter().map(|event| event.payload.len() + 512).sum();
        self.write(Class::Intake(events.len(), bytes), move |session| {
            insert::insert(session, &events).map(Ok)
        })
        .await
    }

    async fn claim(&self, order: ClaimOrder) -> Result<Vec<Claim>, StoreError> {
        let turn = self.turn.clone();
        self.write(Class::Own, move |session| {
            let mut turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
            claim::claim(session, &mut turn, &order).map(Ok)
        })
        .await
    }

    async fn extend(&self, claim: &Claim, lease: Duration) -> Result<(), StoreError> {
        self.write_claim(claim, move |session, claim| finish::extend(session, claim, lease)).await
    }

    async fn finish(&self, claim: &Claim, outcome: &Outcome) -> Result<(), StoreError> {
        let outcome = outcome.clone();
        self.write_claim(claim, move |session, claim| finish::finish(session, claim, &outcome))
            .await
    }

    async fn finish_with(
        &self,
        claim: &Claim,
        done: StepDone<'_>,
        statement: Statement,
    ) -> Result<(), StoreError> {
        let claim = claim.clone();
        let step = match done {
            StepDone::Step(name) => Some(name.to_owned()),
            StepDone::Task => None,
        };
        self.write(Class::User, move |session| {
            let done = step.as_deref().map_or(StepDone::Task, StepDone::Step);
            statement::finish_with(session, &claim, done, &statement)
        })
        .await
    }

    async fn record_step(
        &self,
        claim: &Claim,
        name: &str,
        state: StepState,
        result: Option<&str>,
    ) -> Result<(), StoreError> {
        let (name, result) = (name.to_owned(), result.map(str::to_owned));
        self.write_claim(claim, move |session, claim| {
            finish::record_step(session, claim, &name, state, result.as_deref())
        })
        .await
    }

    async fn release(&self, claim: &Claim, release: Release) -> Result<(), StoreError> {
        self.write_claim(claim, move |session, claim| finish::release(session, claim, &release))
            .await
    }

    async fn reap(
        &self,
        token: Token,
        lease: Duration,
        limit: usize,
    ) -> Result<Vec<Claim>, StoreError> {
        self.write(Class::Own, move |session| claim::reap(session, token, lease, limit).map(Ok))
            .await
    }

    async fn claimed(&self, task: &TaskId, token: Token) -> Result<Claim, StoreError> {
        let task = task.clone();
        let claim = self.read(move |connection| claim::by_token(connection, &task, token)).await?;
        claim.ok_or(StoreError::Lost)
    }

    async fn progress(&self, events: &[EventId]) -> Result<Vec<Progress>, StoreError> {
        let events = events.to_vec();
        self.read(move |connection| read::progress(connection, &events)).await
    }

    async fn replay(&self, tasks: &[TaskId]) -> Result<Moved, StoreError> {
        let tasks = tasks.to_vec();
        self.write(Class::Own, move |session| steer::replay(session, &tasks).map(Ok)).await
    }

    async fn rerun(&self, tasks: &[TaskId]) -> Result<Moved, StoreError> {
        let tasks = tasks.to_vec();
        self.write(Class::Own, move |session| steer::rerun(session, &tasks).map(Ok)).await
    }

    async fn bury(&self, tasks: &[TaskId]) -> Result<Moved, StoreError> {
        let tasks = tasks.to_vec();
        self.write(Class::Own, move |session| steer::bury(session, &tasks).map(Ok)).await
    }

    async fn assign(&self, tasks: &[(EventId, NewTask)]) -> Result<Moved, StoreError> {
        let tasks = tasks.to_vec();
        self.write(Class::Own, move |session| steer::assign(session, &tasks).map(Ok)).await
    }

    async fn reroute(&self, tasks: &[TaskId], to: &NewTask) -> Result<Moved, StoreError> {
        let (tasks, to) = (tasks.to_vec(), to.clone());
        self.write(Class::Own, move |session| steer::reroute(session, &tasks, &to).map(Ok)).await
    }

    async fn audit(&self, entry: &AuditEntry) -> Result<(), StoreError> {
        let entry = entry.clone();
        self.write(Class::Own, move |session| mirror::audit(session, &entry).map(Ok)).await
    }

    async fn prune(&self, retention: &Retention, limit: usize) -> Result<Pruned, StoreError> {
        let (walk, retention) = (self.walk.clone(), *retention);
        self.write(Class::Own, move |session| {
            let walk = walk.lock().unwrap_or_else(PoisonError::into_inner);
            prune::prune(session, &walk, &retention, limit).map(Ok)
        })
        .await
    }

    async fn fold(&self, limit: usize) -> Result<bool, StoreError> {
        let walk = self.walk.clone();
        self.write(Class::Own, move |session| {
            let walk = walk.lock().unwrap_or_else(PoisonError::into_inner);
            prune::fold(session, &walk, limit).map(Ok)
        })
        .await
    }

    async fn mirror(
        &self,
        sources: &[MirrorSource],
        routes: &[MirrorRoute],
    ) -> Result<(), StoreError> {
        let (sources, routes) = (sources.to_vec(), routes.to_vec());
        self.write(Class::Own, move |session| mirror::mirror(session, &sources, &routes).map(Ok))
            .await
    }

    async fn get(&self, id: EventId) -> Result<Option<EventDetails>, StoreError> {
        self.read(move |connection| read::get(connection, id)).await
    }

    async fn list(&self, filter: &Filter, limit: usize) -> Result<Page, StoreError> {
        let filter = filter.clone();
        self.read(move |connection| read::list(connection, &filter, Way::NewestFirst, limit)).await
    }

    async fn walk(&self, filter: &Filter, limit: usize) -> Result<Page, StoreError> {
        let filter = filter.clone();
        self.read(move |connection| read::list(connection, &filter, Way::OldestFirst, limit)).await
    }

    async fn counts(&self) -> Result<Counts, StoreError> {
        self.read(read::counts).await
    }

    async fn routes(&self) -> Result<Vec<RouteCounts>, StoreError> {
        self.read(read::routes).await
    }

    async fn wait(&self) {
        self.due.notified().await;
    }

    async fn now(&self) -> Result<Timestamp, StoreError> {
        Ok(self.clock.now())
    }

    async fn ready(&self) -> Result<(), StoreError> {
        self.disk.check()?;
        self.write(Class::Own, Session::probe).await
    }

    async fn check(&self, statement: &str, parameters: &[&'static str]) -> Result<(), StoreError> {
        let (statement, parameters) = (statement.to_owned(), parameters.to_vec());
        self.write(Class::User, move |session| {
            Ok(statement::check(session, &statement, &parameters))
        })
        .await
    }
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        self.queue.close();
        if let Some(writer) = self.writer.take() {
            // A writer that panicked has said so; there is nothing more to do about it here.
            let _ = writer.join();
        }
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore").field("path", &self.path).finish_non_exhaustive()
    }
}
