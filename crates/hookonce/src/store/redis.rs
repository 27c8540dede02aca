//! Redis, one server or a cluster: each operation one script, which happens wholly or not at all.
//!
//! All keys of a scope are in one slot, so that a scope is a store of its own: order and priority hold
//! within it. Lanes are settled inside the scripts that move their tasks. Statements of users can't run
//! here, and nothing here says when an acked event is durable: that is the server's configuration.

mod address;
mod claim;
mod error;
mod facts;
mod finish;
mod insert;
mod link;
mod listen;
mod read;
mod rows;
mod scope;
mod script;
mod steer;
mod wait;

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::join_all;
use jiff::Timestamp;
use serde::Serialize;
use tokio::sync::Notify;
use tokio::task::JoinSet;

pub use self::facts::RedisFacts;

use self::address::Address;
use self::error::told;
use self::insert::{Intake, millis};
use self::link::{Call, Link};
use self::scope::{Apart, Ask, Scopes};
use self::script::{AUDIT, FOLD, KNOCK, MIRROR, PROBE, PRUNE};
use self::wait::Replicas;
use super::pick::Turn;
use super::way::Way;
use super::{
    Arrival, AuditEntry, ClaimOrder, Clock, Counts, EventDetails, Filter, MirrorRoute,
    MirrorSource, Moved, Page, Progress, Pruned, Release, Retention, RouteCounts, Statement,
    StepDone, Store, StoreError,
};
use crate::event::{EventId, NewEvent};
use crate::task::{Claim, NewTask, Outcome, StepState, TaskId, Token};

/// For how many days counts are kept by minute.
const MINUTES_APART: u32 = 31;

/// Keys of no scope, all in one slot.
const SCOPES: &str = "scopes";
const SOURCES: &str = "sources";
const ROUTES: &str = "routes";
const AUDITED: &str = "audit";

/// How a server is reached.
#[derive(Clone)]
pub struct RedisOptions {
    /// `redis://user:password@host:port/database`, `rediss://…` for TLS with `?ca=FILE&cert=FILE&key=FILE`,
    /// `redis+cluster://host:port,host:port` and `rediss+cluster://…` for a cluster. `?prefix=…` is what
    /// the names of all keys begin with, `hookonce` unless it is said, so that several may share a server.
    pub url: String,
    /// The password, where the address has none.
    pub password: Option<String>,
    /// How many replicas have to have an event before it is acked.
    pub wait_replicas: usize,
    /// Tells the time in place of the server, for tests.
    pub clock: Option<Clock>,
}

impl RedisOptions {
    /// The defaults for this server.
    pub fn new(url: impl Into<String>) -> Self {
        Self { url: url.into(), password: None, wait_replicas: 0, clock: None }
    }

    /// Says what is wrong with the address, without connecting; never shows it.
    pub fn check(&self) -> Result<(), StoreError> {
        Address::read(self).map(drop)
    }
}

impl fmt::Debug for RedisOptions {
    /// Without the address: it may hold a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { wait_replicas, .. } = self;
        f.debug_struct("RedisOptions").field("wait_replicas", wait_replicas).finish_non_exhaustive()
    }
}

/// The store on a Redis server or cluster.
pub struct RedisStore {
    scopes: Arc<Scopes>,
    intake: Intake,
    turn: Mutex<Turn>,
    woken: Arc<Notify>,
    clock: Option<Clock>,
    /// Ends with the store.
    _running: JoinSet<()>,
}

impl RedisStore {
    /// Connects. Fails with [`StoreError::Refused`] where the server evicts keys, is too old or doesn't let
    /// us in.
    pub async fn open(options: RedisOptions) -> Result<Self, StoreError> {
        let address = Address::read(&options)?;
        let link = Link::open(&address).await?;
        let facts = facts::facts(&link).await?;
        if facts.replicas < options.wait_replicas {
            return Err(StoreError::Refused(format!(
                "this Redis has {} replicas (of a cluster: its poorest primary), and `redis.wait_replicas` asks for {}",
                facts.replicas, options.wait_replicas
            )));
        }
        for warning in facts.warnings() {
            tracing::warn!("{warning}");
        }
        let scopes = Arc::new(Scopes::new(link, address.prefix.clone(), options.clock.clone()));
        scopes.check_layout().await?;
        let mut running = JoinSet::new();
        let replicas = (options.wait_replicas > 0)
            .then(|| Address::read(&options))
            .transpose()?
            .map(|address| Arc::new(Replicas::new(address, options.wait_replicas)));
        let intake = Intake::new(scopes.clone(), replicas);
        let woken = Arc::new(Notify::new());
        let channel = format!("{}:due", address.prefix);
        running.spawn(listen::keep_listening(address.clients()?, channel, woken.clone()));
        let clock = options.clock;
        Ok(Self { scopes, intake, turn: Mutex::default(), woken, clock, _running: running })
    }

