//! What there is, in numbers and in words.

use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use axum::response::IntoResponse as _;
use hookonce::store::{Counts, RouteCounts};
use jiff::Timestamp;
use maud::{Markup, html};

use super::page::Page;
use super::session::Session;
use super::text::{number, since};
use super::{Answer, here};
use crate::admin::Shared;

/// Shows it.
pub(super) async fn show(State(shared): State<Shared>, uri: Uri, headers: HeaderMap) -> Answer {
    let session = Session::of(&shared, &headers, &here(&uri))?;
    let counts = shared.store.counts().await?;
    let live = shared.store.routes().await?;
    let now = shared.store.now().await?;
    let settings = shared.settings();
    let known: Vec<&str> = settings.routes.iter().map(|route| &*route.name).collect();
    let content = html! {
        h1 { "Overview" }
        p.lead { (absorbed(&counts)) }
        (numbers(&counts, now))
        h2 { "Routes" }
        (routes(&known, &live))
    };
    Ok(Page::new(&session, ("Overview", "/"), "", &content).into_response())
}

/// What duplicates would have done, for whoever doesn't know what one is.
fn absorbed(counts: &Counts) -> String {
    let copies = number(counts.duplicates);
    let arrived = match counts.events {
        0 => return "No event has arrived yet.".to_owned(),
        1 => "1 event has arrived".to_owned(),
        events => format!("{} events have arrived", number(events)),
    };
    match (counts.events, counts.duplicates) {
        (1, 0) => format!("{arrived}."),
        (_, 0) => format!("{arrived}, and none of them twice."),
        (_, 1) => format!("{arrived}. One copy came as well, and was not handled again."),
        _ => format!(
            "{arrived}. Senders delivered copies {copies} times; none of those was handled again."
        ),
    }
}

fn numbers(counts: &Counts, now: Timestamp) -> Markup {
    let oldest = counts.oldest_due_at.map_or_else(|| "–".to_owned(), |at| since(at, now));
    let all = [
        ("Events", number(counts.events), "ever stored", "/events"),
        ("Duplicates", number(counts.duplicates), "copies absorbed", ""),
        ("Claimed", number(counts.claimed), "tasks in flight", "/events?state=claimed"),
        ("Pending", number(counts.pending), "tasks to be handled", "/events?state=pending"),
        ("Completed", number(counts.completed), "tasks ever", "/events?state=completed"),
        ("Dead", number(counts.dead), "tasks for a person", "/dead"),
        ("Oldest due", oldest, "waits for a worker", ""),
        ("Unrouted", number(counts.unrouted), "no route took them", "/events?state=recorded"),
    ];
    html! {
        dl.numbers {
            @for (name, value, about, path) in all {
                div {
                    dt { (name) }
                    dd {
                        @if path.is_empty() { strong { (value) } } @else { a href=(path) { strong { (value) } } }
                        small { (about) }
                    }
                }
            }
        }
    }
}

fn routes(known: &[&str], live: &[RouteCounts]) -> Markup {
    let none = RouteCounts::default();
    let of = |name: &str| live.iter().find(|counts| counts.route == name).unwrap_or(&none);
    let gone = live.iter().map(|counts| counts.route.as_str()).filter(|name| !known.contains(name));
    let rows: Vec<(&str, bool)> =
        known.iter().map(|name| (*name, true)).chain(gone.map(|name| (name, false))).collect();
    let cell = |n: u64, route: &str, state: &str| {
        html! {
            td.n { @if n == 0 { "0" } @else { a href={ "/events?route=" (route) "&state=" (state) } { (number(n)) } } }
        }
    };
    html! {
        div.scroll {
            table {
                thead { tr { th { "Route" } th.n { "Pending" } th.n { "Claimed" } th.n { "Dead" } } }
                tbody {
                    @for (name, is_known) in rows {
                        tr {
                            th scope="row" { (name) @if !is_known { " " small { "gone from the configuration" } } }
                            (cell(of(name).pending, name, "pending"))
                            (cell(of(name).claimed, name, "claimed"))
                            (cell(of(name).dead, name, "dead"))
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use hookonce::store::Counts;

    use super::absorbed;

    #[test]
    fn duplicates_are_told_in_words() {
        let say =
            |events, duplicates| absorbed(&Counts { events, duplicates, ..Counts::default() });
        assert_eq!(say(0, 0), "No event has arrived yet.");
        assert_eq!(say(7, 0), "7 events have arrived, and none of them twice.");
        assert_eq!(say(1, 0), "1 event has arrived.");
        assert_eq!(
            say(1, 1),
            "1 event has arrived. One copy came as well, and was not handled again."
        );
        assert!(say(7, 12).contains("Senders delivered copies 12 times"));
    }
}
