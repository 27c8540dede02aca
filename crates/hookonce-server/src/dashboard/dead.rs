//! What waits for a person: dead tasks, by their route and reason.

use std::collections::BTreeMap;

use axum::extract::{Query, State};
use axum::http::{HeaderMap, Uri};
use axum::response::IntoResponse as _;
use hookonce::store::{EventSummary, Filter, StateFilter};
use hookonce::task::State as TaskState;
use maud::{Markup, html};

use super::page::Page;
use super::session::Session;
use super::text::number;
use super::{Answer, events, here};
use crate::admin::Shared;

/// How many dead events are looked at.
const LOOKED: usize = 200;

/// What was done before, and comes back to be told.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
pub(super) struct Told {
    /// Of which route.
    route: String,
    would: Option<usize>,
    did: Option<usize>,
    left: usize,
}

/// Shows them.
pub(super) async fn show(
    State(shared): State<Shared>,
    uri: Uri,
    headers: HeaderMap,
    Query(told): Query<Told>,
) -> Answer {
    let session = Session::of(&shared, &headers, &here(&uri))?;
    let filter = Filter { state: Some(StateFilter::Task(TaskState::Dead)), ..Filter::default() };
    let found = shared.store.list(&filter, LOOKED).await?;
    let routes = shared.store.routes().await?;
    let content = html! {
        h1 { "Dead" }
        (answer(&told))
        @let dead = routes.iter().filter(|counts| counts.dead > 0);
        @if dead.clone().next().is_none() { p { "Nothing waits for a person." } }
        @for counts in dead {
            section {
                h2 { (counts.route) " " small { (number(counts.dead)) } }
                @if session.may_steer() { (bulk(&session, &counts.route, told.would.is_some() && told.route == counts.route)) }
                (reasons(&counts.route, &found.events, found.next.is_some()))
            }
        }
        @if !found.events.is_empty() {
            h2 { "The newest" }
            (events::table(&found.events[..found.events.len().min(50)]))
        }
    };
    Ok(Page::new(&session, ("Dead", "/dead"), "", &content).into_response())
}

fn answer(told: &Told) -> Markup {
    html! {
        @if let Some(would) = told.would {
            p.told role="status" { (number(would as u64)) " tasks of " (told.route) " would be replayed, and " (number(told.left as u64)) " left as they are. Nothing was done yet." }
        }
        @if let Some(did) = told.did {
            p.told role="status" { (number(did as u64)) " tasks of " (told.route) " are due again; " (number(told.left as u64)) " were left as they are." }
        }
    }
}

/// What is done to all dead tasks of a route: counted first.
fn bulk(session: &Session, route: &str, is_counted: bool) -> Markup {
    let button = |action: &str, label: &str| {
        html! {
            form method="post" action="/dead" {
                input type="hidden" name="proof" value=(session.proof);
                input type="hidden" name="route" value=(route);
                input type="hidden" name="action" value=(action);
                button { (label) }
            }
        }
    };
    html! {
        div.task {
            (button("count", "Count what a replay would move"))
            @if is_counted { (button("replay", "Replay them")) }
        }
    }
}

/// Why they died, the most frequent first, as far as they were looked at.
fn reasons(route: &str, events: &[EventSummary], are_more: bool) -> Markup {
    let mut all = BTreeMap::<&str, usize>::new();
    for task in events.iter().flat_map(|event| &event.tasks) {
        if task.route == route && task.state == TaskState::Dead {
            *all.entry(task.error.as_deref().unwrap_or("without a reason")).or_default() += 1;
        }
    }
    let mut all: Vec<(&str, usize)> = all.into_iter().collect();
    all.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    html! {
        @if are_more { p.quiet { "Why, of the newest " (LOOKED) " events with a dead task:" } }
        ul.reasons { @for (reason, n) in all.iter().take(20) { li { span.n { (n) } " " span.error { (reason) } } } }
    }
}