    /// Looks at the server.
    pub async fn facts(&self) -> Result<RedisFacts, StoreError> {
        facts::facts(&self.scopes.link).await
    }

    async fn replace(&self, name: &str, rows: Vec<(String, String)>) -> Result<(), StoreError> {
        let key = self.scopes.global(name);
        let rows: Vec<&str> = rows.iter().flat_map(|(name, row)| [&**name, &**row]).collect();
        let call = Call { script: &MIRROR, keys: &[&key], arguments: &rows };
        self.scopes.link.run::<String>(&call).await.map(drop).map_err(told)
    }
}

#[async_trait]
impl Store for RedisStore {
    async fn insert(&self, events: Vec<NewEvent>) -> Result<Vec<Arrival>, StoreError> {
        self.intake.insert(events).await
    }

    async fn claim(&self, order: ClaimOrder) -> Result<Vec<Claim>, StoreError> {
        claim::claim(&self.scopes, &self.turn, &order).await
    }

    async fn extend(&self, claim: &Claim, lease: Duration) -> Result<(), StoreError> {
        finish::extend(&self.scopes, claim, lease).await
    }

    async fn finish(&self, claim: &Claim, outcome: &Outcome) -> Result<(), StoreError> {
        finish::finish(&self.scopes, claim, outcome).await
    }

    async fn finish_with(
        &self,
        _: &Claim,
        _: StepDone<'_>,
        _: Statement,
    ) -> Result<(), StoreError> {
        Err(no_statements())
    }

    async fn record_step(
        &self,
        claim: &Claim,
        name: &str,
        state: StepState,
        result: Option<&str>,
    ) -> Result<(), StoreError> {
        finish::record_step(&self.scopes, claim, (name, state, result)).await
    }

    async fn release(&self, claim: &Claim, release: Release) -> Result<(), StoreError> {
        finish::release(&self.scopes, claim, &release).await
    }

    async fn reap(
        &self,
        token: Token,
        lease: Duration,
        limit: usize,
    ) -> Result<Vec<Claim>, StoreError> {
        claim::reap(&self.scopes, token, lease, limit).await
    }

    async fn claimed(&self, task: &TaskId, token: Token) -> Result<Claim, StoreError> {
        claim::by_token(&self.scopes, task, token).await?.ok_or(StoreError::Lost)
    }

    async fn progress(&self, events: &[EventId]) -> Result<Vec<Progress>, StoreError> {
        read::progress(&self.scopes, events).await
    }

    async fn replay(&self, tasks: &[TaskId]) -> Result<Moved, StoreError> {
        steer::replay(&self.scopes, tasks).await
    }

    async fn rerun(&self, tasks: &[TaskId]) -> Result<Moved, StoreError> {
        steer::rerun(&self.scopes, tasks).await
    }

    async fn bury(&self, tasks: &[TaskId]) -> Result<Moved, StoreError> {
        steer::bury(&self.scopes, tasks).await
    }

    async fn assign(&self, tasks: &[(EventId, NewTask)]) -> Result<Moved, StoreError> {
        steer::assign(&self.scopes, tasks).await
    }

    async fn reroute(&self, tasks: &[TaskId], to: &NewTask) -> Result<Moved, StoreError> {
        steer::reroute(&self.scopes, tasks, to).await
    }

