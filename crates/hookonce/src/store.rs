//! The only state: the contract that every store keeps, in prose.
//!
//! A store holds mechanism, never policy: when to retry and when to give up is decided elsewhere,
//! and the store is told the outcome. Every method is one atomic step. Stores tell the time: leases
//! and due times are given as durations and measured on the store's own clock, so that nodes'
//! clocks can't steal a lease. Every write after a claim names the claim's token, so that a worker
//! that lost its claim can write nothing.
//!
//! Long because the contract and the words it is written in belong together.

mod batch;
pub mod copy;
mod pick;
pub mod postgres;
mod reading;
pub mod redis;
pub mod sqlite;
mod unproven;
mod way;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use serde::Serialize;

use crate::event::{EventId, NewEvent};
use crate::task::{Claim, NewTask, Outcome, StepState, TaskId, Token};

pub use reading::{
    ArrivalRecord, Counts, EventDetails, EventSummary, Filter, Page, Progress, RouteCounts,
    StateFilter,
};

/// The longest error text that is kept, in bytes.
pub const ERROR_LIMIT: usize = 2048;

/// Where events are stored once and their tasks are seen through.
#[async_trait]
pub trait Store: Send + Sync + fmt::Debug {
    /// Stores the events whose key is unknown, with their tasks, and says of each what became of
    /// it, in the order given. All of them or none; durable when it returns, the original of a
    /// duplicate too. Never fails for a duplicate; never waits for a worker. An event that the
    /// database refuses for its data is stored as [`NewEvent::refused`], its siblings as they are.
    async fn insert(&self, events: Vec<NewEvent>) -> Result<Vec<Arrival>, StoreError>;

    /// Gives `order.worker` due tasks of `order.routes`, by priority and age, round robin over
    /// sources; of those that are not urgent, every eighth of the least urgent. Raises attempt and
    /// epoch. At most one claim a lane; within a lane, an event that
    /// was acked before another arrived comes first.
    async fn claim(&self, order: ClaimOrder) -> Result<Vec<Claim>, StoreError>;

    /// Lets a claim end `lease` from now; only while its token holds and its lease has not ended.
    async fn extend(&self, claim: &Claim, lease: Duration) -> Result<(), StoreError>;

    /// Writes how the attempt ended, gives up the claim and passes its lane on, while the token
    /// holds; a lease that has ended but was taken over by nobody still finishes. A retry forgets
    /// the steps that were only begun, unless the claim was reaped.
    async fn finish(&self, claim: &Claim, outcome: &Outcome) -> Result<(), StoreError>;

    /// Runs an SQL statement and records its step as done, or completes the task, in one
    /// transaction, while the token holds. Fails with [`StoreError::Statement`] where the statement
    /// fails; then nothing is written.
    async fn finish_with(
        &self,
        claim: &Claim,
        done: StepDone<'_>,
        statement: Statement,
    ) -> Result<(), StoreError>;

    /// Remembers how far a step has come, while the token holds.
    async fn record_step(
        &self,
        claim: &Claim,
        name: &str,
        state: StepState,
        result: Option<&str>,
    ) -> Result<(), StoreError>;

    /// Gives a claim back, due after a while, while the token holds. The attempt doesn't count, the
    /// epoch stays. Of an attempt that is given back several times the last record is kept. Steps only
    /// begun are forgotten, as by a finish that retries: whoever writes this
    /// knows what became of them.
    async fn release(&self, claim: &Claim, release: Release) -> Result<(), StoreError>;

    /// Takes lapsed claims over, under the token given: new epoch, same attempt. Writes down the
    /// lapsed attempt. The caller finishes each through the ordinary retry policy.
    async fn reap(
        &self,
        token: Token,
        lease: Duration,
        limit: usize,
    ) -> Result<Vec<Claim>, StoreError>;

    /// Gives a claim by its token, for a worker outside that keeps nothing else; fails with
    /// [`StoreError::Lost`] where the token doesn't hold.
    async fn claimed(&self, task: &TaskId, token: Token) -> Result<Claim, StoreError>;

    /// Says how far the handling of each event has come; an unknown event has nothing open.
    async fn progress(&self, events: &[EventId]) -> Result<Vec<Progress>, StoreError>;

    /// Makes dead tasks due again, attempts from 1, steps done kept, steps only begun forgotten;
    /// makes pending ones with a later due time due now. A task of a lane waits for its lane.
    /// Others are left alone and counted so.
    async fn replay(&self, tasks: &[TaskId]) -> Result<Moved, StoreError>;

    /// Runs completed tasks once more: next run, no steps remembered. Others are left alone and
    /// counted so.
    async fn rerun(&self, tasks: &[TaskId]) -> Result<Moved, StoreError>;

    /// Makes pending tasks dead, and lets the lane of a dead task that holds it pass. Others are
    /// left alone and counted so.
    async fn bury(&self, tasks: &[TaskId]) -> Result<Moved, StoreError>;

