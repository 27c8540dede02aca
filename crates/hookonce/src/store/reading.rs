//! What people, metrics and waiting senders are shown of a store.

use jiff::Timestamp;
use serde::Serialize;

use crate::event::Event;
#[cfg(feature = "schema")]
use crate::event::TimeText;
use crate::task::{Attempt, State, StepRecord, Task};

/// Which events a page shows; an absent part shows all.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Events with a task in this state, or without any.
    pub state: Option<StateFilter>,
    /// The source's name.
    pub source: Option<String>,
    /// The kind, or a glob.
    pub kind: Option<String>,
    /// Events that this route has a task for.
    pub route: Option<String>,
    /// The lane.
    pub lane: Option<String>,
    /// The key.
    pub key: Option<String>,
    /// The cursor of the page before.
    pub after: Option<i64>,
}

/// A state to filter by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateFilter {
    /// No route wanted the event.
    Recorded,
    /// Some task is in this state.
    Task(State),
    /// Some task is pending or dead: a person can move it.
    Movable,
}

/// A page of events.
#[derive(Debug, Clone, Serialize)]
pub struct Page {
    /// Newest first.
    pub events: Vec<EventSummary>,
    /// Where the next page begins, if there is one.
    pub next: Option<i64>,
}

/// An event with its copies and tasks.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EventSummary {
    /// The event itself.
    #[serde(flatten)]
    pub event: Event,
    /// How often it arrived.
    pub copies: u64,
    /// How many of the arrivals differed from the first.
    pub mismatches: u64,
    /// `recorded` without tasks, else the first of dead, claimed, pending, completed.
    #[cfg_attr(
        feature = "schema",
        schemars(extend("enum" = ["recorded", "dead", "claimed", "pending", "completed"]))
    )]
    pub state: &'static str,
    /// One for each route that wanted it.
    pub tasks: Vec<Task>,
    /// Its payload is there still; without it, it can't be handled any more.
    #[serde(skip)]
    pub has_payload: bool,
}

impl EventSummary {
    /// The state of an event that has these tasks.
    pub fn state_of(tasks: &[Task]) -> &'static str {
        let any = |state: &State| tasks.iter().any(|task| task.state == *state);
        State::ALL.into_iter().find(any).map_or("recorded", State::as_str)
    }
}

/// An event with everything that is known of it.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EventDetails {
    /// The event with its copies and tasks.
    #[serde(flatten)]
    pub summary: EventSummary,
    /// The text as received; `null` once it was pruned.
    pub payload: Option<String>,
    /// Every attempt, oldest first.
    pub attempts: Vec<Attempt>,
    /// Every step that is remembered.
    pub steps: Vec<StepRecord>,
    /// The arrivals after the first.
    pub arrivals: Vec<ArrivalRecord>,
}

/// Arrivals of an event after its first.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ArrivalRecord {
    /// When; of several that were folded, the last.
    #[cfg_attr(feature = "schema", schemars(with = "TimeText"))]
    pub at: Timestamp,
    /// How many.
    pub n: u64,
    /// The element that differed, if it did and was kept.
    pub element: Option<String>,
}

/// Totals of events; states count tasks.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Counts {
    /// Events ever stored.
    pub events: u64,
    /// Tasks pending now.
    pub pending: u64,
    /// Tasks claimed now.
    pub claimed: u64,
    /// Tasks completed, ever.
    pub completed: u64,
    /// Tasks dead now.
    pub dead: u64,
    /// Duplicates ever absorbed, mismatches among them.
    pub duplicates: u64,
    /// Events that no route took.
    pub unrouted: u64,
    /// When the oldest task that may be claimed became due.
    #[cfg_attr(feature = "schema", schemars(with = "Option<TimeText>"))]
    pub oldest_due_at: Option<Timestamp>,
}

/// The live tasks of a route.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct RouteCounts {
    /// The route's name.
    pub route: String,
    /// Tasks pending now.
    pub pending: u64,
    /// Tasks claimed now.
    pub claimed: u64,
    /// Tasks dead now.
    pub dead: u64,
}

/// How far the handling of an event has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// Tasks that are neither completed nor dead.
    pub open: u64,
    /// Rises with each attempt that ends without success and without being the last.
    pub failures: u64,
}
