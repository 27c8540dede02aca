//! What a person does to tasks, and to which.

use std::num::{NonZeroU32, NonZeroUsize};

use clap::{ArgGroup, Args};
use hookonce::store::Filter;
use serde::Serialize;

use super::FilterOptions;

/// What names events one by one, and what chooses them by what they are: one of it has to be given,
/// so that nobody moves everything by leaving a word out.
const WHICH: [&str; 8] = ["ids", "state", "source", "kind", "route", "lane", "key", "after"];

/// Whose tasks, and how.
#[derive(Debug, Args, Serialize)]
#[command(group = ArgGroup::new("which").required(true).multiple(true).args(WHICH).arg("unrouted"))]
pub(crate) struct ReplayOptions {
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) which: WhichOptions,

    /// Runs completed tasks once more: as their next run, with no step remembered. HTTP sinks get
    /// another idempotency key. Of an event that is named, and with `--state`, others are replayed.
    #[arg(long, conflicts_with_all = ["unrouted", "to_route"])]
    pub(crate) rerun: bool,

    /// Gives events without any task those of the routes that take them now; with `--route`, of that
    /// route alone.
    #[arg(long, conflicts_with_all = ["to_route", "state"])]
    pub(crate) unrouted: bool,

    /// Makes dead and pending tasks those of this route, such as tasks of a route that the
    /// configuration no longer has. Their idempotency keys stay.
    #[arg(long, value_name = "NAME")]
    pub(crate) to_route: Option<String>,
}

/// Whose tasks.
#[derive(Debug, Args, Serialize)]
#[command(group = ArgGroup::new("which").required(true).multiple(true).args(WHICH))]
pub(crate) struct BuryOptions {
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) which: WhichOptions,
}

/// Which events, how many of their tasks, and whether in earnest.
#[derive(Debug, Args, Serialize)]
pub(crate) struct WhichOptions {
    /// The events' ids: all their tasks, or those of `--route`.
    #[arg(value_name = "ID",
          conflicts_with_all = ["state", "source", "kind", "lane", "key", "after", "limit", "rate"])]
    pub(crate) ids: Vec<String>,

    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) filter: FilterOptions,

    /// The event with this key.
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Option<String>,

    /// Events that came after the one with this `seq`.
    #[arg(long, value_name = "SEQ")]
    pub(crate) after: Option<i64>,

    /// Changes nothing, and says what it would do.
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// How many tasks at most, the oldest first.
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub(crate) limit: Option<NonZeroUsize>,

    /// How many tasks a second at most.
    #[arg(long, value_name = "N", value_parser = at_least_one_a_second)]
    pub(crate) rate: Option<NonZeroU32>,
}

impl WhichOptions {
    /// The filter that these flags stand for.
    pub(crate) fn filter(&self) -> Filter {
        Filter { key: self.key.clone(), after: self.after, ..self.filter.filter() }
    }
}

fn at_least_one(text: &str) -> Result<NonZeroUsize, &'static str> {
    text.parse().map_err(|_| "write a whole number from 1")
}

fn at_least_one_a_second(text: &str) -> Result<NonZeroU32, &'static str> {
    text.parse().map_err(|_| "write a whole number from 1")
}
