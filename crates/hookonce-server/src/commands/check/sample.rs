//! Shows what a request would become, without proving or storing it.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Error, anyhow, bail};
use hookonce::event::{Lane, NewEvent};
use hookonce::route::{self, Route};
use hookonce::scheme::{Origin, Request};
use hookonce::store::Clock;
use serde::Serialize;

use crate::commands::sign;
use crate::config::{Config, Place, SourceConfig};
use crate::out::{self, Format, table};
use crate::wiring;

/// Shows the events of the request in `file`, as if it had been sent to the source `name`.
pub(super) fn show(place: &Place, file: &Path, name: &str, format: Format) -> anyhow::Result<()> {
    let config = Config::load_for_store(place)?;
    let source = config.source(name).map_err(Error::msg)?;
    let body = sign::read(file)?;
    let limit = config.server.body_limit;
    if u64::try_from(body.len())? > limit.get() {
        bail!("it is longer than `server.body_limit`, {limit}, so it would be answered 413");
    }
    let events = events(&config, name, source, body)?;
    if format == Format::Json {
        let events: Vec<_> = events.iter().map(Sample::of).collect();
        return out::json(&serde_json::json!({ "events": events }));
    }
    if events.is_empty() {
        out::remark("no events");
        return Ok(());
    }
    let head = ["KIND", "ROUTES", "LANE", "ELEMENT", "KEY", "WEAK KEY", "UNREADABLE"];
    out::text(&table(&head, &events.iter().map(row).collect::<Vec<_>>()))
}

/// Cuts the request into its events, each with the tasks that the routes would give it.
fn events(
    config: &Config,
    name: &str,
    source: &SourceConfig,
    body: Vec<u8>,
) -> anyhow::Result<Vec<NewEvent>> {
    // A sample is nobody's proof, and secrets need not be at hand.
    let open =
        SourceConfig { unverified: true, own: source.own.without_secrets(), ..source.clone() };
    let scheme = wiring::scheme(config, name, &open)?;
    let received_at = Clock::system().now();
    let request = Request::of(body, received_at);
    let verified = scheme.verify(request);
    let verified =
        verified.map_err(|reason| anyhow!("it can't be read as a request: {}", reason.as_str()))?;
    let origin =
        Origin { source: Arc::from(name), scope: wiring::scope(name, source), received_at };
    let mut events = scheme.parse(&verified, &origin);
    let routes: Vec<Route> = config.routes.iter().map(wiring::route).collect();
    route::assign(&routes, &mut events);
    Ok(events)
}

/// An event as a program reads it.
#[derive(Serialize)]
struct Sample<'a> {
    id: String,
    key: &'a str,
    kind: &'a str,
    lane: Option<&'a str>,
    element: &'a str,
    weak_key: bool,
    unreadable: Option<&'static str>,
    routes: Vec<&'a str>,
}

impl<'a> Sample<'a> {
    fn of(event: &'a NewEvent) -> Self {
        Self {
            id: event.id.to_string(),
            key: event.key.as_str(),
            kind: event.kind.as_str(),
            lane: event.lane.as_ref().map(Lane::as_str),
            element: &event.element,
            weak_key: event.weak_key,
            unreadable: event.unreadable,
            routes: event.tasks.iter().map(|task| &*task.route).collect(),
        }
    }
}

fn row(event: &NewEvent) -> Vec<String> {
    let sample = Sample::of(event);
    let or_none = |text: &str| if text.is_empty() { "-".to_owned() } else { text.to_owned() };
    vec![
        sample.kind.to_owned(),
        or_none(&sample.routes.join(", ")),
        or_none(sample.lane.unwrap_or_default()),
        or_none(sample.element),
        sample.key.to_owned(),
        if sample.weak_key { "yes" } else { "no" }.to_owned(),
        or_none(sample.unreadable.unwrap_or_default()),
    ]
}
