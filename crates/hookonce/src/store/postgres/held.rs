//! Requests with a key that somebody's open transaction is storing: they wait apart, so that no other
//! request waits with them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::insert::Request;
use crate::event::EventId;
use crate::store::StoreError;

/// How many more may be there.
const QUEUE: usize = 1024;
/// How many keys are remembered, and for how long: a sender comes again.
const KEYS: usize = 1024;
const MEMORY: Duration = Duration::from_secs(10);

/// The door to what waits apart.
#[derive(Clone)]
pub(super) struct Held {
    requests: mpsc::Sender<Request>,
    keys: Arc<Mutex<HashMap<EventId, Instant>>>,
}

impl Held {
    /// Starts what stores them one by one, with `store`: `width` at a time, each on a connection of its
    /// own.
    pub(super) fn start<W, F>(running: &mut JoinSet<()>, width: usize, store: W) -> Self
    where
        W: Fn(Self, Request) -> F + Clone + Send + 'static,
        F: Future<Output = ()> + Send,
    {
        let (requests, queue) = mpsc::channel::<Request>(QUEUE);
        let queue = Arc::new(tokio::sync::Mutex::new(queue));
        let held = Self { requests, keys: Arc::default() };
        for _ in 0..width {
            let (queue, store, held) = (queue.clone(), store.clone(), held.clone());
            running.spawn(async move {
                loop {
                    let Some(request) = queue.lock().await.recv().await else { return };
                    if !request.is_abandoned() {
                        store(held.clone(), request).await;
                    }
                }
            });
        }
        held
    }

    /// Has a request wait apart.
    pub(super) fn put(&self, request: Request) {
        let now = Instant::now();
        let mut keys = self.keys();
        keys.retain(|_, at| now.duration_since(*at) < MEMORY);
        for event in &request.what {
            if keys.len() < KEYS {
                keys.insert(event.id, now);
            }
        }
        drop(keys);
        if let Err(refused) = self.requests.try_send(request) {
            let message = "too many events wait for an open transaction that is storing them";
            refused.into_inner().answer(Err(StoreError::unavailable(message)));
        }
    }

    /// Whether one of a request's keys was held a moment ago.
    pub(super) fn knows(&self, request: &Request) -> bool {
        let keys = self.keys();
        !keys.is_empty() && request.what.iter().any(|event| keys.contains_key(&event.id))
    }

    /// Forgets the keys of a request that is stored.
    pub(super) fn forget(&self, request: &Request) {
        let mut keys = self.keys();
        for event in &request.what {
            keys.remove(&event.id);
        }
    }

    fn keys(&self) -> MutexGuard<'_, HashMap<EventId, Instant>> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
