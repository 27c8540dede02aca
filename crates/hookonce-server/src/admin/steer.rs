//! Replaying and burying. Each call is written down before it acts.

use hookonce::steer::{self, Action, Effect, Steer};
use hookonce::store::{AuditEntry, Moved, Store, StoreError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::call::{Asked, Body, Shown};
use super::filter::FilterInput;
use super::problem::Problem;

/// Which tasks of the event are replayed.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct ReplayOneInput {
    /// Only the task of this route; of every route where it is not given.
    route: Option<String>,
    /// Runs completed tasks once more as well, from their first step.
    rerun: bool,
}

/// Which tasks of the event are buried.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct BuryOneInput {
    /// Only the task of this route; of every route where it is not given.
    route: Option<String>,
}

/// Which tasks are replayed; at least one member of the filter or `unrouted` has to be given.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct ReplayInput {
    #[serde(flatten)]
    filter: FilterInput,
    /// How many tasks at most; all that are meant where it is not given.
    #[schemars(range(min = 1))]
    limit: Option<usize>,
    /// Counts only what would be moved.
    #[serde(default)]
    dry_run: bool,
    /// Runs completed tasks once more, from their first step.
    #[serde(default)]
    rerun: bool,
    /// Gives events without any task those of the routes that take them now.
    #[serde(default)]
    unrouted: bool,
    /// Moves dead and pending tasks to the route of this name, due at once.
    to_route: Option<String>,
}

/// Which tasks are buried; at least one member of the filter has to be given.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct BuryInput {
    #[serde(flatten)]
    filter: FilterInput,
    /// How many tasks at most; all that are meant where it is not given.
    #[schemars(range(min = 1))]
    limit: Option<usize>,
    /// Counts only what would be buried.
    #[serde(default)]
    dry_run: bool,
}

/// What became of the tasks that were meant.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Replayed")]
pub(super) struct ReplayAnswer {
    /// Tasks that are due again, or would be.
    replayed: usize,
    /// Tasks that were left as they are.
    left: usize,
}

/// What became of the tasks that were meant.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Buried")]
pub(super) struct BuryAnswer {
    /// Tasks that were buried, or would be.
    buried: usize,
    /// Tasks that were left as they are.
    left: usize,
}

/// Replays tasks of one event.
pub(super) async fn replay_one(
    asked: Asked,
    Body(ReplayOneInput { route, rerun }): Body<ReplayOneInput>,
) -> Result<Shown<ReplayAnswer>, Problem> {
    let action = if rerun { Action::Rerun } else { Action::Replay };
    one(asked, route, action).await.map(replayed)
}

/// Buries tasks of one event.
pub(super) async fn bury_one(
    asked: Asked,
    Body(BuryOneInput { route }): Body<BuryOneInput>,
) -> Result<Shown<BuryAnswer>, Problem> {
    one(asked, route, Action::Bury).await.map(buried)
}

/// Replays many tasks.
pub(super) async fn replay(
    asked: Asked,
    Body(input): Body<ReplayInput>,
) -> Result<Shown<ReplayAnswer>, Problem> {
    let ReplayInput { filter, limit, dry_run, rerun, unrouted, to_route } = input;
    let action = match (rerun, unrouted, to_route) {
        (false, false, None) => Action::Replay,
        (true, false, None) => Action::Rerun,
        (false, true, None) => Action::Assign,
        (false, false, Some(route)) => Action::Reroute(route.into()),
        _ => {
            return Err(Problem::bad("only one of `rerun`, `unrouted` and `to_route` can be done"));
        }
    };
    many(asked, filter, action, limit, effect(dry_run)).await.map(replayed)
}

/// Buries many tasks.
pub(super) async fn bury(
    asked: Asked,
    Body(BuryInput { filter, limit, dry_run }): Body<BuryInput>,
) -> Result<Shown<BuryAnswer>, Problem> {
    many(asked, filter, Action::Bury, limit, effect(dry_run)).await.map(buried)
}

async fn one(asked: Asked, route: Option<String>, action: Action) -> Result<Moved, Problem> {
    let id = asked.event_id()?;
    let details = json!({ "id": id, "route": route });
    write_down(&*asked.store, &asked.caller.name, &action, details).await?;
    let routes = &asked.settings.routes;
    let (route, effect) = (route.as_deref(), Effect::Real);
    let moved = steer::steer_event(&*asked.store, routes, id, route, &action, effect).await?;
    moved.ok_or_else(|| Problem::not_found(format!("there is no event `{id}`")))
}

async fn many(
    asked: Asked,
    input: FilterInput,
    action: Action,
    limit: Option<usize>,
    effect: Effect,
) -> Result<Moved, Problem> {
    if input.is_empty() && action != Action::Assign {
        let detail = "this would mean every task there is; give at least one of `state`, `source`, \
                      `kind`, `route`, `lane`, `key`, `after`";
        return Err(Problem::bad(detail));
    }
    if limit == Some(0) {
        return Err(Problem::bad_member("limit", "write a number from 1"));
    }
    let to_route = match &action {
        Action::Reroute(to) => Some(&**to),
        _ => None,
    };
    let details = json!({ "filter": input, "limit": limit, "to_route": to_route });
    let filter = input.filter()?;
    if effect == Effect::Real {
        write_down(&*asked.store, &asked.caller.name, &action, details).await?;
    }
    let order = Steer { filter, action, limit, rate: None, effect };
    let moved = steer::steer(&*asked.store, &asked.settings.routes, &order, &mut |_| ()).await;
    moved.map_err(|error| match error {
        StoreError::Unsupported(message) => Problem::bad_member("to_route", message),
        error => error.into(),
    })
}

/// Writes down who does what to what.
pub(crate) async fn write_down(
    store: &dyn Store,
    who: &str,
    action: &Action,
    details: Value,
) -> Result<(), StoreError> {
    // What was not said is no part of what was done.
    let said = match details {
        Value::Object(details) => details.into_iter().filter(|(_, said)| !said.is_null()).collect(),
        other => other,
    };
    let (who, action) = (who.to_owned(), action.as_str().to_owned());
    let entry = AuditEntry { who, action, details: said.to_string() };
    store.audit(&entry).await
}

fn effect(dry_run: bool) -> Effect {
    if dry_run { Effect::DryRun } else { Effect::Real }
}

fn replayed(Moved { moved, left }: Moved) -> Shown<ReplayAnswer> {
    Shown(ReplayAnswer { replayed: moved, left })
}

fn buried(Moved { moved, left }: Moved) -> Shown<BuryAnswer> {
    Shown(BuryAnswer { buried: moved, left })
}
