//! What stands before a step: how many of it run at once, how often it starts, and whether its sink
//! is up.
//!
//! A gate is of one process: each node has its own, and lets as many through.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use crate::breaker::{Breaker, Door, Entry, Sign, Verdict};
use crate::event::EventId;
use crate::step::{Failure, Step};
use crate::telemetry;

/// The part of a second's rate that may start at one moment.
const BURST: Duration = Duration::from_millis(100);

/// One named step of a route, or of several, with what limits it: places, a pace, and a breaker that
/// opens while the step's sink is down ([`Failure::SinkDown`], [`Failure::Unavailable`]).
pub struct Gate {
    name: Arc<str>,
    step: Arc<dyn Step>,
    options: GateOptions,
    places: Arc<Semaphore>,
    pace: Option<Mutex<Pace>>,
    breaker: Mutex<Breaker>,
    /// Another stands in its place; what still runs behind it says nothing about that one.
    is_retired: AtomicBool,
}

/// What limits a step.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct GateOptions {
    /// How many run at once, at least one; `None` for no limit but the worker's slots.
    pub concurrency: Option<usize>,
    /// How many start a second, with a tenth of a second's worth at one moment, and at least one a
    /// day; `None` for no limit.
    pub rate: Option<f64>,
    /// What is done when nobody knows whether the step happened.
    pub on_unknown: OnUnknown,
}

/// What is done when nobody knows whether a step happened: no answer came, or the worker died.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnUnknown {
    /// It is run again.
    #[default]
    Retry,
    /// The task is dead, for a person to look at, and the step is not run twice.
    Hold,
}

impl Gate {
    /// A step without limits.
    pub fn new(name: impl Into<Arc<str>>, step: Arc<dyn Step>) -> Arc<Self> {
        Self::limited(name, step, GateOptions::default())
    }

    /// A step with limits. Routes that are given the same gate share its places, pace and breaker.
    pub fn limited(
        name: impl Into<Arc<str>>,
        step: Arc<dyn Step>,
        options: GateOptions,
    ) -> Arc<Self> {
        let places = options.concurrency.unwrap_or(Semaphore::MAX_PERMITS);
        Arc::new(Self {
            name: name.into(),
            step,
            options,
            places: Arc::new(Semaphore::new(places.clamp(1, Semaphore::MAX_PERMITS))),
            pace: options.rate.map(|rate| Mutex::new(Pace::new(rate))),
            breaker: Mutex::default(),
            is_retired: AtomicBool::new(false),
        })
    }

    /// The step's name within a route: what its record and its idempotency key have.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The step itself.
    pub fn step(&self) -> &dyn Step {
        &*self.step
    }

    /// What limits it.
    pub fn options(&self) -> &GateOptions {
        &self.options
    }

    /// Whether its sink is taken to be down.
    pub fn is_down(&self) -> bool {
        self.breaker().is_open()
    }

    /// Leaves its name to another gate: from now on nothing is told about this one's sink.
    pub fn retire(&self) {
        if !self.is_retired.swap(true, Ordering::Relaxed) && self.is_down() {
            telemetry::breaker_turned(&self.name, false);
        }
    }

    /// Whether there is a limit to how many are let in.
    pub(crate) fn is_limited(&self) -> bool {
        self.options.concurrency.is_some() || self.options.rate.is_some()
    }

    /// How many more can be let in at this moment, as far as places and starts go.
    pub(crate) fn free_places(&self, now: Instant) -> usize {
        self.places.available_permits().min(self.starts(now).unwrap_or(0))
    }

    /// How many tasks may come to it now, as far as its sink goes; where none may, when one may again.
    pub(crate) fn door(&self, now: Instant) -> Result<usize, Instant> {
        match self.breaker().door(now) {
            Door::Shut(until) => Err(until),
            Door::Probe => Ok(1),
            Door::Open => Ok(usize::MAX),
        }
    }

    /// How many may start now, as far as its rate goes; where none may, when one may again.
    pub(crate) fn starts(&self, now: Instant) -> Result<usize, Instant> {
        self.pace.as_ref().map_or(Ok(usize::MAX), |pace| lock(pace).room(now))
    }

    /// Takes a place, if one is free, and with it a start, where the rate is limited.
    pub(crate) fn take_place(&self) -> Option<Place> {
        let permit = self.places.clone().try_acquire_owned().ok()?;
        let at = self.pace.as_ref().map(|pace| lock(pace).take(Instant::now()));
        Some(Place { at, _permit: permit })
    }

    /// Lets a task in, or says how long it has to wait because the sink is down.
    pub(crate) fn enter(self: &Arc<Self>, event: EventId) -> Result<Visit, Duration> {
        let entry = self.breaker().enter(Instant::now())?;
        Ok(Visit { gate: self.clone(), event, entry: Some(entry) })
    }

