//! One named part of a route: what it is given, and the ways in which it may fail.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;

use crate::element;
use crate::store::{Statement, StoreError};
use crate::task::Claim;

/// Takes an event to the world. A sink is a step that ships with us; a handler is one of a user.
#[async_trait]
pub trait Step: Send + Sync + fmt::Debug {
    /// Does the step for the claimed task. Success is remembered with its result, if it has one,
    /// and the step is not run again; of a route's last step the task's completion is the record,
    /// and its result is not kept.
    ///
    /// Fails in the words of [`Failure`], which say what becomes of the task. A panic is caught, and
    /// is an outcome that nobody knows. The future is dropped when the claim is lost, and when the
    /// grace time of a shutdown is over; it may take hours otherwise, for the lease is kept.
    ///
    /// A step may run again after an attempt whose outcome is unknown: give
    /// [`StepContext::idempotency_key`] to whom it calls.
    async fn run(&self, context: &StepContext<'_>) -> Result<Done, Failure>;

    /// The statement that does the step, where it is to share a transaction with the record of the
    /// step; the store then runs it and [`Step::run`] is not called.
    fn statement(&self, context: &StepContext<'_>) -> Option<Statement> {
        let _ = context;
        None
    }
}

/// What a step leaves that succeeded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Done {
    /// The step is done, with a result to remember if there is one.
    Step(Option<String>),
    /// The step has finished the task itself, in one transaction with its effect
    /// (`finish_in` of [`SqliteStore`](crate::store::sqlite::SqliteStore::finish_in) and
    /// [`PostgresStore`](crate::store::postgres::PostgresStore::finish_in)). Steps after it are not run.
    /// Said without having done so, it leaves the task claimed until its lease ends.
    Task,
}

impl Done {
    /// Done, with nothing to remember but that.
    pub const PLAIN: Self = Self::Step(None);
}

/// What a step is run for.
#[derive(Debug, Clone, Copy)]
pub struct StepContext<'a> {
    /// The claimed task, with its event and payload.
    pub claim: &'a Claim,
    /// The step's name within its route.
    pub step: &'a str,
}

impl StepContext<'_> {
    /// The same in every attempt of this step for this event, and for no other:
    /// `{event id}/{route}/{step}`, with the run behind it from the second on. A task that was moved
    /// to another route keeps its first route's name there.
    pub fn idempotency_key(&self) -> String {
        let Claim { event, run, .. } = self.claim;
        let route = self.claim.first_route.as_ref().unwrap_or(&self.claim.route);
        let key = format!("{}/{route}/{}", event.id, self.step);
        if *run > 1 { format!("{key}/{run}") } else { key }
    }

    /// The text as received: the sender's own webhook, around this one element. Empty once it was
    /// pruned.
    pub fn payload(&self) -> &str {
        self.claim.event.payload.as_deref().unwrap_or_default()
    }

    /// The element itself, as received: the one message or status that is the event. What is no JSON
    /// is its own element.
    pub fn element(&self) -> &str {
        let payload = self.payload();
        element::pointer(payload, &self.claim.event.element).unwrap_or(payload)
    }
}

/// Why a step didn't succeed. `?` in a step makes any error transient; the other ways are said
/// aloud.
#[derive(Debug)]
#[non_exhaustive]
pub enum Failure {
    /// It may succeed later: the attempt counts, the route's policy says when.
    Transient {
        /// What happened.
        error: String,
        /// The least delay that was asked for.
        retry_after: Option<Duration>,
    },
    /// It can never succeed: the task is dead at once.
    Permanent(String),
    /// It is too early: run again after a while, and this attempt doesn't count.
    NotYet {
        /// What happened.
        error: String,
        /// How long to wait.
        after: Duration,
    },
    /// Whether it happened is unknown: no answer came. A step that may not run twice is then held;
    /// else it runs again, and the attempt counts.
    Unknown(String),
    /// The sink says or seems to be out of service (502, 503, 504, no connection in time), or it is
    /// this event alone that it can't take: what other events meet decides whether the attempt
    /// counts.
    Unavailable {
        /// What happened.
        error: String,
        /// The least delay that was asked for.
        retry_after: Option<Duration>,
        /// Whether it happened all the same is unknown, as when a proxy says 502 or 504: a step that
        /// may not run twice is then held.
        may_have_happened: bool,
    },
    /// The sink can't be reached by anybody now: run again when it can, and this attempt doesn't
    /// count.
    SinkDown(String),
}

impl Failure {
    /// A failure that may pass.
    pub fn transient(error: impl fmt::Display) -> Self {
        Self::Transient { error: error.to_string(), retry_after: None }
    }

    /// What an error of the store means for the step that met it
    /// (`finish_in` of [`SqliteStore`](crate::store::sqlite::SqliteStore::finish_in) and
    /// [`PostgresStore`](crate::store::postgres::PostgresStore::finish_in)): permanent where the data is at
    /// fault; to be judged like a sink's 503 where the store is. Of a lost claim nothing is written,
    /// whatever the step says.
    pub fn of_store(error: StoreError) -> Self {
        match error {
            StoreError::Statement { permanent: true, message } => Self::Permanent(message),
            // What is written with its record can't have happened without it.
            StoreError::Unavailable { message: error, .. } => {
                Self::Unavailable { error, retry_after: None, may_have_happened: false }
            }
            error => Self::transient(error),
        }
    }

    /// What happened.
    pub fn error(&self) -> &str {
        match self {
            Self::Permanent(error)
            | Self::Unknown(error)
            | Self::SinkDown(error)
            | Self::Transient { error, .. }
            | Self::NotYet { error, .. }
            | Self::Unavailable { error, .. } => error,
        }
    }

    /// The word for the failure, as metrics show it.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Transient { .. } => "transient",
            Self::Permanent(_) => "permanent",
            Self::NotYet { .. } => "not_yet",
            Self::Unknown(_) => "unknown",
            Self::Unavailable { .. } => "unavailable",
            Self::SinkDown(_) => "sink_down",
        }
    }

    /// A failure that stays.
    pub fn permanent(error: impl fmt::Display) -> Self {
        Self::Permanent(error.to_string())
    }
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        let mut text = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            text = format!("{text}: {cause}");
            source = cause.source();
        }
        Self::transient(text)
    }
}
