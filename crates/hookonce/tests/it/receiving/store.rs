//! A store in memory that remembers what was inserted, and misbehaves on request.

use std::collections::HashSet;
use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;
use hookonce::event::{EventId, NewEvent};
use hookonce::store::{
    Arrival, ClaimOrder, Counts, EventDetails, Filter, MirrorRoute, MirrorSource, Moved, Page,
    Pruned, Release, Retention, Statement, StepDone, Store, StoreError,
};
use hookonce::task::{Claim, Outcome, StepState, TaskId, Token};
use tokio::sync::{Notify, Semaphore};

/// How the store behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mood {
    Fine,
    /// Every insert fails.
    Down,
    /// An insert waits until it is let through.
    Gated,
    /// An insert is done and never says so.
    Mute,
}

#[derive(Debug)]
pub(crate) struct FakeStore {
    mood: Mutex<Mood>,
    /// The batches that were stored, as they came.
    batches: Mutex<Vec<Vec<NewEvent>>>,
    known: Mutex<HashSet<EventId>>,
    gate: Semaphore,
    /// Told of each insert that has begun.
    pub(crate) begun: Notify,
    pub(crate) details: Mutex<Option<EventDetails>>,
}

impl FakeStore {
    pub(crate) fn new(mood: Mood) -> Self {
        Self {
            mood: Mutex::new(mood),
            batches: Mutex::default(),
            known: Mutex::default(),
            gate: Semaphore::new(0),
            begun: Notify::new(),
            details: Mutex::default(),
        }
    }

    pub(crate) fn set(&self, mood: Mood) {
        *self.mood.lock().unwrap() = mood;
    }

    /// Lets one insert through the gate.
    pub(crate) fn open(&self) {
        self.gate.add_permits(1);
    }

    pub(crate) fn batches(&self) -> Vec<Vec<NewEvent>> {
        self.batches.lock().unwrap().clone()
    }

    fn take_in(&self, events: Vec<NewEvent>) -> Vec<Arrival> {
        let mut known = self.known.lock().unwrap();
        let arrival = |event: &NewEvent| {
            if known.insert(event.id) { Arrival::New } else { Arrival::Duplicate }
        };
        let arrivals = events.iter().map(arrival).collect();
        self.batches.lock().unwrap().push(events);
        arrivals
    }

    fn mood(&self) -> Mood {
        *self.mood.lock().unwrap()
    }
}

#[async_trait]
impl Store for FakeStore {
    async fn insert(&self, events: Vec<NewEvent>) -> Result<Vec<Arrival>, StoreError> {
        self.begun.notify_one();
        match self.mood() {
            Mood::Fine | Mood::Mute => {}
            Mood::Down => return Err(StoreError::unavailable("disk at /var/lib is full")),
            Mood::Gated => self.gate.acquire().await.unwrap().forget(),
        }
        let arrivals = self.take_in(events);
        if self.mood() == Mood::Mute {
            std::future::pending::<()>().await;
        }
        Ok(arrivals)
    }

    async fn ready(&self) -> Result<(), StoreError> {
        match self.mood() {
            Mood::Fine => Ok(()),
            Mood::Down => Err(StoreError::unavailable("disk at /var/lib is full")),
            Mood::Gated | Mood::Mute => std::future::pending().await,
        }
    }

    async fn get(&self, _: EventId) -> Result<Option<EventDetails>, StoreError> {
        if self.mood() == Mood::Down {
            return Err(StoreError::unavailable("down"));
        }
        Ok(self.details.lock().unwrap().clone())
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
    async fn reap(&self, _: Token, _: Duration, _: usize) -> Result<Vec<Claim>, StoreError> {
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
    async fn prune(&self, _: &Retention, _: usize) -> Result<Pruned, StoreError> {
        unimplemented!()
    }
    async fn fold(&self, _: usize) -> Result<bool, StoreError> {
        unimplemented!()
    }
    async fn mirror(&self, _: &[MirrorSource], _: &[MirrorRoute]) -> Result<(), StoreError> {
        unimplemented!()
    }
    async fn list(&self, _: &Filter, _: usize) -> Result<Page, StoreError> {
        unimplemented!()
    }
    async fn counts(&self) -> Result<Counts, StoreError> {
        unimplemented!()
    }
    async fn wait(&self) {
        unimplemented!()
    }
    async fn check(&self, _: &str, _: &[&'static str]) -> Result<(), StoreError> {
        unimplemented!()
    }
}