    fn breaker(&self) -> MutexGuard<'_, Breaker> {
        lock(&self.breaker)
    }

    fn note(&self, event: EventId, entry: Entry, sign: Sign) -> Verdict {
        let mut breaker = self.breaker();
        let was_open = breaker.is_open();
        let verdict = breaker.note((event, entry), sign, Instant::now());
        let is_open = breaker.is_open();
        drop(breaker);
        if was_open != is_open && !self.is_retired.load(Ordering::Relaxed) {
            telemetry::breaker_turned(&self.name, is_open);
        }
        verdict
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate")
            .field("name", &self.name)
            .field("step", &self.step)
            .finish_non_exhaustive()
    }
}

/// The right to be one of those that run, from some time on; given back when dropped.
#[derive(Debug)]
pub(crate) struct Place {
    at: Option<Instant>,
    _permit: OwnedSemaphorePermit,
}

impl Place {
    /// Waits until the step may start: at once, but where more were let in than the rate allows.
    pub(crate) async fn wait_for_turn(&self) {
        if let Some(at) = self.at {
            tokio::time::sleep_until(at).await;
        }
    }
}

/// A task's stay behind a gate. Left without a word (a lost claim, a panic) it says nothing about
/// the sink.
#[derive(Debug)]
pub(crate) struct Visit {
    gate: Arc<Gate>,
    event: EventId,
    entry: Option<Entry>,
}

impl Visit {
    /// Says how the step ended; a failure that is not the task's comes back with the while after
    /// which it comes again.
    pub(crate) fn end(mut self, failure: Option<&Failure>) -> Option<Duration> {
        let entry = self.entry.take()?;
        let sign = match failure {
            None => Sign::Success,
            Some(Failure::Permanent(_) | Failure::NotYet { .. } | Failure::Transient { .. }) => {
                Sign::Alive
            }
            Some(Failure::Unknown(_)) => Sign::Nothing,
            Some(Failure::Unavailable { .. }) => Sign::Doubt,
            Some(Failure::SinkDown(_)) => Sign::Down,
        };
        match self.gate.note(self.event, entry, sign) {
            Verdict::Charge => None,
            Verdict::Excuse(after) => Some(after),
        }
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        if let Some(entry) = self.entry.take() {
            self.gate.note(self.event, entry, Sign::Nothing);
        }
    }
}

/// When the next ones may start: as a queue that empties at the rate.
#[derive(Debug)]
struct Pace {
    /// The time between two starts.
    gap: Duration,
    /// When the next one may start at the latest that was given away.
    next: Option<Instant>,
}

impl Pace {
    fn new(rate: f64) -> Self {
        let gap = Duration::try_from_secs_f64(1.0 / rate).unwrap_or(Duration::MAX);
        Self {
            gap: gap.clamp(Duration::from_micros(1), Duration::from_secs(24 * 3600)),
            next: None,
        }
    }

    /// How many may start now; where none may, when one may.
    fn room(&self, now: Instant) -> Result<usize, Instant> {
        let next = self.next.map_or(now, |next| next.max(now - self.slack(now)));
        if next > now {
            return Err(next);
        }
        let n = (now - next).as_nanos() / self.gap.as_nanos().max(1);
        Ok(usize::try_from(n).unwrap_or(usize::MAX).saturating_add(1))
    }

    /// Gives the next start away, and says when it is.
    fn take(&mut self, now: Instant) -> Instant {
        let at = self.next.map_or(now, |next| next.max(now - self.slack(now)));
        self.next = Some(at + self.gap);
        at.max(now)
    }

    /// How much of the time that passed unused may be made up for.
    fn slack(&self, now: Instant) -> Duration {
        let most = BURST.saturating_sub(self.gap);
        // The clock may have begun less than that ago.
        if now.checked_sub(most).is_some() { most } else { Duration::ZERO }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_start_in_a_second_than_the_rate_and_a_burst() {
        let start = Instant::now() + Duration::from_secs(3600);
        for rate in [0.5, 3.0, 50.0, 1000.0] {
            let mut pace = Pace::new(rate);
            let starts: Vec<_> = (0..10_000).map(|_| pace.take(start)).collect();
            let in_second =
                starts.iter().filter(|at| **at < start + Duration::from_secs(1)).count();
            let in_second = f64::from(u32::try_from(in_second).unwrap());
            assert!(in_second <= rate.max(1.0) * 1.1 + 1.0, "{rate}: {in_second}");
            let last = (*starts.last().unwrap() - start).as_secs_f64();
            assert!((last - 9999.0 / rate).abs() <= 0.2 / rate + 0.2, "{rate}: {last}");
        }
    }

    #[test]
    fn room_is_what_may_start_now() {
        let start = Instant::now() + Duration::from_secs(3600);
        let mut pace = Pace::new(50.0);
        assert_eq!(pace.room(start), Ok(1));
        pace.take(start);
        assert_eq!(pace.room(start), Err(start + Duration::from_millis(20)));
        // After a pause, a tenth of a second's worth.
        let later = start + Duration::from_secs(10);
        assert_eq!(pace.room(later), Ok(5));
        for _ in 0..5 {
            assert_eq!(pace.take(later), later);
        }
        assert!(pace.room(later).is_err());
    }
}
