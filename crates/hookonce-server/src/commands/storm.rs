//! Fires signed requests at an endpoint as a bad day would, and counts afterwards whether each event has
//! had its effect exactly once.

mod body;
mod effects;
mod plan;
mod sender;
mod shape;
mod target;
mod verdict;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Error, anyhow, bail};
use fastrand::Rng;
use hookonce::event::EventId;
use hookonce::scheme::{Origin, Scheme};
use hookonce::store::Clock;
use tokio::process::Command;
use tokio::sync::oneshot;

use crate::cli::{StormCount, StormOptions, StormSender};
use crate::commands::unless_interrupted;
use crate::config::{Config, Place, SourceConfig};
use crate::out::{self, Format, Progress, Reported};
use crate::wiring;

use effects::{Counter, Effects, Names};
use plan::{Order, Plan};
use sender::{Sender, Tally};
use shape::Shape;
use target::Target;
use verdict::Storm;

pub(super) use verdict::Verdict;

/// How often effects are counted while they still come.
const LOOK: Duration = Duration::from_millis(500);
/// For how long nothing may change, once each event has its effect: a second one may come late. After a kill
/// it comes when a lease is over, which is a minute for most.
const STILL: Duration = Duration::from_secs(3);
const STILL_AFTER_A_KILL: Duration = Duration::from_secs(90);
/// The longest time that is sent, and that effects are waited for which still come.
const LONGEST: Duration = Duration::from_secs(3600);
/// How long the command in the midst may take.
const MIDWAY: Duration = Duration::from_secs(60);
/// What the source is called where there is no configuration.
const NAME: &str = "storm";

pub(crate) async fn run(
    place: &Place,
    options: &StormOptions,
    format: Format,
) -> anyhow::Result<()> {
    let midway = async {
        let Some(command) = &options.midway else { return Ok(()) };
        let running = Command::new("sh").args(["-c", command]).kill_on_drop(true).status();
        let ended = tokio::time::timeout(MIDWAY, running).await.map_err(|_| {
            anyhow!("the command of --midway has not ended after {MIDWAY:?}: let what it starts run by `&`")
        })?;
        let ended = ended.context("cannot run --midway")?;
        if ended.success() {
            Ok(())
        } else {
            Err(anyhow!("the command of --midway failed: {ended}"))
        }
    };
    let whole = storm(place, options, format, midway);
    let Some(verdict) = unless_interrupted(Box::pin(whole)).await else {
        bail!("broken off: nothing was counted")
    };
    let verdict = verdict?;
    match format {
        Format::Json => out::json(&verdict)?,
        Format::Text => out::text(&verdict.shown())?,
    }
    if verdict.is_right() { Ok(()) } else { Err(Reported.into()) }
}

