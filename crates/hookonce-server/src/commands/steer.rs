//! What a person does about many tasks: replay, rerun, bury, move to another route; by the ids of
//! their events or by a filter.

use std::num::NonZeroUsize;
use std::sync::Arc;

use anyhow::{anyhow, bail};
use hookonce::event::EventId;
use hookonce::route::Route;
use hookonce::steer::{Action, Effect, Steer, steer, steer_event};
use hookonce::store::{Moved, Store, StoreError};
use serde::Serialize;
use serde_json::Value;

use super::{audit, unless_interrupted};
use crate::cli::{BuryOptions, ReplayOptions, WhichOptions};
use crate::config::{Config, Place};
use crate::out::{self, Format, Progress, Reported};
use crate::wiring;

/// Makes tasks due again, or those of another route, or makes them at all.
pub(crate) async fn replay(
    place: &Place,
    options: &ReplayOptions,
    format: Format,
) -> anyhow::Result<()> {
    let config = Config::load_for_store(place)?;
    if let (true, Some(name)) = (options.unrouted, &options.which.filter.route) {
        configured(&config, name)?;
    }
    let action = match &options.to_route {
        Some(name) => Action::Reroute(configured(&config, name)?),
        None if options.unrouted => Action::Assign,
        None if options.rerun => Action::Rerun,
        None => Action::Replay,
    };
    let words = Words { command: "replay", done: "replayed" };
    let order = Order { words, action, which: &options.which, details: details(options)? };
    order.run(&config, format).await
}

/// Makes pending tasks dead, and lets the lanes of dead ones go on.
pub(crate) async fn bury(
    place: &Place,
    options: &BuryOptions,
    format: Format,
) -> anyhow::Result<()> {
    let config = Config::load_for_store(place)?;
    let words = Words { command: "bury", done: "buried" };
    let (action, which) = (Action::Bury, &options.which);
    Order { words, action, which, details: details(options)? }.run(&config, format).await
}

/// The words for a command.
struct Words {
    command: &'static str,
    done: &'static str,
}

/// What is to be done, to whose tasks.
struct Order<'a> {
    words: Words,
    action: Action,
    which: &'a WhichOptions,
    /// The options, for the audit.
    details: Value,
}

