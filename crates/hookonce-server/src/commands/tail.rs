//! Follows the events that arrive.

use std::ops::ControlFlow;
use std::time::Duration;

use anyhow::Error;
use hookonce::store::{EventSummary, Filter, Store, StoreError};

use super::unless_interrupted;
use crate::cli::TailOptions;
use crate::config::{Config, Place};
use crate::out::{self, Format, shortened};
use crate::wiring;

/// How often it looks for more.
const POLL: Duration = Duration::from_millis(500);
/// How many events are read at a time.
const PAGE: usize = 100;

pub(crate) async fn run(
    place: &Place,
    options: &TailOptions,
    format: Format,
) -> anyhow::Result<()> {
    let config = Config::load_for_store(place)?;
    let store = wiring::open_existing(&config).await?;
    let filter = options.filter.filter();
    let follow = follow(&*store, filter, usize::from(options.lines), format);
    // Whoever ends it has seen enough.
    unless_interrupted(follow).await.unwrap_or(Ok(()))
}

async fn follow(
    store: &dyn Store,
    filter: Filter,
    lines: usize,
    format: Format,
) -> anyhow::Result<()> {
    let mut seen = newest(store).await.map_err(|error| failed(&error))?;
    for event in last(store, &filter, seen, lines).await.map_err(|error| failed(&error))? {
        if show(&event, format)?.is_break() {
            return Ok(());
        }
    }
    loop {
        // Asked for first: what arrives while the page is read is for the next time.
        let until = newest(store).await.map_err(|error| failed(&error))?;
        let mut after = Some(seen);
        while let Some(cursor) = after.filter(|cursor| *cursor < until) {
            let filter = Filter { after: Some(cursor), ..filter.clone() };
            let page = store.walk(&filter, PAGE).await.map_err(|error| failed(&error))?;
            for event in page.events.iter().filter(|event| event.event.seq <= until) {
                if show(event, format)?.is_break() {
                    return Ok(());
                }
            }
            after = page.next;
        }
        seen = until;
        if out::has_no_reader() {
            return Ok(());
        }
        tokio::time::sleep(POLL).await;
    }
}

/// The number of the newest event there is.
async fn newest(store: &dyn Store) -> Result<i64, StoreError> {
    let page = store.list(&Filter::default(), 1).await?;
    Ok(page.events.first().map_or(0, |newest| newest.event.seq))
}

/// The last events up to a number, oldest first.
async fn last(
    store: &dyn Store,
    filter: &Filter,
    until: i64,
    lines: usize,
) -> Result<Vec<EventSummary>, StoreError> {
    let mut filter = Filter { after: Some(until + 1), ..filter.clone() };
    let mut events = Vec::new();
    while events.len() < lines {
        let page = store.list(&filter, lines - events.len()).await?;
        events.extend(page.events);
        filter.after = page.next;
        if page.next.is_none() {
            break;
        }
    }
    events.reverse();
    Ok(events)
}

fn show(summary: &EventSummary, format: Format) -> anyhow::Result<ControlFlow<()>> {
    if format == Format::Json {
        return out::line(&serde_json::to_string(summary)?);
    }
    let event = &summary.event;
    out::line(&format!(
        "{:.0}  {}  {:<10}  {:<18}  {:<9}  {:>2}  {}",
        event.received_at,
        event.id,
        event.source,
        shortened(&event.kind, 32),
        summary.state,
        summary.copies,
        shortened(&event.key, 48),
    ))
}

fn failed(error: &StoreError) -> Error {
    wiring::not_done("cannot follow the events", error)
}