/// Sends everything, has something happen in its midst, and judges by what is counted then.
pub(super) async fn storm(
    place: &Place,
    options: &StormOptions,
    format: Format,
    midway: impl Future<Output = anyhow::Result<()>>,
) -> anyhow::Result<Verdict> {
    let target = Target::find(&options.url, options.yes_really).await?;
    let (config, name) = config(place, &options.sender, &options.url)?;
    let source = config.source(&name).map_err(Error::msg)?;
    let scheme = wiring::scheme(&config, &name, source)?;
    let shape = shape(&options.sender, source)?;
    let seed = options.seed.unwrap_or_else(|| Rng::new().u64(..));
    let [events, copies, batch, connections] =
        [options.events, options.copies, options.batch, options.connections].map(small);
    let batch = if shape.holds_several() { batch } else { 1 };
    let order = Order { events, copies, batch, calm: options.calm };
    let plan = Plan::draw(order, &mut Rng::with_seed(seed));
    // A sender that is in no configuration is no source, whose events would have ids here.
    let ids = match &options.sender.source {
        Some(_) => ids((&config, &name, source), (&shape, &*scheme), events),
        None => Ok(Vec::new()),
    };
    let counter = counter(&options.count, &config, &ids).await?;
    let names = Names::new(shape.clone(), events, &ids.unwrap_or_default());
    let before = counter.count(&names).await?;
    let tally = Tally::of(events);
    let sender = Arc::new(Sender { target, scheme, shape, patience: options.wait, tally });

    let (begun, requests) = (Instant::now(), plan.len());
    let bar = Progress::bar(format, requests);
    let watched = async {
        loop {
            bar.note(sender.tally.done.load(Ordering::Relaxed), "requests");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    let firing = fire(&sender, plan, connections, midway);
    tokio::select! {
        fired = tokio::time::timeout(LONGEST, firing) => fired.map_err(|_| {
            anyhow!("not everything was sent after {LONGEST:?}: send less, or by more connections")
        })??,
        () = watched => {}
    }
    drop(bar);
    let took = begun.elapsed();
    let has_killed = options.midway.is_some();
    let still = options.still.unwrap_or(if has_killed { STILL_AFTER_A_KILL } else { STILL });
    let (after, still) =
        settled(&counter, &names, &before, Patience { wait: options.wait, still }, format).await?;
    Ok(Verdict::new(Storm { events, requests, took, still, seed }, &sender, &before, &after))
}

/// Sends everything; in its midst something else happens.
async fn fire(
    sender: &Arc<Sender>,
    plan: Plan,
    connections: usize,
    midway: impl Future<Output = anyhow::Result<()>>,
) -> anyhow::Result<()> {
    let (passed, is_midway) = oneshot::channel();
    let after = plan.len() / 4;
    let first = sender.fire(plan.at_once, connections, (after, passed));
    let beside = async {
        // Without a sender nothing was sent, and there is no midst.
        if is_midway.await.is_ok() { midway.await } else { Ok(()) }
    };
    tokio::try_join!(first, beside)?;
    let (passed, _) = oneshot::channel();
    sender.fire(plan.later, connections, (usize::MAX, passed)).await
}

/// For how long the count may stand still: while an event has no effect yet, and once each has one.
#[derive(Clone, Copy)]
struct Patience {
    wait: Duration,
    still: Duration,
}

/// Counts until nothing changes any more; says for how long it has not.
async fn settled(
    counter: &Counter,
    names: &Names,
    before: &Effects,
    patience: Patience,
    format: Format,
) -> anyhow::Result<(Effects, Duration)> {
    let sign = Progress::spinner(format);
    let begun = Instant::now();
    let (mut last, mut changed_at) = (before.clone(), begun);
    loop {
        match counter.count(names).await {
            Ok(now) if now != last => (last, changed_at) = (now, Instant::now()),
            // What counts may still be coming up again.
            Err(error) if changed_at.elapsed() >= patience.wait => return Err(error),
            _ => {}
        }
        let events = names.events as u64;
        let (n, is_whole) = match (&last, before) {
            (Effects::Each { each, .. }, _) => (each.iter().sum(), each.iter().all(|n| *n > 0)),
            (Effects::All(n), Effects::All(before)) => (*n, n.saturating_sub(*before) >= events),
            (Effects::All(n), Effects::Each { .. }) => (*n, *n >= events),
        };
        let limit = if is_whole { patience.still } else { patience.wait };
        if changed_at.elapsed() >= limit || begun.elapsed() >= LONGEST {
            return Ok((last, changed_at.elapsed()));
        }
        sign.note(0, format!("counting effects: {n}"));
        tokio::time::sleep(LOOK).await;
    }
}

/// The configuration with the source whose requests are sent, and its name.
fn config(place: &Place, sender: &StormSender, url: &str) -> anyhow::Result<(Config, String)> {
    if let Some(name) = &sender.source {
        return Ok((Config::load_for_store(place)?, name.clone()));
    }
    let (Some(scheme), Some(secret)) = (&sender.scheme, &sender.secret) else {
        bail!("say whose requests they are: --source NAME, or --scheme SCHEME and --secret SECRET");
    };
    // A sender signs the address it was given; what a request adds to it is its own.
    let public_url = url.split(['?', '#']).next().unwrap_or_default();
    Ok((Config::of_source(NAME, scheme, secret, public_url)?, NAME.to_owned()))
}

fn shape(sender: &StormSender, source: &SourceConfig) -> anyhow::Result<Shape> {
    let (run, time) = (Rng::new().u64(..), Clock::system().now().as_second());
    if let Some(file) = &sender.body {
        let read = std::fs::read_to_string(file);
        let template = read.with_context(|| format!("cannot read `{}`", file.display()))?;
        return Shape::of_template(template.trim_end(), run, time)
            .map_err(|error| anyhow!("`{}`: {error}", file.display()));
    }
    Shape::of_scheme(&source.scheme, run, time).ok_or_else(|| {
        let known: Vec<_> = Shape::names().collect();
        anyhow!(
            "nobody knows how requests of scheme `{}` look: give one with --body FILE; known are {}",
            source.scheme,
            known.join(", ")
        )
    })
}

/// The ids under which a source stores the events; none where it can't know them, for want of a body that it
/// takes for one event.
fn ids(
    (config, name, source): (&Config, &str, &SourceConfig),
    (shape, scheme): (&Shape, &dyn Scheme),
    events: usize,
) -> anyhow::Result<Vec<EventId>> {
    let open =
        SourceConfig { unverified: true, own: source.own.without_secrets(), ..source.clone() };
    let open = wiring::scheme(config, name, &open)?;
    let received_at = Clock::system().now();
    let origin = Origin { source: name.into(), scope: wiring::scope(name, source), received_at };
    effects::ids(shape, events, (&*open, scheme, &origin))
}

async fn counter(
    count: &StormCount,
    config: &Config,
    ids: &anyhow::Result<Vec<EventId>>,
) -> anyhow::Result<Counter> {
    if count.count_store {
        let ids = ids.as_ref().map_err(|error| anyhow!("--count-store: {error:#}"))?.clone();
        return Ok(Counter::Store { store: wiring::open_existing(config).await?, ids });
    }
    if let (Some(query), Some(database)) = (count.count_sql.clone(), &count.database) {
        let database = config.secret(database).map_err(|error| anyhow!("--database: {error}"))?;
        let database = database.expose().trim().to_owned();
        if ["postgres://", "postgresql://"].iter().any(|own| database.starts_with(own)) {
            return Ok(Counter::Postgres { url: database, query });
        }
        let file = database.strip_prefix("sqlite:").unwrap_or(&database).to_owned();
        if !Path::new(&file).is_file() {
            bail!("--database: there is no file `{file}`");
        }
        return Ok(Counter::Sqlite { file, query });
    }
    if let Some(url) = &count.count_url {
        return Ok(Counter::Url(Target::find(url, true).await.context("--count-url")?));
    }
    let command = count.count_cmd.clone();
    Ok(Counter::Command(command.context("say how effects are counted: --count-cmd, or another")?))
}

/// What the command line has bounded.
fn small(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use hookonce::scheme::{Origin, Request};
    use hookonce::store::Clock;

    use super::{Config, NAME, Shape, wiring};

    /// What is sent for each scheme is one event for each that is meant, known by an id and nothing else.
    #[test]
    fn every_shape_is_as_many_events_as_it_says() {
        for name in Shape::names() {
            let secret = "whsec_AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=";
            let config = Config::of_source(NAME, name, secret, "http://127.0.0.1:1/x").unwrap();
            let source = config.source(NAME).unwrap();
            let scheme = wiring::scheme(&config, NAME, source).unwrap();
            let shape = Shape::of_scheme(name, 1, Clock::system().now().as_second()).unwrap();
            let events: &[usize] = if shape.holds_several() { &[1, 2, 3] } else { &[1] };
            let body = shape.body(events);
            let url = "http://127.0.0.1:1/x";
            let at = Clock::system().now();
            let unsigned =
                hookonce::scheme::Unsigned { body: body.as_bytes(), url, id: "msg_1", at };
            let headers = scheme.sign(&unsigned).headers.into_iter();
            let headers =
                headers.map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
            let target = "/x".parse().unwrap();
            let request = Request { headers: headers.collect(), target, ..Request::of(body, at) };
            let verified = scheme.verify(request).unwrap_or_else(|why| panic!("{name}: {why:?}"));
            let origin =
                Origin { source: Arc::from(NAME), scope: Arc::from(NAME), received_at: at };
            let found = scheme.parse(&verified, &origin);
            assert_eq!(found.len(), events.len(), "{name}");
            for event in &found {
                assert!(
                    event.unreadable.is_none() && !event.weak_key,
                    "{name}: {}",
                    event.key.as_str()
                );
            }
        }
    }
}
