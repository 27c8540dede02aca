//! Which events are meant, as a query or a body says it.

use hookonce::route::is_kind_glob;
use hookonce::store::{Filter, StateFilter};
use hookonce::task::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::problem::Problem;

/// Which events; what is left out asks for all.
#[derive(Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
pub(super) struct FilterInput {
    /// Events with a task in this state, of `route` where one is given; `recorded`: without any
    /// task.
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<StateWord>,
    /// Events of this source.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    /// Events of this kind; a `*` stands for any characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    /// Events that this route has a task for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) route: Option<String>,
    /// Events of this lane.
    #[serde(skip_serializing_if = "Option::is_none")]
    lane: Option<String>,
    /// The event with this key.
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    /// Where to go on. Of a list: the `next` of the page before. Of what steers, which goes from the
    /// oldest event to the newest: only events that came after this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<Cursor>,
}

/// A state to filter by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum StateWord {
    Recorded,
    Pending,
    Claimed,
    Completed,
    Dead,
}

/// A place between two events: text, and nothing to calculate with.
#[derive(Debug, Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(inline)]
pub(super) struct Cursor(pub(super) i64);

impl FilterInput {
    /// Whether nothing is asked for, so that every event is meant.
    pub(super) fn is_empty(&self) -> bool {
        let texts = [&self.source, &self.kind, &self.route, &self.lane, &self.key];
        self.state.is_none() && self.after.is_none() && texts.iter().all(|text| text.is_none())
    }

    /// The filter as a store takes it.
    pub(super) fn filter(self) -> Result<Filter, Problem> {
        if let Some(kind) = self.kind.as_deref().filter(|kind| !is_kind_glob(kind)) {
            let what = format!("`{kind}` never matches: a kind has only a-z, 0-9, _ and .");
            return Err(Problem::bad_member("kind", what));
        }
        let state = self.state.map(|state| match state {
            StateWord::Recorded => StateFilter::Recorded,
            StateWord::Pending => StateFilter::Task(State::Pending),
            StateWord::Claimed => StateFilter::Task(State::Claimed),
            StateWord::Completed => StateFilter::Task(State::Completed),
            StateWord::Dead => StateFilter::Task(State::Dead),
        });
        let Self { source, kind, route, lane, key, .. } = self;
        let after = self.after.map(|cursor| cursor.0);
        Ok(Filter { state, source, kind, route, lane, key, after })
    }
}

impl TryFrom<String> for Cursor {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
            .map(Self)
            .map_err(|_| format!("`{text}` is no cursor; give the `next` of a page"))
    }
}

impl From<Cursor> for String {
    fn from(cursor: Cursor) -> Self {
        cursor.0.to_string()
    }
}
