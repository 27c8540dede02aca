//! Lists events, newest first.

use hookonce::store::{EventSummary, Filter, Page, StateFilter, Store as _};
use hookonce::task::State;
use serde::Serialize;

use crate::cli::{ListOptions, StateName};
use crate::config::{Config, Place};
use crate::out::{self, Format, shortened, table};
use crate::wiring;

pub(crate) async fn run(place: &Place, options: ListOptions, format: Format) -> anyhow::Result<()> {
    let config = Config::load_for_store(place)?;
    let store = wiring::open_existing(&config).await?;
    let limit = usize::from(options.limit);
    let page = store.list(&filter(options), limit).await;
    let page = page.map_err(|error| wiring::not_done("cannot list events", &error))?;
    if format == Format::Json {
        let next = page.next.map(|cursor| cursor.to_string());
        return out::json(&Answer { events: &page.events, next });
    }
    show(&page)
}

/// A page as a program reads it: a cursor is nothing to calculate with.
#[derive(Serialize)]
struct Answer<'a> {
    events: &'a [EventSummary],
    next: Option<String>,
}

fn filter(options: ListOptions) -> Filter {
    let state = options.state.map(|state| match state {
        StateName::Recorded => StateFilter::Recorded,
        StateName::Pending => StateFilter::Task(State::Pending),
        StateName::Claimed => StateFilter::Task(State::Claimed),
        StateName::Completed => StateFilter::Task(State::Completed),
        StateName::Dead => StateFilter::Task(State::Dead),
    });
    let ListOptions { source, kind, route, lane, key, after, .. } = options;
    Filter { state, source, kind, route, lane, key, after }
}

fn show(page: &Page) -> anyhow::Result<()> {
    if page.events.is_empty() {
        out::remark("no events");
    } else {
        let head = ["ID", "RECEIVED", "SOURCE", "KIND", "STATE", "COPIES", "KEY"];
        out::text(&table(&head, &page.events.iter().map(row).collect::<Vec<_>>()))?;
    }
    if let Some(cursor) = page.next {
        out::remark(&format!("there may be more: add --after {cursor}"));
    }
    Ok(())
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
