//! PostgreSQL, for many nodes: any number of processes on one database, none of them the leader.
//!
//! New events and outcomes are gathered into batches, each one transaction; a few are in flight at a
//! time. Lanes are not settled where tasks come or go, but in short transactions of their own
//! (`drain`), so that nothing that is acked ever waits for a worker's open transaction. No connection
//! is held while a step runs.

mod address;
mod claim;
mod connector;
pub(super) mod copy;
mod effect;
mod error;
mod facts;
mod fate;
mod finish;
mod front;
mod functions;
mod held;
mod insert;
mod listen;
mod migrate;
mod new_task;
mod passfile;
mod pool;
mod prune;
mod read;
mod rows;
mod statement;
mod steer;
mod time;
mod tls;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::timeout;

use self::address::SILENCE;
use self::connector::Connector;
use self::error::Failed;
pub use self::facts::PostgresFacts;
use self::finish::Ending;
use self::front::Front;
use self::pool::Pool;
use self::prune::Walk;
use super::batch::Batcher;
use super::way::Way;
use super::{
    Arrival, AuditEntry, ClaimOrder, Counts, EventDetails, Filter, Migrated, MirrorRoute,
    MirrorSource, Moved, Page, Progress, Pruned, Release, Retention, RouteCounts, Statement,
    StepDone, Store, StoreError,
};
use crate::event::{EventId, NewEvent};
use crate::task::{Claim, NewTask, Outcome, StepState, TaskId, Token};

/// The client of this store, for who writes with [`PostgresStore::finish_in`].
pub use tokio_postgres;

/// How a store's database is reached.
#[derive(Clone)]
pub struct PostgresOptions {
    /// `postgres://user:password@host:port/database?sslmode=…`, as libpq takes it. Among several hosts
    /// the one is looked for that takes writes.
    pub url: String,
    /// The password, where the address has none.
    pub password: Option<String>,
    /// A file of passwords in libpq's format, for where neither has one. `passfile=` in the address
    /// goes first.
    pub passfile: Option<PathBuf>,
    /// How many connections are open at once under load, beside one for leases and one that listens.
    pub connections: usize,
    /// Where notifications are listened to, if not at `url`: behind `PgBouncer` in transaction mode
    /// nothing is received.
    pub listen_url: Option<String>,
}

impl PostgresOptions {
    /// The defaults for this database.
    pub fn new(url: impl Into<String>) -> Self {
        let url = url.into();
        Self { url, password: None, passfile: None, connections: 8, listen_url: None }
    }

    /// Says what is wrong with the addresses, without connecting; never shows one.
    pub fn check(&self) -> Result<(), StoreError> {
        Connector::new(&self.url, self)?;
        self.listen_url.as_deref().map(|url| Connector::new(url, self)).transpose()?;
        Ok(())
    }
}

impl fmt::Debug for PostgresOptions {
    /// Without the addresses: they may hold a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { passfile, connections, .. } = self;
        f.debug_struct("PostgresOptions")
            .field("passfile", passfile)
            .field("connections", connections)
            .finish_non_exhaustive()
    }
}

/// The store in a `PostgreSQL` database.
pub struct PostgresStore {
    pool: Arc<Pool>,
    inserts: Batcher<Vec<NewEvent>, Vec<Arrival>>,
    finishes: Batcher<Ending, ()>,
    extends: Batcher<(Claim, Duration), ()>,
    /// Notified here when tasks may have become due.
    due: Arc<Notify>,
    /// Notified when they may, here or on another node.
    woken: Arc<Notify>,
    front: Front,
    walk: tokio::sync::Mutex<Walk>,
    /// What gathers batches and listens; ends with the store.
    #[expect(dead_code, reason = "held until it is dropped")]
    running: JoinSet<()>,
}

impl PostgresStore {
    /// Connects, and brings the tables up to date. Fails with [`StoreError::Refused`] where only a
    /// person can help; any other error may pass by itself.
    pub async fn open(options: PostgresOptions) -> Result<Self, StoreError> {
        let pool = Arc::new(Pool::new(&options)?);
        migrate::run(&pool).await?;
        copy::check_finished(&pool).await?;
        Self::start(pool, &options)
    }

    /// Connects to a database that has the tables, and changes nothing in it.
    pub async fn open_existing(options: PostgresOptions) -> Result<Self, StoreError> {
        let pool = Arc::new(Pool::new(&options)?);
        migrate::check(&pool).await?;
        copy::check_finished(&pool).await?;
        Self::start(pool, &options)
    }

    /// Brings the tables up to date.
    pub async fn migrate(options: &PostgresOptions) -> Result<Migrated, StoreError> {
        let pool = Pool::new(options)?;
        let migrated = migrate::run(&pool).await?;
        Ok(Migrated { grants: functions::ungranted(&pool).await?, ..migrated })
    }

    /// Gives what a person has to run who may make roles, before workers in other languages can call
    /// the SQL functions as members of the role `hookonce_worker`; `None` where they can.
    pub async fn worker_grants(&self) -> Result<Option<&'static str>, StoreError> {
        functions::ungranted(&self.pool).await
    }

    fn start(pool: Arc<Pool>, options: &PostgresOptions) -> Result<Self, StoreError> {
        let (due, woken) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let mut running = JoinSet::new();
        pool.start_closing(&mut running);
        let inserts = insert::start(&mut running, &pool, &due);
        let finishes = finish::start_finishes(&mut running, &pool, &due);
        let extends = finish::start_extends(&mut running, &pool);
        listen::start(&mut running, &pool, options, &due, &woken)?;
        let (front, walk) = (Front::default(), tokio::sync::Mutex::default());
        Ok(Self { pool, inserts, finishes, extends, due, woken, front, walk, running })
    }
}

