//! What people and metrics ask for.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use jiff::Timestamp;
use serde::Serialize;

use super::rows::{self, Row, StoredState, StoredTask, strange};
use super::scope::{Apart, Ask, Scopes};
use super::script::{COUNTS, GET, PAGE, PROGRESS};
use crate::event::EventId;
use crate::store::way::Way;
use crate::store::{
    Counts, EventDetails, EventSummary, Filter, Page, Progress, RouteCounts, StateFilter,
    StoreError,
};
use crate::task::State;

/// How many rows a page looks at, and how many one script does, which keeps all others waiting.
const LOOKED: usize = 10_000;
const LOOKED_AT_ONCE: usize = 500;
/// Arrivals of the last hour are shown apart.
const APART: i64 = 60 * 60 * 1000;

#[derive(Serialize)]
struct AskedEvent {
    id: String,
}

#[derive(Serialize)]
struct AskedEvents {
    events: Vec<String>,
}

#[derive(Serialize)]
struct AskedPage<'a> {
    newest_first: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<i64>,
    looked: usize,
    limit: usize,
    /// Only such that have a dead task, which are few.
    dead: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<Vec<&'a str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lane: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    route: Option<&'a str>,
    /// A task's, `recorded` or `movable`.
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<&'static str>,
}

/// Gives one event with all that is known of it.
pub(super) async fn get(
    scopes: &Scopes,
    id: EventId,
    now: Timestamp,
) -> Result<Option<EventDetails>, StoreError> {
    let asked = AskedEvent { id: hex::encode(id.as_bytes()) };
    for scope in scopes.all().await? {
        let (payload, mut fields): (Option<String>, HashMap<String, String>) =
            scopes.run(&scope, &Ask::reading(&GET, &asked)).await?;
        if !fields.is_empty() {
            return details(&asked.id, payload, &mut fields, now).map(Some);
        }
    }
    Ok(None)
}

fn details(
    id: &str,
    payload: Option<String>,
    fields: &mut HashMap<String, String>,
    now: Timestamp,
) -> Result<EventDetails, StoreError> {
    let about = rows::json(fields.remove("about").as_deref())?;
    let mut state: StoredState = rows::json(fields.remove("state").as_deref())?;
    let mut routes = std::mem::take(&mut state.routes);
    let event = rows::event(id, about, state, None)?;
    routes.sort();
    let stored = rows::arrivals(fields.remove("arrivals").as_deref())?;
    let (copies, mismatches) = copies(&stored);
    let (mut tasks, mut attempts, mut steps) = (Vec::new(), Vec::new(), Vec::new());
    for route in &routes {
        let mut field = |name: &str| fields.remove(&format!("{name}:{route}"));
        tasks.push(rows::task(route, rows::json::<StoredTask>(field("task").as_deref())?)?);
        attempts.extend(rows::attempts(route, field("attempts").as_deref())?);
        steps.extend(rows::steps(route, field("steps").as_deref())?);
    }
    attempts.sort_by_key(|attempt| (attempt.started_at, attempt.epoch));
    let state = EventSummary::state_of(&tasks);
    let has_payload = payload.is_some();
    let summary = EventSummary { event, copies, mismatches, state, tasks, has_payload };
    let arrivals = rows::shown(stored, now.as_millisecond() - APART)?;
    Ok(EventDetails { summary, payload, attempts, steps, arrivals })
}

