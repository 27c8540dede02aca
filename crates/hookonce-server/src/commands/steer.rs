//! What a person does about dead tasks and waiting lanes: replay or bury them, by their events.

use anyhow::anyhow;
use hookonce::event::EventId;
use hookonce::store::Store;
use hookonce::task::TaskId;
use serde_json::json;

use crate::cli::SteerOptions;
use crate::config::{Config, Place};
use crate::out::{self, Format};
use crate::wiring;

/// Makes dead tasks due again, and retries due now.
pub(crate) async fn replay(
    place: &Place,
    options: &SteerOptions,
    format: Format,
) -> anyhow::Result<()> {
    let (store, tasks) = chosen(place, options).await?;
    let moved = store.replay(&tasks).await;
    let moved = moved.map_err(|error| wiring::not_done("cannot replay", &error))?;
    if format == Format::Json {
        return out::json(&json!({ "replayed": moved.moved, "left": moved.left }));
    }
    out::text(&format!("{} replayed, {} left as they are", moved.moved, moved.left))
}

/// Makes pending tasks dead, and lets the lane of a dead one go on.
pub(crate) async fn bury(
    place: &Place,
    options: &SteerOptions,
    format: Format,
) -> anyhow::Result<()> {
    let (store, tasks) = chosen(place, options).await?;
    let moved = store.bury(&tasks).await;
    let moved = moved.map_err(|error| wiring::not_done("cannot bury", &error))?;
    if format == Format::Json {
        return out::json(&json!({ "buried": moved.moved, "left": moved.left }));
    }
    out::text(&format!("{} buried, {} left as they are", moved.moved, moved.left))
}

/// The tasks of the events that were named, of one route or of all.
async fn chosen(
    place: &Place,
    options: &SteerOptions,
) -> anyhow::Result<(impl Store + use<>, Vec<TaskId>)> {
    let config = Config::load_for_store(place)?;
    let store = wiring::open_existing(&config).await?;
    let mut tasks = Vec::new();
    for id in &options.ids {
        let event_id: EventId = id.trim().parse().map_err(|_| {
            anyhow!("`{id}` is no event id; `hookonce list --state dead` shows those to look at")
        })?;
        let details = store.get(event_id).await;
        let details = details.map_err(|error| wiring::not_done("cannot read the event", &error))?;
        let details = details.ok_or_else(|| anyhow!("there is no event `{event_id}`"))?;
        let routes = details.summary.tasks.into_iter().map(|task| task.route);
        let wanted = routes.filter(|route| options.route.as_ref().is_none_or(|name| name == route));
        tasks.extend(wanted.map(|route| TaskId { event_id, route: route.into() }));
    }
    Ok((store, tasks))
}
