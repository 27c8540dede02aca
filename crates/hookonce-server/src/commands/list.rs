//! Lists events, newest first.

use hookonce::store::{EventSummary, Filter};
use serde::Serialize;

use crate::cli::ListOptions;
use crate::config::{Config, Place};
use crate::out::{self, Format, shortened, table};
use crate::wiring;

pub(crate) async fn run(place: &Place, options: ListOptions, format: Format) -> anyhow::Result<()> {
    let config = Config::load_for_store(place)?;
    let store = wiring::open_existing(&config).await?;
    let limit = usize::from(options.limit);
    let filter = Filter { key: options.key, after: options.after, ..options.filter.filter() };
    let page = store.list(&filter, limit).await;
    let page = page.map_err(|error| wiring::not_done("cannot list events", &error))?;
    if format == Format::Json {
        let next = page.next.map(|cursor| cursor.to_string());
        return out::json(&Answer { events: &page.events, next });
    }
    if page.events.is_empty() {
        out::remark(&nothing(&config, &filter));
    } else {
        let head = ["ID", "RECEIVED", "SOURCE", "KIND", "STATE", "COPIES", "KEY"];
        out::text(&table(&head, &page.events.iter().map(row).collect::<Vec<_>>()))?;
    }
    if let Some(cursor) = page.next {
        out::remark(&format!("there may be more: add --after {cursor}"));
    }
    Ok(())
}

/// A page as a program reads it: a cursor is nothing to calculate with.
#[derive(Serialize)]
struct Answer<'a> {
    events: &'a [EventSummary],
    next: Option<String>,
}

/// Why there may be none.
fn nothing(config: &Config, filter: &Filter) -> String {
    let source = filter.source.as_ref().map(|name| config.source(name));
    let hint = source.and_then(Result::err).map(|hint| format!(": {hint}"));
    format!("no events{}", hint.unwrap_or_default())
}

fn row(summary: &EventSummary) -> Vec<String> {
    let event = &summary.event;
    vec![
        event.id.to_string(),
        format!("{:.0}", event.received_at),
        event.source.clone(),
        shortened(&event.kind, 32),
        summary.state.to_owned(),
        summary.copies.to_string(),
        shortened(&event.key, 48),
    ]
}