/// Gives a page of events.
pub(super) async fn list(
    scopes: &Scopes,
    filter: &Filter,
    way: Way,
    limit: usize,
) -> Result<Page, StoreError> {
    // By number and, should two scopes have given one twice, by id.
    let mut found = BTreeMap::new();
    // Beyond this number some scope was not looked at.
    let mut edge: Option<i64> = None;
    for scope in scopes.all().await? {
        if let Some(key) = &filter.key {
            // A key names one event in each scope; of a page after the one that showed them there is
            // nothing left.
            if filter.after.is_none() {
                let id = hex::encode(EventId::of(&scope, key).as_bytes());
                let asked = AskedPage { id: Some(id), ..asked(filter, way, 1) };
                let (_, rows): (String, Vec<Row>) =
                    scopes.run(&scope, &Ask::reading(&PAGE, &asked)).await?;
                take(&mut found, &rows)?;
            }
            continue;
        }
        let mut asked = asked(filter, way, limit);
        for _ in 0..LOOKED / LOOKED_AT_ONCE {
            let (next, rows): (String, Vec<Row>) =
                scopes.run(&scope, &Ask::reading(&PAGE, &asked)).await?;
            take(&mut found, &rows)?;
            asked.after = score(&next);
            asked.limit -= rows.len();
            if asked.after.is_none() || asked.limit == 0 {
                break;
            }
        }
        edge = match (edge, asked.after) {
            (Some(edge), Some(after)) => Some(way.nearer(edge, after)),
            (edge, after) => edge.or(after),
        };
    }
    let mut events: Vec<EventSummary> = found.into_values().collect();
    if way == Way::NewestFirst {
        events.reverse();
    }
    if let Some(edge) = edge {
        events.retain(|summary| way.nearer(summary.event.seq, edge) == summary.event.seq);
    }
    let is_cut = filter.key.is_none() && events.len() >= limit;
    if is_cut && let Some(last) = limit.checked_sub(1).map(|last| events[last].event.seq) {
        // The next page begins beyond a number, which two scopes may have given.
        let same = events[limit..].iter().take_while(|summary| summary.event.seq == last).count();
        events.truncate(limit + same);
    }
    let last = events.last().map(|summary| summary.event.seq);
    Ok(Page { events, next: if is_cut { last } else { edge } })
}

fn asked(filter: &Filter, way: Way, limit: usize) -> AskedPage<'_> {
    let state = filter.state.map(|state| match state {
        StateFilter::Task(state) => state.as_str(),
        StateFilter::Recorded => "recorded",
        StateFilter::Movable => "movable",
    });
    AskedPage {
        newest_first: way == Way::NewestFirst,
        after: filter.after,
        looked: LOOKED_AT_ONCE,
        limit,
        dead: filter.state == Some(StateFilter::Task(State::Dead)),
        id: None,
        source: filter.source.as_deref(),
        // `*` stands for any characters, every other for itself.
        kind: filter.kind.as_deref().map(|glob| glob.split('*').collect()),
        lane: filter.lane.as_deref(),
        route: filter.route.as_deref(),
        state,
    }
}

fn take(found: &mut BTreeMap<(i64, String), EventSummary>, rows: &[Row]) -> Result<(), StoreError> {
    for row in rows {
        let [id, has_payload, tasks, about, state, arrivals] = &row[..] else {
            return Err(strange());
        };
        let about = rows::json(about.as_deref())?;
        let state: StoredState = rows::json(state.as_deref())?;
        let stored: Vec<StoredTask> = rows::json(tasks.as_deref())?;
        let mut tasks = state
            .routes
            .iter()
            .zip(stored)
            .map(|(route, task)| rows::task(route, task))
            .collect::<Result<Vec<_>, _>>()?;
        tasks.sort_by(|a, b| a.route.cmp(&b.route));
        let event = rows::event(&rows::text(id.as_deref())?, about, state, None)?;
        let (copies, mismatches) = copies(&rows::arrivals(arrivals.as_deref())?);
        let state = EventSummary::state_of(&tasks);
        let has_payload = rows::number(has_payload.as_deref())? == 1;
        let summary = EventSummary { event, copies, mismatches, state, tasks, has_payload };
        found.insert((summary.event.seq, summary.event.id.to_string()), summary);
    }
    Ok(())
}

/// How often it arrived in all, and how often it differed.
fn copies(arrivals: &[rows::StoredArrival]) -> (u64, u64) {
    let sum = |mismatch_only: bool| {
        arrivals.iter().filter(|row| !mismatch_only || row.mismatch).map(|row| row.n).sum::<u64>()
    };
    (1 + sum(false), sum(true))
}

