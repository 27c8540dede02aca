//! Looking at what is stored.
//!
//! A worker is shown its own routes' tasks, attempts and steps, and events that have some.

use hookonce::store::{Counts, EventDetails, EventSummary};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::call::{Asked, Query, Shown};
use super::filter::{Cursor, FilterInput};
use super::problem::Problem;
use super::token::Caller;

/// How many events a page has, unless it is said.
const PAGE: usize = 100;
/// How many events a page may have.
const PAGE_LIMIT: usize = 1000;

/// What is asked of a list of events.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct EventsQuery {
    #[serde(flatten)]
    filter: FilterInput,
    /// How many events at most: 100 unless it is said, and no more than 1000.
    #[schemars(range(min = 1, max = 1000))]
    limit: Option<usize>,
}

/// A page of events, newest first. It may be short or empty and still have a next one.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "EventPage")]
pub(super) struct EventsAnswer {
    /// The events.
    events: Vec<EventSummary>,
    /// Give this as `after` for the next page; null where there is none.
    next: Option<Cursor>,
}

/// Lists events.
pub(super) async fn list(
    asked: Asked,
    Query(query): Query<EventsQuery>,
) -> Result<Shown<EventsAnswer>, Problem> {
    let limit = query.limit.unwrap_or(PAGE);
    if !(1..=PAGE_LIMIT).contains(&limit) {
        return Err(Problem::bad_member("limit", format!("write a number from 1 to {PAGE_LIMIT}")));
    }
    let mut filter = query.filter.filter()?;
    filter.route = route_shown(&asked.caller, filter.route)?;
    let mut page = asked.store.list(&filter, limit).await?;
    page.events.iter_mut().for_each(|event| restrict(&asked.caller, event));
    Ok(Shown(EventsAnswer { events: page.events, next: page.next.map(Cursor) }))
}

/// Shows one event.
pub(super) async fn get(asked: Asked, (): ()) -> Result<Shown<EventDetails>, Problem> {
    let id = asked.event_id()?;
    let unknown = || Problem::not_found(format!("there is no event `{id}`"));
    let mut details = asked.store.get(id).await?.ok_or_else(unknown)?;
    let caller = &asked.caller;
    restrict(caller, &mut details.summary);
    if caller.sees_only().is_some() && details.summary.tasks.is_empty() {
        return Err(unknown());
    }
    details.attempts.retain(|attempt| caller.sees(&attempt.route));
    details.steps.retain(|step| caller.sees(&step.route));
    Ok(Shown(details))
}

/// Counts events and tasks.
pub(super) async fn counts(asked: Asked, (): ()) -> Result<Shown<Counts>, Problem> {
    Ok(Shown(asked.store.counts().await?))
}

/// Leaves out of an event what its caller isn't shown.
pub(super) fn restrict(caller: &Caller, event: &mut EventSummary) {
    if caller.sees_only().is_some() {
        event.tasks.retain(|task| caller.sees(&task.route));
        event.state = EventSummary::state_of(&event.tasks);
    }
}

/// The route to filter by: a worker's own where it has one only.
fn route_shown(caller: &Caller, route: Option<String>) -> Result<Option<String>, Problem> {
    let Some(routes) = caller.sees_only() else { return Ok(route) };
    match (route, routes) {
        (Some(route), _) if !caller.sees(&route) => Err(Problem::forbidden(format!(
            "the route `{route}` is not among those of the token: {}",
            routes.join(", ")
        ))),
        (Some(route), _) => Ok(Some(route)),
        (None, [route]) => Ok(Some(route.clone())),
        (None, _) => {
            let what = format!("say which of the token's routes: {}", routes.join(", "));
            Err(Problem::bad_member("route", what))
        }
    }
}
