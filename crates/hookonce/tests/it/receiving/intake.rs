//! The half of a store that a receiver uses, so that a store that only receives needs no other. The
//! ingest benchmark uses it too.

use async_trait::async_trait;
use hookonce::event::{EventId, NewEvent};
use hookonce::store::{Arrival, EventDetails, StoreError};

/// What a receiver asks of a store.
#[async_trait]
pub(crate) trait Intake {
    async fn insert(&self, events: Vec<NewEvent>) -> Result<Vec<Arrival>, StoreError>;

    async fn ready(&self) -> Result<(), StoreError> {
        Ok(())
    }

    async fn get(&self, _: EventId) -> Result<Option<EventDetails>, StoreError> {
        Ok(None)
    }
}

/// Makes a store of an [`Intake`]; nobody works on what it takes in.
macro_rules! store_of_intake {
    ($name:ty) => {
        const _: () = {
            use std::time::Duration;

            use async_trait::async_trait;
            use hookonce::event::{EventId, NewEvent};
            use hookonce::store::{
                Arrival, AuditEntry, ClaimOrder, Counts, EventDetails, Filter, MirrorRoute,
                MirrorSource, Moved, Page, Progress, Pruned, Release, Retention, RouteCounts,
                Statement, StepDone, Store, StoreError,
            };
            use hookonce::task::{Claim, NewTask, Outcome, StepState, TaskId, Token};

            #[async_trait]
            impl Store for $name {
                async fn insert(&self, events: Vec<NewEvent>) -> Result<Vec<Arrival>, StoreError> {
                    Intake::insert(self, events).await
                }
                async fn ready(&self) -> Result<(), StoreError> {
                    Intake::ready(self).await
                }
                async fn get(&self, id: EventId) -> Result<Option<EventDetails>, StoreError> {
                    Intake::get(self, id).await
                }
                async fn claim(&self, _: ClaimOrder) -> Result<Vec<Claim>, StoreError> {
                    unimplemented!()
                }
                async fn extend(&self, _: &Claim, _: Duration) -> Result<(), StoreError> {
                    unimplemented!()
                }
                async fn finish(&self, _: &Claim, _: &Outcome) -> Result<(), StoreError> {
                    unimplemented!()
                }
                async fn finish_with(
                    &self,
                    _: &Claim,
                    _: StepDone<'_>,
                    _: Statement,
                ) -> Result<(), StoreError> {
                    unimplemented!()
                }
                async fn record_step(
                    &self,
                    _: &Claim,
                    _: &str,
                    _: StepState,
                    _: Option<&str>,
                ) -> Result<(), StoreError> {
                    unimplemented!()
                }
                async fn release(&self, _: &Claim, _: Release) -> Result<(), StoreError> {
                    unimplemented!()
                }
                async fn reap(
                    &self,
                    _: Token,
                    _: Duration,
                    _: usize,
                ) -> Result<Vec<Claim>, StoreError> {
                    unimplemented!()
                }
                async fn replay(&self, _: &[TaskId]) -> Result<Moved, StoreError> {
                    unimplemented!()
                }
                async fn rerun(&self, _: &[TaskId]) -> Result<Moved, StoreError> {
                    unimplemented!()
                }
                async fn bury(&self, _: &[TaskId]) -> Result<Moved, StoreError> {
                    unimplemented!()
                }
                async fn claimed(&self, _: &TaskId, _: Token) -> Result<Claim, StoreError> {
                    unimplemented!()
                }
                async fn progress(&self, _: &[EventId]) -> Result<Vec<Progress>, StoreError> {
                    unimplemented!()
                }
                async fn assign(&self, _: &[(EventId, NewTask)]) -> Result<Moved, StoreError> {
                    unimplemented!()
                }
                async fn reroute(&self, _: &[TaskId], _: &NewTask) -> Result<Moved, StoreError> {
                    unimplemented!()
                }
                async fn audit(&self, _: &AuditEntry) -> Result<(), StoreError> {
                    unimplemented!()
                }
                async fn walk(&self, _: &Filter, _: usize) -> Result<Page, StoreError> {
                    unimplemented!()
                }
                async fn routes(&self) -> Result<Vec<RouteCounts>, StoreError> {
                    unimplemented!()
                }
                async fn prune(&self, _: &Retention, _: usize) -> Result<Pruned, StoreError> {
                    unimplemented!()
                }
                async fn fold(&self, _: usize) -> Result<bool, StoreError> {
                    unimplemented!()
                }
                async fn mirror(
                    &self,
                    _: &[MirrorSource],
                    _: &[MirrorRoute],
                ) -> Result<(), StoreError> {
                    unimplemented!()
                }
                async fn list(&self, _: &Filter, _: usize) -> Result<Page, StoreError> {
                    unimplemented!()
                }
                async fn counts(&self) -> Result<Counts, StoreError> {
                    unimplemented!()
                }
                async fn now(&self) -> Result<jiff::Timestamp, StoreError> {
                    unimplemented!()
                }
                async fn wait(&self) {
                    unimplemented!()
                }
                async fn check(&self, _: &str, _: &[&'static str]) -> Result<(), StoreError> {
                    unimplemented!()
                }
            }
        };
    };
}
pub(crate) use store_of_intake;