    /// Gives stored events tasks of routes that they have none of yet; counts the tasks. They are dead
    /// where they would be on arrival: of what can't be read, or is too old to be proven new. An event
    /// without payload is left alone.
    async fn assign(&self, tasks: &[(EventId, NewTask)]) -> Result<Moved, StoreError>;

    /// Makes dead and pending tasks those of another route, attempts from 1, due now, with the steps
    /// and attempts that are remembered. Where the event has a task of that route already, where the
    /// payload is pruned, and in other states, a task is left alone and counted so.
    async fn reroute(&self, tasks: &[TaskId], to: &NewTask) -> Result<Moved, StoreError>;

    /// Writes down who does what, before it is done.
    async fn audit(&self, entry: &AuditEntry) -> Result<(), StoreError>;

    /// Deletes what is older than its retention, at most `limit` events at a time. Age counts from
    /// the later of the last arrival and the last finish; nothing goes while a task is pending or
    /// claimed. Remembers up to which time keys were removed.
    async fn prune(&self, retention: &Retention, limit: usize) -> Result<Pruned, StoreError>;

    /// Folds arrivals and minutes that were appended a while ago, looking at no more than `limit`
    /// arrivals; says whether it came to the end.
    async fn fold(&self, limit: usize) -> Result<bool, StoreError>;

    /// Keeps the configuration's sources and routes beside the events.
    async fn mirror(
        &self,
        sources: &[MirrorSource],
        routes: &[MirrorRoute],
    ) -> Result<(), StoreError>;

    /// Gives one event with all that is known of it.
    async fn get(&self, id: EventId) -> Result<Option<EventDetails>, StoreError>;

    /// Gives a page of events, newest first. A page looks at a bounded number of rows: it may be
    /// short or empty and still have a next one.
    async fn list(&self, filter: &Filter, limit: usize) -> Result<Page, StoreError>;

    /// Gives a page of events, oldest first: those that came after `filter.after`. For walking over
    /// all of them; bounded like [`Store::list`].
    async fn walk(&self, filter: &Filter, limit: usize) -> Result<Page, StoreError>;

    /// Counts events and tasks.
    async fn counts(&self) -> Result<Counts, StoreError>;

    /// Counts the live tasks of each route that has any, whether the configuration knows it or not;
    /// by name.
    async fn routes(&self) -> Result<Vec<RouteCounts>, StoreError>;

    /// Returns when a task may have become due since the last call, as far as this store is told;
    /// a caller polls as well.
    async fn wait(&self);

    /// Tells the store's own time, which leases and due times are measured on.
    async fn now(&self) -> Result<Timestamp, StoreError>;

    /// Says whether events can be stored now; for readiness.
    async fn ready(&self) -> Result<(), StoreError>;

    /// Prepares a statement for [`Store::finish_with`] and says what is wrong with it, a parameter
    /// that is not among `parameters` included.
    async fn check(&self, statement: &str, parameters: &[&'static str]) -> Result<(), StoreError>;
}

/// What became of an event that was inserted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// Its key was unknown: it is stored now.
    New,
    /// It was stored before.
    Duplicate,
    /// It was stored before with a different element; the new one is kept beside it.
    Mismatch,
}

/// What a worker asks for.
#[derive(Debug, Clone)]
pub struct ClaimOrder {
    /// Proves every claim of this call. Repeated with the same token, the call gives the same claims.
    pub token: Token,
    /// Who asks.
    pub worker: Arc<str>,
    /// For which routes.
    pub routes: Vec<ClaimRoute>,
    /// How many at most.
    pub limit: usize,
    /// How many of them are kept for priorities below the first.
    pub reserve: usize,
}

/// A route that a worker asks for.
#[derive(Debug, Clone)]
pub struct ClaimRoute {
    /// Its name.
    pub name: Arc<str>,
    /// How long a claim lasts unless it is extended.
    pub lease: Duration,
    /// How many of its tasks at most.
    pub limit: usize,
    /// How many of them are kept for priorities below the first.
    pub reserve: usize,
}

/// What a successful statement stands for.
#[derive(Debug, Clone, Copy)]
pub enum StepDone<'a> {
    /// This step is done; others follow.
    Step(&'a str),
    /// The last step is done and the task completed.
    Task,
}

/// An SQL statement with its named parameters.
#[derive(Debug, Clone)]
pub struct Statement {
    /// The statement as configured.
    pub sql: Arc<str>,
    /// Names without the colon, and values.
    pub parameters: Vec<(&'static str, Parameter)>,
    /// How long it may take, and how long it may wait to be run; then it is cut off. A store may have a
    /// shorter limit of its own.
    pub timeout: Duration,
}

/// The value of a statement's parameter.
#[derive(Debug, Clone)]
pub enum Parameter {
    /// SQL's null.
    Null,
    /// A whole number.
    Number(i64),
    /// A text.
    Text(String),
}

/// Why a claim is given back, and when the task is due again.
#[derive(Debug, Clone)]
pub enum Release {
    /// Nothing was run: no attempt is written down.
    Unstarted {
        /// How long to wait, on the store's clock.
        after: Duration,
        /// What hindered it, if anything did; shown with the task.
        error: Option<String>,
    },
    /// Something was run and asked for more time.
    NotYet {
        /// How long to wait, on the store's clock.
        after: Duration,
        /// Why, for the attempt's record.
        error: String,
    },
}

impl Release {
    /// Due again at once, as if it had not been claimed.
    pub fn at_once() -> Self {
        Self::Unstarted { after: Duration::ZERO, error: None }
    }
}

/// Who did what, by the API or the command line.
#[derive(Debug, Clone)]
pub struct AuditEntry {
    /// Who: the name of a token, or `cli:` and a user.
    pub who: String,
    /// The word for what is done: `replay`, `bury`, ...
    pub action: String,
    /// To what and how, as JSON.
    pub details: String,
}

/// How many tasks were moved, and how many left alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Moved {
    /// Tasks that were moved.
    pub moved: usize,
    /// Tasks that were left as they are; also those that somebody's open transaction has locked.
    pub left: usize,
}

impl Moved {
    /// Counts a task.
    pub fn note(&mut self, was_moved: bool) {
        *(if was_moved { &mut self.moved } else { &mut self.left }) += 1;
    }
}

impl std::ops::AddAssign for Moved {
    fn add_assign(&mut self, other: Self) {
        self.moved += other.moved;
        self.left += other.left;
    }
}

/// How long things are kept after their last arrival or finish.
#[derive(Debug, Clone, Copy)]
pub struct Retention {
    /// Payloads of events without dead tasks.
    pub payload: Duration,
    /// Keys, and with them the event, its tasks, attempts, steps and arrivals.
    pub key: Duration,
    /// Payloads of events with dead tasks.
    pub dead: Duration,
}

impl Default for Retention {
    /// 30 days; 90 where a task is dead.
    fn default() -> Self {
        let days = |n: u64| Duration::from_secs(n * 24 * 60 * 60);
        Self { payload: days(30), key: days(30), dead: days(90) }
    }
}

/// Which version a store's tables had, and have now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Migrated {
    /// Before; 0 where there were none.
    pub from: usize,
    /// Now.
    pub to: usize,
    /// What a person has to run who may make roles, before workers in other languages can call the
    /// SQL functions of a `PostgreSQL` store; none where they can.
    pub grants: Option<&'static str>,
}