    async fn audit(&self, entry: &AuditEntry) -> Result<(), StoreError> {
        #[derive(Serialize)]
        struct Entry<'a> {
            who: &'a str,
            action: &'a str,
            details: &'a str,
            /// No other entry is equal to this one.
            number: String,
        }
        let AuditEntry { who, action, details } = entry;
        let number = hex::encode(Token::draw().as_bytes());
        let entry = Entry { who, action, details, number };
        let entry = serde_json::to_string(&entry)
            .map_err(|error| StoreError::unavailable(error.to_string()))?;
        let (key, arguments) = (self.scopes.global(AUDITED), [&*entry]);
        let call = Call { script: &AUDIT, keys: &[&key], arguments: &arguments };
        self.scopes.link.run::<String>(&call).await.map(drop).map_err(told)
    }

    async fn prune(&self, retention: &Retention, limit: usize) -> Result<Pruned, StoreError> {
        #[derive(Serialize)]
        struct Asked {
            payload: i64,
            dead: i64,
            key: i64,
            limit: usize,
        }
        let Retention { payload, key, dead } = *retention;
        let [payload, key, dead] = [payload, key, dead].map(millis);
        let asked = Asked { payload, dead, key, limit };
        let (mut all, mut apart) = (Pruned::default(), Apart::default());
        for scope in self.scopes.all().await? {
            let said = self.scopes.run::<String, _>(&scope, &Ask::writing(&PRUNE, &asked)).await;
            let Some(said) = apart.note(said) else { continue };
            let numbers: Vec<usize> = said.split(' ').filter_map(|n| n.parse().ok()).collect();
            let &[payloads, events, more] = &numbers[..] else { return Err(rows::strange()) };
            all.payloads += payloads;
            all.events += events;
            all.more |= more == 1;
        }
        apart.unless(all.payloads + all.events > 0)?;
        Ok(all)
    }

    async fn fold(&self, limit: usize) -> Result<bool, StoreError> {
        #[derive(Serialize)]
        struct Asked {
            apart: u32,
            limit: usize,
        }
        let asked = Asked { apart: MINUTES_APART, limit };
        let (mut said, mut apart) = (Vec::new(), Apart::default());
        for scope in self.scopes.all().await? {
            let folded = self.scopes.run::<String, _>(&scope, &Ask::writing(&FOLD, &asked)).await;
            said.extend(apart.note(folded));
        }
        apart.unless(!said.is_empty())?;
        Ok(said.iter().all(|said| said == "done"))
    }

    async fn mirror(
        &self,
        sources: &[MirrorSource],
        routes: &[MirrorRoute],
    ) -> Result<(), StoreError> {
        for source in sources {
            self.scopes.begin(&source.scope).await?;
        }
        let sources =
            sources.iter().map(|source| (source.name.to_string(), source.scope.to_string()));
        self.replace(SOURCES, sources.collect()).await?;
        let routes = routes.iter().map(|route| (route.name.to_string(), described(route)));
        self.replace(ROUTES, routes.collect()).await
    }

    async fn get(&self, id: EventId) -> Result<Option<EventDetails>, StoreError> {
        read::get(&self.scopes, id, self.now().await?).await
    }

    async fn list(&self, filter: &Filter, limit: usize) -> Result<Page, StoreError> {
        read::list(&self.scopes, filter, Way::NewestFirst, limit).await
    }

    async fn walk(&self, filter: &Filter, limit: usize) -> Result<Page, StoreError> {
        read::list(&self.scopes, filter, Way::OldestFirst, limit).await
    }

    async fn counts(&self) -> Result<Counts, StoreError> {
        read::counts(&self.scopes).await
    }

    async fn routes(&self) -> Result<Vec<RouteCounts>, StoreError> {
        read::routes(&self.scopes).await
    }

    async fn wait(&self) {
        self.woken.notified().await;
    }

    async fn now(&self) -> Result<Timestamp, StoreError> {
        if let Some(clock) = &self.clock {
            return Ok(clock.now());
        }
        let (seconds, micros): (i64, i64) =
            self.scopes.link.keep_asking(&redis::cmd("TIME")).await.map_err(told)?;
        rows::time(seconds * 1000 + micros / 1000)
    }

    async fn ready(&self) -> Result<(), StoreError> {
        let scopes = self.scopes.all().await?;
        let ask = Ask::reading(&PROBE, &());
        let probe = async |scope: &Arc<str>| {
            facts::keeps(&self.scopes.link, &self.scopes.key_of(scope)).await?;
            self.scopes.run::<String, _>(scope, &ask).await
        };
        let (mut ready, mut apart) = (0, Apart::default());
        if scopes.is_empty() {
            let key = self.scopes.global(SCOPES);
            let call = Call { script: &KNOCK, keys: &[&key], arguments: &[] };
            apart.note(self.scopes.link.run::<String>(&call).await.map_err(told));
            apart.note(facts::keeps(&self.scopes.link, &key).await);
        }
        for probed in join_all(scopes.iter().map(probe)).await {
            ready += usize::from(apart.note(probed).is_some());
        }
        apart.note(self.scopes.check_layout().await);
        apart.unless(ready > 0)
    }

    async fn check(&self, _: &str, _: &[&'static str]) -> Result<(), StoreError> {
        Err(no_statements())
    }
}

impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisStore").finish_non_exhaustive()
    }
}

/// A route as it is mirrored.
fn described(route: &MirrorRoute) -> String {
    serde_json::json!({
        "sources": route.sources,
        "kinds": route.kinds,
        "max_attempts": route.max_attempts,
        "retry_min": millis(route.retry_min),
        "retry_max": millis(route.retry_max),
        "on_dead": if route.holds { "hold" } else { "pass" },
        "order": if route.ordered { "lane" } else { "none" },
        "worker": if route.external { "external" } else { "server" },
    })
    .to_string()
}

fn no_statements() -> StoreError {
    StoreError::Unsupported(
        "a `sql` sink needs a store that speaks SQL, and this one is Redis: use `sqlite:` or \
         `postgres://`, or another sink"
            .into(),
    )
}