/// How far the handling of each event has come.
pub(super) async fn progress(
    scopes: &Scopes,
    events: &[EventId],
) -> Result<Vec<Progress>, StoreError> {
    let mut all = vec![None; events.len()];
    let known = scopes.all().await?;
    for (events, all) in events.chunks(LOOKED_AT_ONCE).zip(all.chunks_mut(LOOKED_AT_ONCE)) {
        let events = events.iter().map(|id| hex::encode(id.as_bytes())).collect();
        let asked = AskedEvents { events };
        let ask = async |scope: &Arc<str>| {
            let rows: Result<Vec<Option<(u64, u64)>>, _> =
                scopes.run(scope, &Ask::reading(&PROGRESS, &asked)).await;
            rows
        };
        let mut looks: FuturesUnordered<_> = known.iter().map(ask).collect();
        let mut apart = Apart::default();
        // Once all are found, a scope that gives no answer keeps nobody waiting.
        while all.iter().any(Option::is_none)
            && let Some(rows) = looks.next().await
        {
            for (progress, row) in all.iter_mut().zip(apart.note(rows).unwrap_or_default()) {
                *progress = progress.or(row.map(|(open, failures)| Progress { open, failures }));
            }
        }
        apart.unless(all.iter().all(Option::is_some))?;
    }
    Ok(all.into_iter().map(Option::unwrap_or_default).collect())
}

/// What is counted of all scopes: totals by `what:source`, live tasks by `state:route`.
#[derive(Default)]
struct Counted {
    oldest: Option<i64>,
    totals: BTreeMap<String, i64>,
    live: BTreeMap<String, i64>,
}

async fn counted(scopes: &Scopes) -> Result<Counted, StoreError> {
    let mut all = Counted::default();
    for scope in scopes.all().await? {
        let (oldest, totals, live): (String, HashMap<String, i64>, HashMap<String, i64>) =
            scopes.run(&scope, &Ask::reading(&COUNTS, &())).await?;
        all.oldest = [all.oldest, oldest.parse().ok()].into_iter().flatten().min();
        for (sum, part) in [(&mut all.totals, totals), (&mut all.live, live)] {
            for (name, n) in part {
                *sum.entry(name).or_default() += n;
            }
        }
    }
    Ok(all)
}

/// Counts events and tasks.
pub(super) async fn counts(scopes: &Scopes) -> Result<Counts, StoreError> {
    let Counted { oldest, totals, live } = counted(scopes).await?;
    let sum = |counts: &BTreeMap<String, i64>, word: &str| {
        let of_word = |name: &str| name.split_once(':').is_some_and(|(what, _)| what == word);
        let n: i64 = counts.iter().filter(|(name, _)| of_word(name)).map(|(_, n)| n).sum();
        u64::try_from(n).unwrap_or_default()
    };
    Ok(Counts {
        events: sum(&totals, "new"),
        pending: sum(&live, "pending"),
        claimed: sum(&live, "claimed"),
        completed: sum(&totals, "completed"),
        dead: sum(&live, "dead"),
        duplicates: sum(&totals, "duplicate") + sum(&totals, "mismatch"),
        unrouted: sum(&totals, "unrouted"),
        oldest_due_at: oldest.map(rows::time).transpose()?,
    })
}

/// Counts the live tasks of each route.
pub(super) async fn routes(scopes: &Scopes) -> Result<Vec<RouteCounts>, StoreError> {
    let mut routes = BTreeMap::<String, RouteCounts>::new();
    for (name, n) in counted(scopes).await?.live {
        let Some((state, route)) = name.split_once(':') else { continue };
        let Some(n) = u64::try_from(n).ok().filter(|n| *n > 0) else { continue };
        let counts = routes.entry(route.to_owned()).or_default();
        route.clone_into(&mut counts.route);
        match state {
            "pending" => counts.pending += n,
            "claimed" => counts.claimed += n,
            _ => counts.dead += n,
        }
    }
    Ok(routes.into_values().collect())
}

/// A score as the server writes it; a large one may have an exponent.
#[expect(clippy::cast_possible_truncation, reason = "a number of arrival is far below 2^53")]
fn score(text: &str) -> Option<i64> {
    text.parse().ok().or_else(|| text.parse::<f64>().ok().map(|score| score as i64))
}
