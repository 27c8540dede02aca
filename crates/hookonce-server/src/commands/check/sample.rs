//! Shows what a request would become, without storing it.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Error, anyhow, bail};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Uri};
use hookonce::event::{Lane, NewEvent, Priority};
use hookonce::route::{self, Route};
use hookonce::scheme::{Origin, Request, Unproven};
use hookonce::store::Clock;
use serde::Serialize;
use serde_json::json;

use crate::commands::sign;
use crate::config::{Config, Place, SourceConfig};
use crate::out::{self, Format, counted, table};
use crate::wiring;

/// Shows the events of the request in `file`, as if it had been sent to the source `name` with these
/// headers.
pub(super) fn show(
    place: &Place,
    (file, name): (&Path, &str),
    headers: &[(HeaderName, HeaderValue)],
    format: Format,
) -> anyhow::Result<()> {
    let config = Config::load_for_store(place)?;
    let source = config.source(name).map_err(Error::msg)?;
    let body = sign::read(file)?;
    let limit = config.server.body_limit;
    if u64::try_from(body.len())? > limit.get() {
        bail!("it is longer than `server.body_limit`, {limit}, so it would be answered 413");
    }
    let request = Request {
        headers: headers.iter().cloned().collect::<HeaderMap>(),
        body: body.into(),
        target: format!("/webhooks/{name}").parse::<Uri>()?,
        base: None,
        received_at: Clock::system().now(),
    };
    let proof = (!headers.is_empty() && !source.unverified)
        .then(|| proof(&config, name, source, request.clone()))
        .flatten();
    let becomes = becomes(&config, name, source, request)?;
    if format == Format::Json {
        let events: Vec<_> = becomes.samples().collect();
        let answer = json!({ "events": events, "challenge": becomes.challenge, "proof": proof });
        return out::json(&answer);
    }
    tell(&becomes, proof.as_ref())
}

/// What a request becomes.
struct Becomes {
    events: Vec<NewEvent>,
    /// The parts of its key that each event lacks.
    lacks: Vec<Vec<String>>,
    /// The answer, where it is the sender's question and no event.
    challenge: Option<String>,
}

/// Whether its headers prove who sent it.
#[derive(Serialize)]
struct Proof {
    proven: bool,
    /// Which of the source's secrets matched, from 1.
    secret: Option<usize>,
    reason: Option<String>,
}

/// Whether these headers prove the sender; `None` where no signature is among them.
fn proof(config: &Config, name: &str, source: &SourceConfig, request: Request) -> Option<Proof> {
    let refused = |reason| Some(Proof { proven: false, secret: None, reason: Some(reason) });
    match wiring::scheme(config, name, source).map(|scheme| scheme.verify(request)) {
        Ok(Ok(verified)) => {
            let secret = verified.secret.map(|n| n + 1);
            Some(Proof { proven: true, secret, reason: None })
        }
        Ok(Err(Unproven::Missing)) => None,
        Ok(Err(reason)) => refused(reason.as_str().to_owned()),
        Err(error) => refused(format!("{error:#}")),
    }
}

/// Cuts the request into its events, each with the tasks that the routes would give it.
fn becomes(
    config: &Config,
    name: &str,
    source: &SourceConfig,
    request: Request,
) -> anyhow::Result<Becomes> {
    // A sample is nobody's proof, and secrets need not be at hand.
    let open =
        SourceConfig { unverified: true, own: source.own.without_secrets(), ..source.clone() };
    let scheme = wiring::scheme(config, name, &open)?;
    let received_at = request.received_at;
    let verified = scheme.verify(request);
    let verified =
        verified.map_err(|reason| anyhow!("it can't be read as a request: {}", reason.as_str()))?;
    if let Some(answer) = scheme.question(&verified) {
        return Ok(Becomes { events: vec![], lacks: vec![], challenge: Some(answer) });
    }
    let origin =
        Origin { source: Arc::from(name), scope: wiring::scope(name, source), received_at };
    let mut events = scheme.parse(&verified, &origin);
    let routes: Vec<Route> = config.routes.iter().map(wiring::route).collect();
    route::assign(&routes, &mut events);
    Ok(Becomes { events, lacks: scheme.lacks(&verified), challenge: None })
}