#[async_trait]
impl Store for PostgresStore {
    async fn insert(&self, events: Vec<NewEvent>) -> Result<Vec<Arrival>, StoreError> {
        let (n, bytes) = (events.len(), events.iter().map(|event| event.payload.len() + 512).sum());
        self.inserts.ask(events, n, bytes).await
    }

    async fn claim(&self, order: ClaimOrder) -> Result<Vec<Claim>, StoreError> {
        let claims = claim::claim(&self.pool, &self.front, &order);
        timeout(SILENCE, claims).await.unwrap_or_else(|_| Err(Failed::Silent(SILENCE).into()))
    }

    async fn extend(&self, claim: &Claim, lease: Duration) -> Result<(), StoreError> {
        self.extends.ask((claim.clone(), lease), 1, 0).await
    }

    async fn finish(&self, claim: &Claim, outcome: &Outcome) -> Result<(), StoreError> {
        self.finishes.ask(Ending::new(claim, outcome), 1, 0).await
    }

    async fn finish_with(
        &self,
        claim: &Claim,
        done: StepDone<'_>,
        statement: Statement,
    ) -> Result<(), StoreError> {
        let finished = statement::finish_with(&self.pool, claim, done, &statement).await;
        if finished.is_ok() && matches!(done, StepDone::Task) && claim.event.lane.is_some() {
            self.due.notify_one();
        }
        finished
    }

    async fn record_step(
        &self,
        claim: &Claim,
        name: &str,
        state: StepState,
        result: Option<&str>,
    ) -> Result<(), StoreError> {
        finish::record_step(&self.pool, claim, name, state, result).await
    }

    async fn release(&self, claim: &Claim, release: Release) -> Result<(), StoreError> {
        finish::release(&self.pool, claim, &release).await?;
        self.due.notify_one();
        Ok(())
    }

    async fn reap(
        &self,
        token: Token,
        lease: Duration,
        limit: usize,
    ) -> Result<Vec<Claim>, StoreError> {
        claim::reap(&self.pool, &self.front, token, lease, limit).await
    }

    async fn claimed(&self, task: &TaskId, token: Token) -> Result<Claim, StoreError> {
        claim::by_token(&self.pool, task, token).await
    }

    async fn progress(&self, events: &[EventId]) -> Result<Vec<Progress>, StoreError> {
        read::progress(&self.pool, events).await
    }

    async fn replay(&self, tasks: &[TaskId]) -> Result<Moved, StoreError> {
        let moved = steer::replay(&self.pool, tasks).await?;
        self.due.notify_one();
        Ok(moved)
    }

    async fn rerun(&self, tasks: &[TaskId]) -> Result<Moved, StoreError> {
        let moved = steer::rerun(&self.pool, tasks).await?;
        self.due.notify_one();
        Ok(moved)
    }

    async fn bury(&self, tasks: &[TaskId]) -> Result<Moved, StoreError> {
        let moved = steer::bury(&self.pool, tasks).await?;
        self.due.notify_one();
        Ok(moved)
    }

    async fn assign(&self, tasks: &[(EventId, NewTask)]) -> Result<Moved, StoreError> {
        let moved = steer::assign(&self.pool, tasks).await?;
        self.due.notify_one();
        Ok(moved)
    }

    async fn reroute(&self, tasks: &[TaskId], to: &NewTask) -> Result<Moved, StoreError> {
        let moved = steer::reroute(&self.pool, tasks, to).await?;
        self.due.notify_one();
        Ok(moved)
    }

    async fn audit(&self, entry: &AuditEntry) -> Result<(), StoreError> {
        steer::audit(&self.pool, entry).await
    }

    async fn prune(&self, retention: &Retention, limit: usize) -> Result<Pruned, StoreError> {
        let mut walk = self.walk.lock().await;
        prune::prune(&self.pool, &mut walk, retention, limit).await
    }

    async fn fold(&self, limit: usize) -> Result<bool, StoreError> {
        let mut walk = self.walk.lock().await;
        prune::fold(&self.pool, &mut walk, limit).await
    }

    async fn mirror(
        &self,
        sources: &[MirrorSource],
        routes: &[MirrorRoute],
    ) -> Result<(), StoreError> {
        steer::mirror(&self.pool, sources, routes).await
    }

    async fn get(&self, id: EventId) -> Result<Option<EventDetails>, StoreError> {
        read::get(&self.pool, id).await
    }

    async fn list(&self, filter: &Filter, limit: usize) -> Result<Page, StoreError> {
        read::list(&self.pool, filter, Way::NewestFirst, limit).await
    }

    async fn walk(&self, filter: &Filter, limit: usize) -> Result<Page, StoreError> {
        read::list(&self.pool, filter, Way::OldestFirst, limit).await
    }

    async fn counts(&self) -> Result<Counts, StoreError> {
        read::counts(&self.pool).await
    }

    async fn routes(&self) -> Result<Vec<RouteCounts>, StoreError> {
        read::routes(&self.pool).await
    }

    async fn now(&self) -> Result<Timestamp, StoreError> {
        read::now(&self.pool).await
    }

    async fn wait(&self) {
        tokio::select! {
            () = self.woken.notified() => {}
            () = self.front.is_due_again() => {}
        }
    }

    async fn ready(&self) -> Result<(), StoreError> {
        migrate::ready(&self.pool).await
    }

    async fn check(&self, statement: &str, parameters: &[&'static str]) -> Result<(), StoreError> {
        statement::check(&self.pool, statement, parameters).await
    }
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresStore").finish_non_exhaustive()
    }
}
