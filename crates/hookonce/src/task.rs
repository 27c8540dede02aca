//! One route's handling of one event: its states, a worker's claim to it, and how an attempt ends.
//!
//! Nothing here does I/O or asks for the time.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

#[cfg(feature = "schema")]
use crate::event::TimeText;
use crate::event::{Event, EventId};

pub use crate::event::NewTask;

/// The name of a task.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct TaskId {
    /// The event that is handled.
    pub event_id: EventId,
    /// The route that handles it.
    pub route: Arc<str>,
}

/// Where a task stands. A pending task with a later due time is a retry; one without a due time
/// waits behind the head of its lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// To be handled: now, later, or after its lane's head.
    Pending,
    /// A worker has it, until its lease ends.
    Claimed,
    /// Every step succeeded.
    Completed,
    /// Out of attempts, or failed permanently; kept until a person acts.
    Dead,
}

impl State {
    /// Every state, in the order in which they stand for an event with several tasks.
    pub const ALL: [Self; 4] = [Self::Dead, Self::Claimed, Self::Pending, Self::Completed];

    /// The word for the state, as it is stored and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Claimed => "claimed",
            Self::Completed => "completed",
            Self::Dead => "dead",
        }
    }

    /// Reads the word for a state.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }
}

/// A task as it is stored.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Task {
    /// The route that handles the event.
    pub route: String,
    /// Where it stands.
    pub state: State,
    /// Attempts so far, the running one included.
    pub attempt: u32,
    /// After how many attempts it is dead.
    pub max_attempts: u32,
    /// Raised when a completed task is deliberately run again.
    pub run: u32,
    /// Number of claims it ever had.
    pub epoch: u32,
    /// When it may be claimed; on a dead task: it holds its lane.
    #[cfg_attr(feature = "schema", schemars(with = "Option<TimeText>"))]
    pub due_at: Option<Timestamp>,
    /// When the present claim ends.
    #[cfg_attr(feature = "schema", schemars(with = "Option<TimeText>"))]
    pub lease_until: Option<Timestamp>,
    /// Who has it.
    pub worker: Option<String>,
    /// Why its last attempt failed.
    pub error: Option<String>,
    /// When it was completed or died.
    #[cfg_attr(feature = "schema", schemars(with = "Option<TimeText>"))]
    pub finished_at: Option<Timestamp>,
}

/// One handling of one task, as it is remembered.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Attempt {
    /// The route that handled the event.
    pub route: String,
    /// Number of the claim; names the attempt.
    pub epoch: u32,
    /// The run it belongs to.
    pub run: u32,
    /// Number of the attempt, from 1, as the retry policy counts.
    pub attempt: u32,
    /// Who handled it.
    pub worker: String,
    /// When it was claimed.
    #[cfg_attr(feature = "schema", schemars(with = "TimeText"))]
    pub started_at: Timestamp,
    /// When it ended.
    #[cfg_attr(feature = "schema", schemars(with = "TimeText"))]
    pub ended_at: Timestamp,
    /// `completed`, `retry`, `dead`, `released` or `lapsed`.
    #[cfg_attr(
        feature = "schema",
        schemars(extend("enum" = ["completed", "retry", "dead", "released", "lapsed"]))
    )]
    pub outcome: String,
    /// Why it failed.
    pub error: Option<String>,
}

/// One named part of a route, as it is remembered.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StepRecord {
    /// The route it is part of.
    pub route: String,
    /// The run it belongs to.
    pub run: u32,
    /// Its name.
    pub name: String,
    /// Whether it is begun or done.
    pub state: StepState,
    /// What it gave, if anything.
    pub result: Option<String>,
}

/// How far a step is known to have come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum StepState {
    /// It was about to run; whether it did is unknown.
    Begun,
    /// It succeeded and is not run again.
    Done,
}

impl StepState {
    /// The word for the state, as it is stored and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Begun => "begun",
            Self::Done => "done",
        }
    }
}

/// One worker's right to one task until its lease ends; proven by its token.
#[derive(Debug, Clone)]
pub struct Claim {
    /// The event to be handled, with its payload.
    pub event: Arc<Event>,
    /// The route that handles it.
    pub route: Arc<str>,
    /// Proves the claim; every write after it names this.
    pub token: Token,
    /// Number of this attempt, from 1.
    pub attempt: u32,
    /// After how many attempts the task is dead.
    pub max_attempts: u32,
    /// Raised when a completed task is deliberately run again.
    pub run: u32,
    /// Number of claims the task ever had, this one included.
    pub epoch: u32,
    /// When it was claimed, on the store's clock.
    pub claimed_at: Timestamp,
    /// When the claim ends, on the store's clock.
    pub lease_until: Timestamp,
    /// When a person last had the task run anew.
    pub replayed_at: Option<Timestamp>,
    /// The route that the task was first made for, where it was moved to this one since.
    pub first_route: Option<Arc<str>>,
    /// The steps of this run that are done, and those only begun.
    pub steps: BTreeMap<String, (StepState, Option<String>)>,
    /// It was taken over from a worker that let it lapse: its attempt is already written down.
    pub reaped: bool,
}

impl Claim {
    /// How old the task was when it was claimed: since its event was received, or since a person had
    /// it run anew.
    pub fn age(&self) -> Duration {
        let since = self.replayed_at.unwrap_or(self.event.received_at);
        Duration::try_from(self.claimed_at.duration_since(since)).unwrap_or_default()
    }

    /// The task that is claimed.
    pub fn task(&self) -> TaskId {
        TaskId { event_id: self.event.id, route: self.route.clone() }
    }
}

/// 128 random bits that prove a claim.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Token([u8; 16]);

impl Token {
    /// Draws a new token from the operating system's randomness.
    pub fn draw() -> Self {
        let mut token = [0; 16];
        getrandom::fill(&mut token).expect("the operating system gives random bytes");
        Self(token)
    }

    /// Takes a token as it is stored.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The token as it is stored.
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// How an attempt ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Every step succeeded.
    Completed,
    /// The task is due again after a while.
    Retry {
        /// How long to wait, on the store's clock.
        after: Duration,
        /// Why.
        error: String,
    },
    /// The task is kept until a person acts.
    Dead {
        /// Why.
        error: String,
        /// What becomes of the task's lane.
        lane: DeadLane,
    },
}

/// What a dead task does to its lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DeadLane {
    /// The lane goes on with its next task.
    #[default]
    Pass,
    /// The lane waits for a person.
    Hold,
}

impl Outcome {
    /// The word for the outcome, as an attempt is remembered by.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Retry { .. } => "retry",
            Self::Dead { .. } => "dead",
        }
    }

    /// Why the attempt failed, if it did.
    pub fn error(&self) -> Option<&str> {
        match self {
            Self::Completed => None,
            Self::Retry { error, .. } | Self::Dead { error, .. } => Some(error),
        }
    }
}

/// 128 bits of SHA-256 over source, route and lane, each closed by a byte that UTF-8 never has.
pub(crate) fn lane_id(source: &str, route: &str, lane: &str) -> [u8; 16] {
    let mut hash = Sha256::new();
    for part in [source, route, lane] {
        hash.update(part.as_bytes());
        hash.update([0xff]);
    }
    let mut id = [0; 16];
    id.copy_from_slice(&hash.finalize()[..16]);
    id
}