/// Tells a person.
fn tell(becomes: &Becomes, proof: Option<&Proof>) -> anyhow::Result<()> {
    match proof {
        Some(Proof { secret: Some(n), .. }) => {
            out::remark(&format!("the sender is proven, by secret {n} of the source"));
        }
        Some(Proof { proven: false, reason: Some(reason), .. }) => {
            out::remark(&format!("the sender is not proven: {reason}; it would be answered 401"));
        }
        _ => {}
    }
    if let Some(answer) = &becomes.challenge {
        return out::text(&format!("no event: it is the sender's question, answered `{answer}`"));
    }
    if becomes.events.is_empty() {
        out::remark("no events");
        return Ok(());
    }
    let head = ["KIND", "ROUTES", "LANE", "ELEMENT", "KEY", "WEAK KEY", "UNREADABLE"];
    out::text(&table(&head, &becomes.samples().map(Sample::row).collect::<Vec<_>>()))?;
    for (n, sample) in becomes.samples().enumerate() {
        if let Some(why) = sample.unreadable {
            out::remark(&format!("event {}: {why}: its tasks would be dead on arrival", n + 1));
        } else if !sample.missing.is_empty() {
            let missing = sample.missing.iter().map(|part| format!("`{part}`"));
            let missing = missing.collect::<Vec<_>>().join(", ");
            out::remark(&format!("event {}: its key is a hash, for want of {missing}", n + 1));
        }
    }
    let weak = becomes.events.iter().filter(|event| event.weak_key).count();
    if weak > 0 {
        out::remark(&format!(
            "{} of {} known by nothing but the bytes of this request",
            weak,
            counted(becomes.events.len(), "event")
        ));
    }
    Ok(())
}

impl Becomes {
    fn samples(&self) -> impl Iterator<Item = Sample<'_>> {
        let lacks = self.lacks.iter().map(Vec::as_slice).chain(std::iter::repeat(&[][..]));
        self.events.iter().zip(lacks).map(|(event, missing)| Sample::of(event, missing))
    }
}

/// An event as a program reads it.
#[derive(Serialize)]
struct Sample<'a> {
    id: String,
    key: &'a str,
    kind: &'a str,
    lane: Option<&'a str>,
    priority: Priority,
    sent_at: Option<String>,
    element: &'a str,
    weak_key: bool,
    /// The parts of its key that it lacks.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    missing: &'a [String],
    unreadable: Option<&'static str>,
    routes: Vec<&'a str>,
}

impl<'a> Sample<'a> {
    fn of(event: &'a NewEvent, missing: &'a [String]) -> Self {
        Self {
            id: event.id.to_string(),
            key: event.key.as_str(),
            kind: event.kind.as_str(),
            lane: event.lane.as_ref().map(Lane::as_str),
            priority: event.priority,
            sent_at: event.sent_at.map(|at| at.to_string()),
            element: &event.element,
            weak_key: event.weak_key,
            missing,
            unreadable: event.unreadable,
            routes: event.tasks.iter().map(|task| &*task.route).collect(),
        }
    }

    fn row(self) -> Vec<String> {
        let or_none = |text: &str| if text.is_empty() { "-".to_owned() } else { text.to_owned() };
        vec![
            self.kind.to_owned(),
            or_none(&self.routes.join(", ")),
            or_none(self.lane.unwrap_or_default()),
            or_none(self.element),
            self.key.to_owned(),
            if self.weak_key { "yes" } else { "no" }.to_owned(),
            or_none(self.unreadable.unwrap_or_default()),
        ]
    }
}
