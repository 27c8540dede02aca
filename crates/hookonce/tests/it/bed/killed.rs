//! A store whose server is killed and comes back before each of its first calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use hookonce::event::{EventId, NewEvent};
use hookonce::store::redis::RedisStore;
use hookonce::store::{
    Arrival, AuditEntry, ClaimOrder, Counts, EventDetails, Filter, MirrorRoute, MirrorSource,
    Moved, Page, Progress, Pruned, Release, Retention, RouteCounts, Statement, StepDone, Store,
    StoreError,
};
use hookonce::task::{Claim, NewTask, Outcome, StepState, TaskId, Token};
use jiff::Timestamp;

use super::redis_server::Server;

/// How often the server is killed.
const TIMES: isize = 10;

#[derive(Debug)]
pub(crate) struct Killed {
    store: Arc<RedisStore>,
    server: Arc<Server>,
    left: AtomicIsize,
}

impl Killed {
    pub(crate) fn new(store: Arc<RedisStore>, server: Arc<Server>) -> Self {
        Self { store, server, left: AtomicIsize::new(TIMES) }
    }

    async fn kill(&self) {
        if self.left.fetch_sub(1, Ordering::SeqCst) > 0 {
            let server = self.server.clone();
            tokio::task::spawn_blocking(move || server.restart()).await.unwrap();
        }
    }
}

macro_rules! each_after_a_kill {
    ($(fn $name:ident($($argument:ident: $type:ty),*) -> $given:ty;)*) => {
        #[async_trait]
        impl Store for Killed {
            $(async fn $name(&self, $($argument: $type),*) -> Result<$given, StoreError> {
                self.kill().await;
                self.store.$name($($argument),*).await
            })*

            async fn wait(&self) {
                self.store.wait().await;
            }
        }
    };
}

each_after_a_kill! {
    fn insert(events: Vec<NewEvent>) -> Vec<Arrival>;
    fn claim(order: ClaimOrder) -> Vec<Claim>;
    fn extend(claim: &Claim, lease: Duration) -> ();
    fn finish(claim: &Claim, outcome: &Outcome) -> ();
    fn finish_with(claim: &Claim, done: StepDone<'_>, statement: Statement) -> ();
    fn record_step(claim: &Claim, name: &str, state: StepState, result: Option<&str>) -> ();
    fn release(claim: &Claim, release: Release) -> ();
    fn reap(token: Token, lease: Duration, limit: usize) -> Vec<Claim>;
    fn claimed(task: &TaskId, token: Token) -> Claim;
    fn progress(events: &[EventId]) -> Vec<Progress>;
    fn replay(tasks: &[TaskId]) -> Moved;
    fn rerun(tasks: &[TaskId]) -> Moved;
    fn bury(tasks: &[TaskId]) -> Moved;
    fn assign(tasks: &[(EventId, NewTask)]) -> Moved;
    fn reroute(tasks: &[TaskId], to: &NewTask) -> Moved;
    fn audit(entry: &AuditEntry) -> ();
    fn prune(retention: &Retention, limit: usize) -> Pruned;
    fn fold(limit: usize) -> bool;
    fn mirror(sources: &[MirrorSource], routes: &[MirrorRoute]) -> ();
    fn get(id: EventId) -> Option<EventDetails>;
    fn list(filter: &Filter, limit: usize) -> Page;
    fn walk(filter: &Filter, limit: usize) -> Page;
    fn counts() -> Counts;
    fn routes() -> Vec<RouteCounts>;
    fn now() -> Timestamp;
    fn ready() -> ();
    fn check(statement: &str, parameters: &[&'static str]) -> ();
}
