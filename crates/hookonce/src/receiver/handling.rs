//! Requests that are answered only once their events are handled.
//!
//! Whichever node handles them: the store is asked how far they have come, for all requests that wait
//! at once. Nothing is given back to the sender's keeping: our own retries go on whatever is
//! answered, and a copy that comes meanwhile waits likewise.

use std::collections::HashMap;
use std::sync::{Mutex as Lock, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::event::EventId;
use crate::store::{Progress, Store, StoreError};
use crate::telemetry;

/// How often the store is asked while somebody waits.
const POLL: Duration = Duration::from_millis(50);

/// How the wait for a request's events ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Handled {
    /// Every task of theirs is completed or dead, or there is none.
    Wholly,
    /// An attempt failed that ended after the request came.
    Failed,
    /// Neither, for as long as the sender waits.
    Late,
}

/// The requests that wait.
#[derive(Debug, Default)]
pub(super) struct Handling {
    /// The events that are waited for, and by how many requests.
    waiting: Lock<HashMap<EventId, usize>>,
    /// What the store said last. Whoever finds it too old asks anew, for all.
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    asked_at: Option<Instant>,
    progress: HashMap<EventId, Progress>,
}

/// A request's events, and how often an attempt for each had failed before it came.
#[derive(Debug)]
pub(super) struct Before(Vec<(EventId, u64)>);

impl Before {
    /// Asks what happened to the events before the request that brings them is stored.
    pub(super) async fn of(
        store: &dyn Store,
        mut events: Vec<EventId>,
    ) -> Result<Self, StoreError> {
        events.sort_unstable();
        events.dedup();
        let progress = store.progress(&events).await?;
        let failures = progress.into_iter().map(|progress| progress.failures);
        Ok(Self(events.into_iter().zip(failures).collect()))
    }
}

impl Handling {
    /// Waits until the events are handled, an attempt fails, or it is `until`.
    pub(super) async fn wait(&self, store: &dyn Store, before: &Before, until: Instant) -> Handled {
        let _registered = Registered::new(self, before);
        loop {
            let (asked_at, handled) = self.look(store, before).await;
            let next = asked_at + POLL;
            match handled {
                Some(handled) => return handled,
                None if next > until => return Handled::Late,
                None => tokio::time::sleep_until(next).await,
            }
        }
    }

    /// How far the events have come, asking the store unless somebody has just done so.
    async fn look(&self, store: &dyn Store, before: &Before) -> (Instant, Option<Handled>) {
        let mut seen = self.seen.lock().await;
        let now = Instant::now();
        let is_known = |(id, _): &(EventId, u64)| seen.progress.contains_key(id);
        let is_fresh = seen.asked_at.is_some_and(|at| now < at + POLL);
        if !(is_fresh && before.0.iter().all(is_known)) {
            let events: Vec<EventId> = self.waiting().keys().copied().collect();
            seen.asked_at = Some(now);
            seen.progress.clear();
            match store.progress(&events).await {
                Ok(progress) => seen.progress.extend(events.into_iter().zip(progress)),
                Err(error) => telemetry::progress_unknown(&error),
            }
        }
        let asked_at = seen.asked_at.unwrap_or(now);
        (asked_at, before.judge(&seen.progress))
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<EventId, usize>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Before {
    fn judge(&self, seen: &HashMap<EventId, Progress>) -> Option<Handled> {
        let mut is_handled = true;
        let mut has_failed = false;
        for (id, failures) in &self.0 {
            let progress = seen.get(id)?;
            is_handled &= progress.open == 0;
            has_failed |= progress.open > 0 && progress.failures > *failures;
        }
        match (is_handled, has_failed) {
            (true, _) => Some(Handled::Wholly),
            (false, true) => Some(Handled::Failed),
            (false, false) => None,
        }
    }
}

/// Events that are asked about for as long as their request waits.
struct Registered<'a> {
    handling: &'a Handling,
    before: &'a Before,
}

impl<'a> Registered<'a> {
    fn new(handling: &'a Handling, before: &'a Before) -> Self {
        let mut waiting = handling.waiting();
        for (id, _) in &before.0 {
            *waiting.entry(*id).or_default() += 1;
        }
        drop(waiting);
        Self { handling, before }
    }
}

impl Drop for Registered<'_> {
    fn drop(&mut self) {
        let mut waiting = self.handling.waiting();
        for (id, _) in &self.before.0 {
            if let Some(n) = waiting.get_mut(id) {
                *n -= 1;
                if *n == 0 {
                    waiting.remove(id);
                }
            }
        }
    }
}
