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

/// The most events that are waited for at once; a request beyond that is told to come again.
const LIMIT: usize = 100_000;

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

/// A request's events that are not handled yet, and how often an attempt for each had failed before
/// the request came.
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
    pub(super) async fn wait(&self, store: &dyn Store, before: Before, until: Instant) -> Handled {
        let Some(mut waits) = Waits::new(self, before) else { return Handled::Late };
        loop {
            let asked_at = {
                let mut seen = self.seen.lock().await;
                self.refresh(&mut seen, store).await;
                if let Some(handled) = waits.judge(&seen.progress) {
                    return handled;
                }
                seen.asked_at
            };
            let next = asked_at.unwrap_or(until) + POLL;
            if next > until {
                return Handled::Late;
            }
            tokio::time::sleep_until(next).await;
        }
    }

    /// Asks how far the events have come, unless somebody has just done so. Where the store doesn't
    /// answer, nobody asks again before the next time.
    async fn refresh(&self, seen: &mut Seen, store: &dyn Store) {
        let now = Instant::now();
        if seen.asked_at.is_some_and(|at| now < at + POLL) {
            return;
        }
        let events: Vec<EventId> = self.waiting().keys().copied().collect();
        seen.asked_at = Some(now);
        seen.progress.clear();
        match store.progress(&events).await {
            Ok(progress) => seen.progress.extend(events.into_iter().zip(progress)),
            Err(error) => telemetry::progress_unknown(&error),
        }
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<EventId, usize>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request that waits: its events are asked about until they are handled.
struct Waits<'a> {
    handling: &'a Handling,
    before: Vec<(EventId, u64)>,
}

impl<'a> Waits<'a> {
    /// `None` where more is waited for than memory is kept for.
    fn new(handling: &'a Handling, Before(before): Before) -> Option<Self> {
        let mut waiting = handling.waiting();
        if waiting.len() + before.len() > LIMIT && !waiting.is_empty() {
            return None;
        }
        for (id, _) in &before {
            *waiting.entry(*id).or_default() += 1;
        }
        drop(waiting);
        Some(Self { handling, before })
    }

    /// Leaves those that are handled, and says whether the wait is over.
    fn judge(&mut self, seen: &HashMap<EventId, Progress>) -> Option<Handled> {
        let is_handled = |id: &EventId| seen.get(id).is_some_and(|progress| progress.open == 0);
        let (handled, open): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.before).into_iter().partition(|(id, _)| is_handled(id));
        self.before = open;
        self.leave(&handled);
        let has_failed = |(id, failures): &(EventId, u64)| {
            seen.get(id).is_some_and(|progress| progress.failures > *failures)
        };
        if self.before.is_empty() {
            return Some(Handled::Wholly);
        }
        self.before.iter().any(has_failed).then_some(Handled::Failed)
    }

    fn leave(&self, events: &[(EventId, u64)]) {
        let mut waiting = self.handling.waiting();
        for (id, _) in events {
            if let Some(n) = waiting.get_mut(id) {
                *n -= 1;
                if *n == 0 {
                    waiting.remove(id);
                }
            }
        }
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.leave(&self.before);
    }
}
