//! What a person does to tasks from a page; written down before it is done.

use std::num::NonZeroU32;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use hookonce::steer::{self, Action, Effect, Steer};
use hookonce::store::{Filter, StateFilter};
use hookonce::task::State as TaskState;
use serde::Deserialize;
use serde_json::json;

use super::session::Session;
use super::{Answer, Failure, event_id, form, redirect};
use crate::admin::{Shared, write_down};

/// How many tasks a second are replayed from a page, so that what they are for is not flooded.
const RATE: u32 = 100;
/// How many are replayed at once.
const MANY: usize = 500;

#[derive(Debug, Deserialize)]
struct One {
    proof: String,
    route: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Many {
    proof: String,
    route: String,
    action: String,
}

/// Does something to the tasks of one event.
pub(super) async fn one(
    State(shared): State<Shared>,
    Path((id, action)): Path<(String, String)>,
    headers: HeaderMap,
    body: Body,
) -> Answer {
    let session = Session::of(&shared, &headers, &format!("/events/{id}"))?;
    let One { proof, route } = form(body).await?;
    session.steers(&headers, &proof)?;
    let id = event_id(&id)?;
    let action = match &*action {
        "replay" => Action::Replay,
        "rerun" => Action::Rerun,
        "bury" => Action::Bury,
        _ => return Err(Failure::NotFound(format!("nothing is called `{action}`"))),
    };
    let details = json!({ "id": id, "route": route });
    write_down(&*shared.store, &session.caller.name, &action, details).await?;
    let settings = shared.settings();
    let moved = steer::steer_event(
        &*shared.store,
        &settings.routes,
        id,
        route.as_deref(),
        &action,
        Effect::Real,
    )
    .await?;
    moved.ok_or_else(|| Failure::NotFound(format!("There is no event {id}.")))?;
    Ok(redirect(&format!("/events/{id}"), None))
}

/// Counts or replays dead tasks of a route.
pub(super) async fn many(State(shared): State<Shared>, headers: HeaderMap, body: Body) -> Answer {
    let session = Session::of(&shared, &headers, "/dead")?;
    let Many { proof, route, action } = form(body).await?;
    session.steers(&headers, &proof)?;
    let effect = match &*action {
        "count" => Effect::DryRun,
        "replay" => Effect::Real,
        _ => return Err(Failure::Bad(format!("nothing is called `{action}`"))),
    };
    let state = Some(StateFilter::Task(TaskState::Dead));
    let filter = Filter { state, route: Some(route.clone()), ..Filter::default() };
    let (limit, rate) = match effect {
        Effect::DryRun => (None, None),
        Effect::Real => (Some(MANY), NonZeroU32::new(RATE)),
    };
    if effect == Effect::Real {
        let details = json!({ "filter": { "state": "dead", "route": route }, "limit": limit });
        write_down(&*shared.store, &session.caller.name, &Action::Replay, details).await?;
    }
    let order = Steer { filter, action: Action::Replay, limit, rate, effect };
    let settings = shared.settings();
    let moved = steer::steer(&*shared.store, &settings.routes, &order, &mut |_| ()).await?;
    let what = if effect == Effect::DryRun { "would" } else { "did" };
    let told =
        [("route", route), (what, moved.moved.to_string()), ("left", moved.left.to_string())];
    let told = serde_urlencoded::to_string(told).unwrap_or_default();
    Ok(redirect(&format!("/dead?{told}"), None))
}
