//! What a person does to many tasks: replay, rerun or bury them, move them to another route, or
//! give events their tasks that had none; walked from the oldest event on, a batch at a time.
//!
//! Decides only which tasks are meant. Whether one is moved is the store's word, in the step that
//! moves it: so two walks at once move nothing twice.

mod choice;

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use crate::event::EventId;
use crate::route::Route;
use crate::store::{Filter, Moved, Store, StoreError};
use choice::{Choice, Chooser};

/// How many events are looked at and tasks moved in one step of the store: so few that intake and
/// work go on in between.
const BATCH: usize = 100;

/// What is to be done to which tasks.
#[derive(Debug, Clone)]
pub struct Steer {
    /// The events, and of their tasks those of its route and state; without a state those that the
    /// action is for. Its `after` leaves that event out and what came before it.
    pub filter: Filter,
    /// What is done to them.
    pub action: Action,
    /// How many tasks are moved at most.
    pub limit: Option<usize>,
    /// How many tasks are moved a second at most.
    pub rate: Option<NonZeroU32>,
    /// Whether it is done or only counted.
    pub effect: Effect,
}

/// What a person does to tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Dead tasks are due again, and retries that wait are due now.
    Replay,
    /// Completed tasks run once more; others are replayed.
    Rerun,
    /// Pending tasks are dead, and a dead one that holds its lane lets it pass.
    Bury,
    /// Events without any task get those of the routes that take them now; with a route in the
    /// filter, of that route alone.
    Assign,
    /// Dead and pending tasks become those of the route of this name.
    Reroute(Arc<str>),
}

impl Action {
    /// The word for the action, as the audit has it.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Replay => "replay",
            Self::Rerun => "rerun",
            Self::Bury => "bury",
            Self::Assign => "assign",
            Self::Reroute(_) => "reroute",
        }
    }
}

/// Whether something is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It is done.
    Real,
    /// It is only counted what would be moved.
    DryRun,
}

/// Does what is ordered, from the oldest event on, so that the order within each lane is kept, and
/// says how many tasks were moved and how many of those that were meant were left as they are.
/// Visits each event once, and those only that were there when it began. `note` is told the totals
/// after each batch. Each batch is one atomic step: broken off, it leaves whole ones. Fails with
/// [`StoreError::Unsupported`] where there is no route of the name that tasks are to be moved to.
pub async fn steer(
    store: &dyn Store,
    routes: &[Route],
    order: &Steer,
    note: &mut (dyn FnMut(Moved) + Send),
) -> Result<Moved, StoreError> {
    let chooser = Chooser::new(store, routes, &order.action, &order.filter).await?;
    let mut total = Moved::default();
    // Without an end it would chase what fails or completes again behind it.
    let newest = store.list(&Filter::default(), 1).await?.events.pop();
    let Some(newest) = newest.map(|newest| newest.event.seq) else { return Ok(total) };
    let mut filter = chooser.walked(&order.filter);
    let mut pause = Duration::ZERO;
    loop {
        let page = store.walk(&filter, BATCH).await?;
        let events = page.events.iter().take_while(|event| event.event.seq <= newest);
        let mut choices: Vec<Choice> = events.flat_map(|event| chooser.meant(event)).collect();
        while !choices.is_empty() {
            let size = order.batch(total.moved).min(choices.len());
            if size == 0 {
                return Ok(total);
            }
            tokio::time::sleep(pause).await;
            let batch = choices.drain(..size).collect();
            let moved = chooser.act(store, batch, order.effect).await?;
            pause = order.pause(moved);
            total += moved;
            note(total);
        }
        match page.next {
            Some(next) if next < newest => filter.after = Some(next),
            _ => return Ok(total),
        }
    }
}

/// Does one thing to the tasks of one event, of all routes or of one, in one atomic step; `None`
/// where there is no such event. Every task is meant, whatever its state. Fails as [`steer`] does.
pub async fn steer_event(
    store: &dyn Store,
    routes: &[Route],
    id: EventId,
    route: Option<&str>,
    action: &Action,
    effect: Effect,
) -> Result<Option<Moved>, StoreError> {
    let filter = Filter { route: route.map(str::to_owned), ..Filter::default() };
    let chooser = Chooser::new(store, routes, action, &filter).await?;
    let Some(details) = store.get(id).await? else { return Ok(None) };
    chooser.act(store, chooser.all(&details.summary), effect).await.map(Some)
}

impl Steer {
    /// How many tasks the next batch may have once `moved` were moved: no more than a second's.
    fn batch(&self, moved: usize) -> usize {
        let left = self.limit.map_or(BATCH, |limit| limit.saturating_sub(moved));
        let second = self.rate.and_then(|rate| usize::try_from(rate.get()).ok());
        BATCH.min(left).min(second.unwrap_or(BATCH))
    }

    /// How long a batch is to take by the rate.
    fn pause(&self, batch: Moved) -> Duration {
        match (self.rate, self.effect) {
            (Some(rate), Effect::Real) => {
                let moved = u32::try_from(batch.moved).unwrap_or(u32::MAX);
                Duration::from_secs(1) * moved / rate.get()
            }
            _ => Duration::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(
        dead_code,
        reason = "that it compiles is the test: a server's handler may wait for it"
    )]
    fn is_send<'a>(
        store: &'a dyn Store,
        order: &'a Steer,
        note: &'a mut (dyn FnMut(Moved) + Send),
    ) -> impl Future<Output = impl Sized> + Send + 'a {
        steer(store, &[], order, note)
    }

    #[test]
    fn a_rate_spaces_batches_of_a_second_at_most() {
        let order = |rate, effect| Steer {
            filter: Filter::default(),
            action: Action::Replay,
            limit: Some(105),
            rate: NonZeroU32::new(rate),
            effect,
        };
        let moved = |moved| Moved { moved, left: 3 };
        let slow = order(8, Effect::Real);
        assert_eq!((slow.batch(0), slow.batch(100)), (8, 5));
        assert_eq!(slow.pause(moved(4)), Duration::from_millis(500));
        assert_eq!(slow.pause(moved(0)), Duration::ZERO);
        let fast = order(1000, Effect::Real);
        assert_eq!((fast.batch(0), fast.batch(105)), (100, 0));
        assert_eq!(fast.pause(moved(100)), Duration::from_millis(100));
        assert_eq!(order(8, Effect::DryRun).pause(moved(8)), Duration::ZERO);
    }
}
