//! Which tasks of an event are meant, and whether they would be moved.

use std::sync::Arc;

use jiff::Timestamp;

use super::{Action, Effect};
use crate::event::EventId;
use crate::route::Route;
use crate::store::{EventSummary, Filter, Moved, StateFilter, Store, StoreError};
use crate::task::{NewTask, State, Task, TaskId};

/// A task that is meant.
#[derive(Debug)]
pub(super) struct Choice {
    event_id: EventId,
    task: Chosen,
    /// It would be moved, as far as is known of it.
    moves: bool,
}

/// What is known of a task that is meant.
#[derive(Debug)]
enum Chosen {
    /// It is there, of this route and in this state.
    There(Arc<str>, State),
    /// It is to be made.
    New(NewTask),
}

/// Chooses the tasks that are meant.
#[derive(Debug)]
pub(super) struct Chooser<'a> {
    action: &'a Action,
    routes: &'a [Route],
    /// What tasks become that are moved to another route.
    to: Option<NewTask>,
    /// The route whose tasks alone are meant.
    route: Option<&'a str>,
    /// The state in which alone tasks are meant.
    state: Option<State>,
    now: Timestamp,
}

impl<'a> Chooser<'a> {
    pub(super) async fn new(
        store: &dyn Store,
        routes: &'a [Route],
        action: &'a Action,
        filter: &'a Filter,
    ) -> Result<Self, StoreError> {
        let to = match action {
            Action::Reroute(name) => {
                let route = routes.iter().find(|route| route.name == *name);
                Some(route.ok_or_else(|| unknown(name))?.task())
            }
            _ => None,
        };
        let state = match filter.state {
            Some(StateFilter::Task(state)) => Some(state),
            _ => None,
        };
        let now = store.now().await?;
        Ok(Self { action, routes, to, route: filter.route.as_deref(), state, now })
    }

    /// The filter for the events to be walked over.
    pub(super) fn walked(&self, filter: &Filter) -> Filter {
        let filter = filter.clone();
        let own = match self.action {
            // Only an event that has no task at all is without a route.
            Action::Assign => {
                return Filter { state: Some(StateFilter::Recorded), route: None, ..filter };
            }
            Action::Rerun => StateFilter::Task(State::Completed),
            Action::Replay | Action::Bury | Action::Reroute(_) => StateFilter::Movable,
        };
        Filter { state: filter.state.or(Some(own)), ..filter }
    }

    /// The tasks of an event that are meant by a walk: those in the state that was asked for, or
    /// else those that are in one the action is for.
    pub(super) fn meant(&self, event: &EventSummary) -> Vec<Choice> {
        if *self.action == Action::Assign {
            return self.all(event);
        }
        let is_meant = |task: &&Task| match self.state {
            Some(state) => task.state == state,
            None if *self.action == Action::Rerun => task.state == State::Completed,
            None => self.is_for(task),
        };
        self.choices(event, event.tasks.iter().filter(is_meant))
    }

    /// Every task of an event, of one route or of all.
    pub(super) fn all(&self, event: &EventSummary) -> Vec<Choice> {
        if *self.action == Action::Assign && event.tasks.is_empty() {
            return self.to_be_made(event);
        }
        self.choices(event, event.tasks.iter())
    }

    /// Moves what was chosen, or only counts it.
    pub(super) async fn act(
        &self,
        store: &dyn Store,
        choices: Vec<Choice>,
        effect: Effect,
    ) -> Result<Moved, StoreError> {
        let mut moved = Moved::default();
        if effect == Effect::DryRun {
            for choice in &choices {
                moved.note(choice.moves);
            }
            return Ok(moved);
        }
        let (mut tasks, mut completed, mut new) = (Vec::new(), Vec::new(), Vec::new());
        for Choice { event_id, task, .. } in choices {
            match task {
                Chosen::New(task) => new.push((event_id, task)),
                Chosen::There(route, State::Completed) if *self.action == Action::Rerun => {
                    completed.push(TaskId { event_id, route });
                }
                Chosen::There(route, _) => tasks.push(TaskId { event_id, route }),
            }
        }
        if !new.is_empty() {
            moved += store.assign(&new).await?;
        }
        if !completed.is_empty() {
            moved += store.rerun(&completed).await?;
        }
        if tasks.is_empty() {
            return Ok(moved);
        }
        moved += match (self.action, &self.to) {
            (Action::Replay | Action::Rerun, _) => store.replay(&tasks).await?,
            (Action::Bury, _) => store.bury(&tasks).await?,
            (Action::Reroute(_), Some(to)) => store.reroute(&tasks, to).await?,
            // It has its tasks already.
            (Action::Assign | Action::Reroute(_), _) => Moved { moved: 0, left: tasks.len() },
        };
        Ok(moved)
    }

    fn choices<'b>(
        &self,
        event: &EventSummary,
        tasks: impl Iterator<Item = &'b Task>,
    ) -> Vec<Choice> {
        let mut choices = Vec::new();
        // Of the tasks of one event, one alone can become that of another route.
        let mut is_free = self.to.as_ref().is_none_or(|to| !has_task(event, &to.route));
        for task in tasks.filter(|task| self.route.is_none_or(|route| route == task.route)) {
            let has_what_it_needs = event.has_payload || *self.action == Action::Bury;
            let moves = self.is_for(task) && has_what_it_needs && is_free;
            if moves && self.to.is_some() {
                is_free = false;
            }
            let there = Chosen::There(task.route.as_str().into(), task.state);
            choices.push(Choice { event_id: event.event.id, task: there, moves });
        }
        choices
    }

    /// The tasks that an event without any gets.
    fn to_be_made(&self, event: &EventSummary) -> Vec<Choice> {
        let takes = |route: &&Route| {
            self.route.is_none_or(|name| *name == *route.name) && route.takes_stored(&event.event)
        };
        let choice = |route: &Route| Choice {
            event_id: event.event.id,
            task: Chosen::New(route.task()),
            moves: event.has_payload,
        };
        self.routes.iter().filter(takes).map(choice).collect()
    }

    /// Whether the action is for a task that stands like this one.
    fn is_for(&self, task: &Task) -> bool {
        let is_dead = task.state == State::Dead;
        let is_pending = task.state == State::Pending;
        let waits_for_its_time = is_pending && task.due_at.is_some_and(|at| at > self.now);
        match self.action {
            Action::Replay => is_dead || waits_for_its_time,
            Action::Rerun => is_dead || waits_for_its_time || task.state == State::Completed,
            Action::Bury => is_pending || (is_dead && task.due_at.is_some()),
            Action::Assign => false,
            Action::Reroute(to) => (is_dead || is_pending) && **to != *task.route,
        }
    }
}

fn has_task(event: &EventSummary, route: &str) -> bool {
    event.tasks.iter().any(|task| task.route == route)
}

fn unknown(route: &str) -> StoreError {
    StoreError::Unsupported(
        format!("there is no route `{route}` to move tasks to; name one of the configuration")
            .into(),
    )
}