impl Order<'_> {
    async fn run(&self, config: &Config, format: Format) -> anyhow::Result<()> {
        let routes: Vec<Route> = config.routes.iter().map(wiring::route).collect();
        let store = wiring::open_existing(config).await?;
        let moved = if self.which.ids.is_empty() {
            self.by_filter(&*store, &routes, format).await?
        } else {
            self.by_ids(&*store, &routes).await?
        };
        self.say(moved, format)
    }

    async fn by_ids(&self, store: &dyn Store, routes: &[Route]) -> anyhow::Result<Moved> {
        // Of a list with a mistake in it, nothing is done.
        let mut would_be = Moved::default();
        let mut ids = Vec::new();
        for id in &self.which.ids {
            let id: EventId = id.trim().parse().map_err(|_| {
                anyhow!(
                    "`{id}` is no event id; `hookonce list --state dead` shows those to look at"
                )
            })?;
            let moved = self.one(store, routes, id, Effect::DryRun).await?;
            would_be += moved.ok_or_else(|| anyhow!("there is no event `{id}`"))?;
            ids.push(id);
        }
        if self.effect() == Effect::DryRun {
            return Ok(would_be);
        }
        self.audit(store).await?;
        let mut total = Moved::default();
        for id in ids {
            total += self.one(store, routes, id, Effect::Real).await?.unwrap_or_default();
        }
        Ok(total)
    }

    async fn one(
        &self,
        store: &dyn Store,
        routes: &[Route],
        id: EventId,
        effect: Effect,
    ) -> anyhow::Result<Option<Moved>> {
        let route = self.which.filter.route.as_deref();
        let moved = steer_event(store, routes, id, route, &self.action, effect).await;
        moved.map_err(|error| self.failed(&error))
    }

    async fn by_filter(
        &self,
        store: &dyn Store,
        routes: &[Route],
        format: Format,
    ) -> anyhow::Result<Moved> {
        let WhichOptions { limit, rate, .. } = *self.which;
        let (filter, action, effect) = (self.which.filter(), self.action.clone(), self.effect());
        let limit = limit.map(NonZeroUsize::get);
        let order = Steer { filter, action, limit, rate, effect };
        if effect == Effect::Real {
            self.audit(store).await?;
        }
        let mut so_far = Moved::default();
        let walk = async {
            let progress = self.progress(store, routes, &order, format).await?;
            let mut note = |moved: Moved| {
                so_far = moved;
                let message = format!("tasks {}, {} left as they are", self.words.done, moved.left);
                progress.note(moved.moved + moved.left, message);
            };
            steer(store, routes, &order, &mut note).await
        };
        match unless_interrupted(walk).await {
            Some(Ok(moved)) => Ok(moved),
            Some(Err(error)) => {
                out::remark(&self.sentence(so_far, "before it failed"));
                Err(self.failed(&error))
            }
            None => {
                let said = self.sentence(so_far, "before it was interrupted");
                out::remark(&format!(
                    "{said}; up to 100 more where a step was under way, all of it or nothing. The \
                     same command goes on from there"
                ));
                Err(Reported.into())
            }
        }
    }

    /// A bar that is as long as what is to be done, which has to be counted first.
    async fn progress(
        &self,
        store: &dyn Store,
        routes: &[Route],
        order: &Steer,
        format: Format,
    ) -> Result<Progress, StoreError> {
        let counting = Progress::spinner(format);
        if !counting.is_shown() || order.effect == Effect::DryRun {
            return Ok(counting);
        }
        let count = Steer { effect: Effect::DryRun, ..order.clone() };
        let mut note = |moved: Moved| counting.note(0, format!("{} tasks found", moved.moved));
        let all = steer(store, routes, &count, &mut note).await?;
        Ok(Progress::bar(format, all.moved + all.left))
    }

    fn effect(&self) -> Effect {
        if self.which.dry_run { Effect::DryRun } else { Effect::Real }
    }

    async fn audit(&self, store: &dyn Store) -> anyhow::Result<()> {
        audit(store, self.action.as_str(), &self.details).await
    }

    fn failed(&self, error: &StoreError) -> anyhow::Error {
        wiring::not_done(&format!("cannot {}", self.words.command), error)
    }

    fn sentence(&self, moved: Moved, when: &str) -> String {
        format!("{} {}, {} left as they are, {when}", moved.moved, self.words.done, moved.left)
    }

    fn say(&self, moved: Moved, format: Format) -> anyhow::Result<()> {
        let done = self.words.done;
        let Moved { moved, left } = moved;
        if format == Format::Json {
            return out::json(&serde_json::json!({ done: moved, "left": left }));
        }
        out::text(&match self.effect() {
            Effect::Real => format!("{moved} {done}, {left} left as they are"),
            Effect::DryRun => {
                format!("{moved} would be {done}, {left} would be left as they are")
            }
        })
    }
}

/// The name of a route that the configuration has.
fn configured(config: &Config, name: &str) -> anyhow::Result<Arc<str>> {
    if config.routes.iter().any(|route| route.name == name) {
        return Ok(name.into());
    }
    let names: Vec<&str> = config.routes.iter().map(|route| route.name.as_str()).collect();
    bail!("there is no route `{name}` in the configuration; there are: {}", names.join(", "))
}

/// The options that were given, those that were not left out.
fn details(options: &impl Serialize) -> anyhow::Result<Value> {
    let mut details = serde_json::to_value(options)?;
    if let Some(given) = details.as_object_mut() {
        let is_given = |value: &Value| match value {
            Value::Null | Value::Bool(false) => false,
            Value::Array(list) => !list.is_empty(),
            _ => true,
        };
        given.retain(|_, value| is_given(value));
    }
    Ok(details)
}
