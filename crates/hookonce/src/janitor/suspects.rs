//! Tasks whose last attempt comes after a lapse: one of them may be what kills its worker.
//!
//! A crash ends every attempt that the process was making, and nobody can tell which of them was
//! the cause. Handled together again, all of them would die with the one. So the last attempts are
//! let out one at a time, and the others wait under the janitor's claim, which costs no attempt
//! even if that process crashes too. One at a time of this process: others let out their own.

use std::collections::VecDeque;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::Instant;

use super::LEASE;
use crate::store::{Store, StoreError};
use crate::task::{Claim, Outcome, State};

/// For how long the others wait for one: what kills its worker rarely takes longer, and a step may
/// run for hours.
const ALONE: Duration = Duration::from_secs(60);
/// How many are kept back, with their payloads; more than that were not lost in one crash.
const LIMIT: usize = 256;

/// The tasks that wait, and the one that is out.
#[derive(Debug, Default)]
pub(super) struct Suspects {
    waiting: VecDeque<Suspect>,
    out: Option<(Claim, Instant)>,
    /// When the claims of those that wait were extended.
    extended: Option<Instant>,
}

/// A task that was taken over, and when it may be tried for the last time.
#[derive(Debug)]
struct Suspect {
    claim: Claim,
    error: String,
    due: Instant,
}

impl Suspects {
    /// Whether one more can be kept back.
    pub(super) fn have_room(&self) -> bool {
        self.waiting.len() < LIMIT
    }

    /// Keeps a task back that would be due `after` from now.
    pub(super) fn keep(&mut self, claim: Claim, error: String, after: Duration) {
        self.waiting.push_back(Suspect { claim, error, due: Instant::now() + after });
    }

    /// Lets the next one out once the one before has been tried, and keeps the claims of those that
    /// wait.
    pub(super) async fn turn(&mut self, store: &dyn Store) -> Result<(), StoreError> {
        while !self.waiting.is_empty() && !self.is_out(store).await? {
            self.let_out(store).await?;
        }
        self.extend(store).await
    }

    /// Lets all of them out, for whoever handles them next.
    pub(super) async fn give_up(&mut self, store: &dyn Store) -> Result<(), StoreError> {
        while !self.waiting.is_empty() {
            self.let_out(store).await?;
        }
        Ok(())
    }

    async fn let_out(&mut self, store: &dyn Store) -> Result<(), StoreError> {
        let Some(Suspect { claim, error, due }) = self.waiting.front() else { return Ok(()) };
        let after = due.saturating_duration_since(Instant::now());
        let outcome = Outcome::Retry { after, error: error.clone() };
        let out = match store.finish(claim, &outcome).await {
            Ok(()) => Some((claim.clone(), *due + ALONE)),
            Err(StoreError::Lost) => None,
            Err(error) => return Err(error),
        };
        self.out = out;
        self.waiting.pop_front();
        Ok(())
    }

    /// Whether one is out whose last attempt has not ended.
    async fn is_out(&mut self, store: &dyn Store) -> Result<bool, StoreError> {
        let Some((claim, until)) = &self.out else { return Ok(false) };
        let details = store.get(claim.event.id).await?;
        let tasks = details.map(|details| details.summary.tasks).unwrap_or_default();
        let is_out = tasks.iter().any(|task| {
            let is_tried = task.epoch > claim.epoch;
            let is_open = match task.state {
                State::Pending => !is_tried,
                State::Claimed => true,
                State::Completed | State::Dead => false,
            };
            *task.route == *claim.route && is_open
        });
        let is_out = is_out && Instant::now() < *until;
        if !is_out {
            self.out = None;
        }
        Ok(is_out)
    }

    async fn extend(&mut self, store: &dyn Store) -> Result<(), StoreError> {
        if self.waiting.is_empty() {
            self.extended = None;
            return Ok(());
        }
        let now = Instant::now();
        if self.extended.is_some_and(|at| now < at + LEASE / 3) {
            return Ok(());
        }
        self.extended = Some(now);
        let claims = self.waiting.iter().map(|one| store.extend(&one.claim, LEASE));
        let extended = join_all(claims).await;
        let mut lost = extended.iter().map(|extended| matches!(extended, Err(StoreError::Lost)));
        // What another janitor took over is for that one to let out.
        self.waiting.retain(|_| !lost.next().unwrap_or_default());
        let failed = |extended: &Result<(), StoreError>| matches!(extended, Err(error) if !matches!(error, StoreError::Lost));
        extended.into_iter().find(failed).unwrap_or(Ok(()))
    }
}
