//! Which events there are.

use axum::extract::{Query, State};
use axum::http::{HeaderMap, Uri};
use axum::response::IntoResponse as _;
use hookonce::event::EventId;
use hookonce::store::{EventSummary, Filter, Page as Found, StateFilter};
use hookonce::task::State as TaskState;
use maud::{Markup, html};
use serde::{Deserialize, Serialize};

use super::page::Page;
use super::session::Session;
use super::text::{number, state, time};
use super::{Answer, Failure, here, redirect};
use crate::admin::Shared;

/// How many events a page shows.
const PAGE: usize = 50;
/// The states to filter by.
const STATES: [&str; 5] = ["pending", "claimed", "completed", "dead", "recorded"];

/// What is asked for; what is empty asks for all.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct Asked {
    /// An id, a key or a lane, as it was pasted.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) q: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) state: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) source: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) kind: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) route: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) lane: String,
    /// Where to go on.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) after: String,
}

impl Asked {
    /// As a store takes it.
    pub(super) fn filter(&self) -> Result<Filter, Failure> {
        let text = |text: &str| (!text.trim().is_empty()).then(|| text.trim().to_owned());
        let state = match &*self.state {
            "" => None,
            "recorded" => Some(StateFilter::Recorded),
            word => {
                let known = TaskState::ALL.into_iter().find(|known| known.as_str() == word);
                let known =
                    known.ok_or_else(|| Failure::Bad(format!("there is no state `{word}`")))?;
                Some(StateFilter::Task(known))
            }
        };
        let after = text(&self.after)
            .map(|after| {
                after.parse().map_err(|_| Failure::Bad("this is no place to go on from".into()))
            })
            .transpose()?;
        let [source, kind, route, lane] =
            [&self.source, &self.kind, &self.route, &self.lane].map(|of| text(of));
        Ok(Filter { state, source, kind, route, lane, key: None, after })
    }

    fn query(&self) -> String {
        serde_urlencoded::to_string(self).unwrap_or_default()
    }
}

/// Lists them, newest first.
pub(super) async fn list(
    State(shared): State<Shared>,
    uri: Uri,
    headers: HeaderMap,
    Query(asked): Query<Asked>,
) -> Answer {
    let session = Session::of(&shared, &headers, &here(&uri))?;
    let q = asked.q.trim();
    if let Ok(id) = q.parse::<EventId>() {
        return Ok(redirect(&format!("/events/{id}"), None));
    }
    let filter = asked.filter()?;
    let found = if q.is_empty() {
        shared.store.list(&filter, PAGE).await?
    } else {
        search(&shared, &filter, q).await?
    };
    if let ([only], None, false) = (&found.events[..], found.next, q.is_empty()) {
        return Ok(redirect(&format!("/events/{}", only.event.id), None));
    }
    let settings = shared.settings();
    let routes: Vec<&str> = settings.routes.iter().map(|route| &*route.name).collect();
    let content = html! {
        h1 { "Events" }
        (filters(&asked, &routes))
        (table(&found.events))
        (more(&asked, found.next))
    };
    Ok(Page::new(&session, ("Events", "/events"), q, &content).into_response())
}

/// Events whose key or lane this is: both are looked up, and nothing is scanned for it.
async fn search(shared: &Shared, filter: &Filter, q: &str) -> Result<Found, Failure> {
    let by_key = Filter { key: Some(q.to_owned()), ..filter.clone() };
    let found = shared.store.list(&by_key, PAGE).await?;
    if !found.events.is_empty() {
        return Ok(found);
    }
    let by_lane = Filter { lane: Some(q.to_owned()), ..filter.clone() };
    Ok(shared.store.list(&by_lane, PAGE).await?)
}

fn filters(asked: &Asked, routes: &[&str]) -> Markup {
    let field = |name: &str, label: &str, value: &str| {
        html! {
            label { (label) input name=(name) value=(value); }
        }
    };
    html! {
        form.filters action="/events" {
            label {
                "State"
                select name="state" {
                    option value="" { "any" }
                    @for word in STATES {
                        option value=(word) selected[asked.state == word] { (word) }
                    }
                }
            }
            label {
                "Route"
                select name="route" {
                    option value="" { "any" }
                    @for route in routes { option value=(route) selected[asked.route == **route] { (route) } }
                }
            }
            (field("source", "Source", &asked.source))
            (field("kind", "Kind", &asked.kind))
            (field("lane", "Lane", &asked.lane))
            button { "Filter" }
        }
    }
}

/// The events as rows.
pub(super) fn table(events: &[EventSummary]) -> Markup {
    if events.is_empty() {
        return html! { p { "There are none." } };
    }
    html! {
        div.scroll {
            table {
                thead { tr { th { "Arrived" } th { "Kind" } th { "Source" } th { "State" } th.n { "Copies" } th { "Error" } } }
                tbody {
                    @for EventSummary { event, copies, state: word, tasks, .. } in events {
                        tr {
                            td { a href={ "/events/" (event.id) } { (time(event.received_at)) } }
                            td { (event.kind) }
                            td { (event.source) }
                            td { (state(word)) }
                            td.n { (number(*copies)) }
                            td.error { @if let Some(error) = tasks.iter().find_map(|task| task.error.as_deref()) { (error) } }
                        }
                    }
                }
            }
        }
    }
}

/// Where to go on.
fn more(asked: &Asked, next: Option<i64>) -> Markup {
    let Some(next) = next else { return html! {} };
    let after = Asked { after: next.to_string(), ..asked.clone() };
    html! { p { a rel="next" href={ "/events?" (after.query()) } { "Older" } } }
}
