//! Counts events and tasks.

use hookonce::store::{Counts, Store as _};

use crate::config::{Config, Place};
use crate::out::{self, Format};
use crate::wiring;

pub(crate) async fn run(place: &Place, format: Format) -> anyhow::Result<()> {
    let config = Config::load_for_store(place)?;
    let store = wiring::open_existing(&config).await?;
    let counts = store.counts().await.map_err(|error| wiring::not_done("cannot count", &error))?;
    if format == Format::Json {
        return out::json(&counts);
    }
    out::text(&shown(&counts))
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