/// What was deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Pruned {
    /// Payloads.
    pub payloads: usize,
    /// Whole events, keys included.
    pub events: usize,
    /// The walk over what is old has not come to its end.
    #[serde(skip)]
    pub more: bool,
}

/// A source of the configuration, as a store keeps it.
#[derive(Debug, Clone)]
pub struct MirrorSource {
    /// Its name.
    pub name: Arc<str>,
    /// What its events' ids are computed from, beside the key.
    pub scope: Arc<str>,
}

/// A route of the configuration, as a store keeps it.
#[derive(Debug, Clone)]
pub struct MirrorRoute {
    /// Its name.
    pub name: Arc<str>,
    /// Sources it takes, as JSON; `null` for all.
    pub sources: Option<Vec<String>>,
    /// Globs of the kinds it takes; `None` for all.
    pub kinds: Option<Vec<String>>,
    /// After how many attempts its tasks are dead.
    pub max_attempts: u32,
    /// The first delay.
    pub retry_min: Duration,
    /// The longest delay.
    pub retry_max: Duration,
    /// A dead task makes its lane wait.
    pub holds: bool,
    /// Tasks of one lane run one after another.
    pub ordered: bool,
    /// It is left to workers outside.
    pub external: bool,
}

/// Why a store did not do what it was asked to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The token no longer holds: somebody else has the task, or it is finished. Write nothing.
    #[error("the claim is lost: its lease ended and the task was taken over or finished")]
    Lost,
    /// The user's statement failed; nothing was written.
    #[error("{message}")]
    Statement {
        /// Running it again can't help.
        permanent: bool,
        /// What the database says.
        message: String,
    },
    /// The store can't do this; the configuration should not have asked.
    #[error("{0}")]
    Unsupported(Cow<'static, str>),
    /// The store doesn't let this program in, or can't be used by it: a wrong password, no such
    /// database, tables of another version. Said at opening; a person has to act.
    #[error("{0}")]
    Refused(String),
    /// The store is down, full, locked or broken: try again later. Nothing was written, or it is
    /// unknown whether it was.
    #[error("{message}")]
    Unavailable {
        /// What is wrong and what to do about it.
        message: String,
        /// What the engine says.
        #[source]
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
}

impl StoreError {
    /// A store that can't be used now, and why.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::Unavailable { message: message.into(), source: None }
    }
}

/// Tells the time; a test gives a store one of its own.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl Clock {
    /// The machine's clock.
    pub fn system() -> Self {
        #[expect(clippy::disallowed_methods, reason = "this is the store's clock")]
        Self(Arc::new(Timestamp::now))
    }

    /// A clock that tells what `now` returns.
    pub fn new(now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// What time it is.
    pub fn now(&self) -> Timestamp {
        (self.0)()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}
