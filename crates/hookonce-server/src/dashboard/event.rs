//! One event: its life, what it holds, and what can be done about it.

use axum::extract::{Path, State};
use axum::http::{HeaderMap, Uri};
use axum::response::IntoResponse as _;
use hookonce::store::{EventDetails, EventSummary};
use hookonce::task::{State as TaskState, StepState, Task};
use jiff::Timestamp;
use maud::{Markup, html};

use super::page::Page;
use super::session::Session;
use super::text::{number, since, state, time};
use super::{Answer, Failure, OnePath, event_id, here, payload};
use crate::admin::Shared;

/// Shows it.
pub(super) async fn show(
    State(shared): State<Shared>,
    Path(id): OnePath,
    uri: Uri,
    headers: HeaderMap,
) -> Answer {
    let session = Session::of(&shared, &headers, &here(&uri))?;
    let id = event_id(&id)?;
    let details = shared.store.get(id).await?;
    let details = details.ok_or_else(|| Failure::NotFound(format!("There is no event {id}.")))?;
    let EventSummary { event, copies, mismatches, state: word, tasks, .. } = &details.summary;
    let content = html! {
        h1 { (event.kind) " " (state(word)) }
        dl.facts {
            dt { "Id" } dd { code { (event.id) } }
            dt { "Key" } dd { code { (event.key) } @if event.weak_key { " " small { "a hash, for want of an id" } } }
            dt { "Source" } dd { a href={ "/events?source=" (event.source) } { (event.source) } }
            @if let Some(lane) = &event.lane {
                dt { "Lane" } dd { a href={ "/events?lane=" (encoded(lane)) } { code { (lane) } } }
            }
            dt { "Copies" } dd {
                (number(*copies))
                @if *mismatches > 0 { ", " (number(*mismatches)) " of them with another content" }
            }
        }
        h2 { "Tasks" }
        @if tasks.is_empty() { p { "No route took it." } }
        @for task in tasks { (shown(task, &session, &event.id.to_string())) }
        h2 { "Its life" }
        (life(&details))
        @if details.arrivals.iter().any(|arrival| arrival.element.is_some()) {
            h2 { "Contents that differed" }
            @for arrival in &details.arrivals {
                @if let Some(element) = &arrival.element {
                    p { (time(arrival.at)) }
                    (payload::show(element, ""))
                }
            }
        }
        h2 { "Payload" }
        @match &details.payload {
            Some(text) => (payload::show(text, &event.element)),
            None => p { "It was removed after its retention." },
        }
    };
    Ok(Page::new(&session, (&event.kind, "/events"), "", &content).into_response())
}

fn encoded(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

/// A task, and what may be done to it.
fn shown(task: &Task, session: &Session, id: &str) -> Markup {
    let action = |action: &str, label: &str| {
        html! {
            form method="post" action={ "/events/" (id) "/" (action) } {
                input type="hidden" name="proof" value=(session.proof);
                input type="hidden" name="route" value=(task.route);
                button { (label) }
            }
        }
    };
    let holds = task.state == TaskState::Dead && task.due_at.is_some();
    html! {
        div.task {
            strong { (task.route) } " " (state(task.state.as_str()))
            small { "attempt " (task.attempt) " of " (task.max_attempts) @if task.run > 1 { ", run " (task.run) } }
            @if holds { small { "its conversation waits for it" } }
            @if let Some(worker) = &task.worker { small { "with " (worker) } }
            @if session.may_steer() {
                @match task.state {
                    TaskState::Dead => {
                        (action("replay", "Replay"))
                        @if holds { (action("bury", "Let the conversation pass")) }
                    },
                    TaskState::Pending => { (action("replay", "Retry now")) (action("bury", "Give up")) },
                    TaskState::Completed => (action("rerun", "Run again")),
                    TaskState::Claimed => {},
                }
            }
            @if let Some(error) = &task.error { p.error { (error) } }
        }
    }
}

/// Everything that happened to it, in order.
fn life(details: &EventDetails) -> Markup {
    let event = &details.summary.event;
    let mut all: Vec<(Timestamp, Markup)> = vec![(event.received_at, html! { "received" })];
    if let Some(sent) = event.sent_at {
        all.push((sent, html! { "sent, by the sender's clock" }));
    }
    for arrival in &details.arrivals {
        let what = if arrival.element.is_some() {
            "came again with another content"
        } else {
            "came again"
        };
        all.push((
            arrival.at,
            html! { (what) @if arrival.n > 1 { ", " (number(arrival.n)) " times" } },
        ));
    }
    for attempt in &details.attempts {
        let took = since(attempt.started_at, attempt.ended_at);
        all.push((attempt.started_at, html! {
            strong { (attempt.route) } ": attempt " (attempt.attempt) ", " (attempt.outcome) " after " (took)
            ", by " (attempt.worker)
            @if let Some(error) = &attempt.error { p.error { (error) } }
        }));
    }
    for task in &details.summary.tasks {
        // An attempt tells its own end.
        let is_told = details.attempts.iter().any(|attempt| {
            attempt.route == task.route && matches!(&*attempt.outcome, "completed" | "dead")
        });
        if let Some(at) = task.finished_at.filter(|_| !is_told) {
            all.push((at, html! { strong { (task.route) } ": " (state(task.state.as_str())) }));
        }
    }
    all.sort_by_key(|(at, _)| *at);
    html! {
        ol.life { @for (at, what) in &all { li { (time(*at)) div { (what) } } } }
        @if !details.steps.is_empty() {
            p { "Steps that are remembered: "
                @for (n, step) in details.steps.iter().enumerate() {
                    @if n > 0 { ", " }
                    (step.route) "/" (step.name)
                    @if step.state == StepState::Begun { " (begun)" }
                }
            }
        }
    }
}
