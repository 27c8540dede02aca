//! What waits in the store: tasks that nobody handles, dead ones, lanes that are held, and whether
//! somebody works at all.

use hookonce::store::{EventSummary, Filter, RouteCounts, StateFilter, Store, StoreError};
use hookonce::task::{State, Task};
use jiff::{SignedDuration, Timestamp};

use super::Report;
use crate::config::Config;
use crate::out::counted;

/// How long a task may be due before nobody seems to work.
const OVERDUE: SignedDuration = SignedDuration::from_mins(5);
/// How many pages of events are looked at for one thing: enough for any store that is well.
const PAGES: usize = 20;
/// How many events a page has.
const PAGE: usize = 500;

/// Looks at what waits.
pub(super) async fn examine(config: &Config, store: &dyn Store, report: &mut Report) {
    if let Err(error) = look(config, store, report).await {
        report.wrong("tasks", format!("they can't be counted: {error}"));
    }
}

async fn look(config: &Config, store: &dyn Store, report: &mut Report) -> Result<(), StoreError> {
    let now = store.now().await?;
    let routes = store.routes().await?;
    for route in &routes {
        if config.routes.iter().any(|known| known.name == route.route) {
            dead(route, report);
        } else {
            gone(route, report);
        }
    }
    if routes.iter().all(|route| route.dead == 0) {
        report.fine("tasks", "no task is dead");
    } else {
        held(store, report).await?;
    }
    let counts = store.counts().await?;
    overdue(counts.oldest_due_at, now, report);
    if counts.claimed > 0 {
        lapsed(store, now, report).await?;
    }
    Ok(())
}

/// A route that the configuration no longer has: nobody handles its tasks.
fn gone(counts: &RouteCounts, report: &mut Report) {
    let RouteCounts { route, pending, claimed, dead } = counts;
    let message = format!(
        "the configuration no longer has route `{route}`, which has tasks: {pending} pending, \
         {claimed} claimed, {dead} dead; `hookonce replay --route {route} --to-route NAME` moves \
         them, `hookonce bury --route {route}` gives them up"
    );
    if pending + claimed > 0 {
        report.wrong("routes", message);
    } else {
        report.warning("routes", message);
    }
}

fn dead(counts: &RouteCounts, report: &mut Report) {
    let RouteCounts { route, dead, .. } = counts;
    if *dead > 0 {
        let message = format!(
            "dead: {} of route `{route}`; `hookonce list --state dead --route {route}` \
             shows what and why, `hookonce replay --state dead --route {route}` tries again",
            counted(*dead, "task")
        );
        report.warning("tasks", message);
    }
}

/// Lanes that wait for a person.
async fn held(store: &dyn Store, report: &mut Report) -> Result<(), StoreError> {
    let holds = |task: &Task| task.state == State::Dead && task.due_at.is_some();
    let (found, is_all) = count(store, State::Dead, holds).await?;
    if found > 0 {
        let least = if is_all { "" } else { "at least " };
        let message = format!(
            "held by a dead task until you act: {least}{}; `hookonce replay ID` tries it again, \
             `hookonce bury ID` lets its lane go on",
            counted(found, "lane")
        );
        report.warning("lanes", message);
    }
    Ok(())
}

fn overdue(oldest: Option<Timestamp>, now: Timestamp, report: &mut Report) {
    match oldest.map(|at| now.duration_since(at)) {
        Some(age) if age > OVERDUE => report.warning(
            "work",
            format!(
                "a task has been due for {} min: is `hookonce serve` running, and are its sinks up?",
                age.as_mins()
            ),
        ),
        Some(_) | None => report.fine("work", "no task has been due for long"),
    }
}

/// Claims whose worker is gone and that no janitor takes over.
async fn lapsed(store: &dyn Store, now: Timestamp, report: &mut Report) -> Result<(), StoreError> {
    let has_lapsed = |task: &Task| task.lease_until.is_some_and(|until| until < now);
    let (found, _) = count(store, State::Claimed, has_lapsed).await?;
    if found > 0 {
        let message = format!(
            "lapsed, and taken over by nobody: {}; a running `hookonce serve` does it within its \
             `worker.poll`",
            counted(found, "claim")
        );
        report.warning("claims", message);
    } else {
        report.fine("claims", "none has lapsed");
    }
    Ok(())
}

/// Counts tasks that are like this, of events with one in a state, the newest first; says whether it
/// came to the end.
async fn count(
    store: &dyn Store,
    state: State,
    is_so: impl Fn(&Task) -> bool,
) -> Result<(usize, bool), StoreError> {
    let mut filter = Filter { state: Some(StateFilter::Task(state)), ..Filter::default() };
    let mut found = 0;
    for _ in 0..PAGES {
        let page = store.list(&filter, PAGE).await?;
        let of = |event: &EventSummary| event.tasks.iter().filter(|task| is_so(task)).count();
        found += page.events.iter().map(of).sum::<usize>();
        match page.next {
            Some(next) => filter.after = Some(next),
            None => return Ok((found, true)),
        }
    }
    Ok((found, false))
}
