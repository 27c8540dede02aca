//! Counts events and tasks.

use hookonce::store::{Counts, RouteCounts};

use crate::config::{Config, Place};
use crate::out::{self, Format, table};
use crate::wiring;

/// What is said of a route that has tasks and is in the configuration no more.
const GONE: &str = "gone from the configuration: `hookonce replay --route … --to-route …`";

pub(crate) async fn run(place: &Place, format: Format) -> anyhow::Result<()> {
    let config = Config::load_for_store(place)?;
    let store = wiring::open_existing(&config).await?;
    let counts = store.counts().await.map_err(|error| wiring::not_done("cannot count", &error))?;
    if format == Format::Json {
        return out::json(&counts);
    }
    let routes = store.routes().await;
    let routes = routes.map_err(|error| wiring::not_done("cannot count by route", &error))?;
    out::text(&[shown(&counts), by_route(&config, &routes)].concat())
}

/// The live tasks of each route of the configuration, and of those that are gone from it.
fn by_route(config: &Config, routes: &[RouteCounts]) -> String {
    let row = |name: &str, is_known: bool| {
        let counts = routes.iter().find(|counts| counts.route == name);
        let counts = counts.map_or([0; 3], |c| [c.pending, c.claimed, c.dead]);
        let mut row = vec![name.to_owned()];
        row.extend(counts.iter().map(ToString::to_string));
        row.push(if is_known { String::new() } else { GONE.to_owned() });
        row
    };
    let known: Vec<&str> = config.routes.iter().map(|route| route.name.as_str()).collect();
    let mut rows: Vec<_> = known.iter().map(|name| row(name, true)).collect();
    let gone = routes.iter().filter(|counts| !known.contains(&&*counts.route));
    rows.extend(gone.map(|counts| row(&counts.route, false)));
    if rows.is_empty() {
        return String::new();
    }
    format!("\n\n{}", table(&["ROUTE", "PENDING", "CLAIMED", "DEAD", ""], &rows))
}

fn shown(counts: &Counts) -> String {
    let oldest = counts.oldest_due_at.map_or_else(|| "-".into(), |at| format!("{at:.0}"));
    let lines = [
        ("events", counts.events.to_string(), "ever stored"),
        ("duplicates", counts.duplicates.to_string(), "copies that were not handled again"),
        ("unrouted", counts.unrouted.to_string(), "events that no route took"),
        ("pending", counts.pending.to_string(), "tasks to be handled"),
        ("claimed", counts.claimed.to_string(), "tasks being handled"),
        ("completed", counts.completed.to_string(), "tasks ever completed"),
        ("dead", counts.dead.to_string(), "tasks that wait for a person"),
        ("oldest due", oldest, "since when a task waits for a worker"),
    ];
    let width = lines.iter().map(|(_, value, _)| value.len()).max().unwrap_or_default();
    let line = |(name, value, about): &(&str, String, &str)| {
        format!("{name:<10}  {value:>width$}  {about}")
    };
    lines.iter().map(line).collect::<Vec<_>>().join("\n")
}
