//! Filters of events: the flags have the names of the API's parameters.

use clap::{Args, ValueEnum};
use hookonce::route::is_kind_glob;
use hookonce::store::{Filter, StateFilter};
use hookonce::task::State;
use serde::Serialize;

/// Which events.
#[derive(Debug, Clone, Args, Serialize)]
pub(crate) struct FilterOptions {
    /// Events with a task in this state; `recorded`: without any task.
    #[arg(long, value_enum, value_name = "STATE")]
    pub(crate) state: Option<StateName>,

    /// Events of this source.
    #[arg(long, value_name = "NAME")]
    pub(crate) source: Option<String>,

    /// Events of this kind; a `*` stands for any characters.
    #[arg(long, value_name = "GLOB", value_parser = kind_glob)]
    pub(crate) kind: Option<String>,

    /// Events that this route has a task for; what is said of tasks goes for that one alone.
    #[arg(long, value_name = "NAME")]
    pub(crate) route: Option<String>,

    /// Events of this lane.
    #[arg(long, value_name = "LANE")]
    pub(crate) lane: Option<String>,
}

impl FilterOptions {
    /// The filter that these flags stand for.
    pub(crate) fn filter(&self) -> Filter {
        let Self { state, source, kind, route, lane } = self.clone();
        let state = state.map(StateName::filter);
        Filter { state, source, kind, route, lane, ..Filter::default() }
    }
}

fn kind_glob(text: &str) -> Result<String, String> {
    if is_kind_glob(text) {
        return Ok(text.to_owned());
    }
    Err("it never matches: a kind has only a-z, 0-9, _ and ., and * stands for any of them"
        .to_owned())
}

/// A state to filter by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum StateName {
    /// No route wanted the event.
    Recorded,
    /// To be handled: now, later, or after its lane's head.
    Pending,
    /// A worker has it.
    Claimed,
    /// Every step succeeded.
    Completed,
    /// Out of attempts, or failed permanently.
    Dead,
}

impl StateName {
    fn filter(self) -> StateFilter {
        match self {
            Self::Recorded => StateFilter::Recorded,
            Self::Pending => StateFilter::Task(State::Pending),
            Self::Claimed => StateFilter::Task(State::Claimed),
            Self::Completed => StateFilter::Task(State::Completed),
            Self::Dead => StateFilter::Task(State::Dead),
        }
    }
}

/// What to follow.
#[derive(Debug, Args)]
pub(crate) struct TailOptions {
    #[command(flatten)]
    pub(crate) filter: FilterOptions,

    /// How many of the last events are shown first.
    #[arg(long, default_value_t = 10, value_name = "N",
          value_parser = clap::value_parser!(u16).range(0..=1000))]
    pub(crate) lines: u16,
}
