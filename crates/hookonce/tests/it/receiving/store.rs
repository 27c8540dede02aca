//! A store in memory that remembers what was inserted, and misbehaves on request.

use std::collections::HashSet;
use std::sync::Mutex;

use async_trait::async_trait;
use hookonce::event::{EventId, NewEvent};
use hookonce::store::{Arrival, EventDetails, StoreError};
use tokio::sync::{Notify, Semaphore};

use super::intake::{Intake, store_of_intake};

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
impl Intake for FakeStore {
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
}

store_of_intake!(FakeStore);
