//! Which routes want an event, and how each of them handles it.

use std::sync::Arc;
use std::time::Duration;

use crate::event::{Event, Kind, NewEvent, NewTask};
use crate::gate::Gate;
use crate::retry::RetryPolicy;

/// A rule: events of these sources and kinds go through these steps.
#[derive(Debug, Clone)]
pub struct Route {
    /// Its name; tasks are known by it.
    pub name: Arc<str>,
    /// The sources it takes; `None` for all.
    pub sources: Option<Vec<String>>,
    /// Globs of the kinds it takes; `None` for all.
    pub kinds: Option<Vec<String>>,
    /// What is done, in order; nothing where workers outside do it.
    pub steps: Vec<Arc<Gate>>,
    /// Who handles its tasks.
    pub worker: RouteWorker,
    /// How long a claim lasts unless it is extended.
    pub lease: Duration,
    /// After how many attempts a task is dead.
    pub max_attempts: u32,
    /// Tasks of one lane run one after another.
    pub order: Order,
    /// When to try again and when to give up.
    pub retry: RetryPolicy,
}

/// Whether a route keeps the order of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// One task of a lane at a time, in order of arrival.
    #[default]
    Lane,
    /// Any number at a time.
    None,
}

/// Who handles a route's tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RouteWorker {
    /// A [`Worker`](crate::worker::Worker), by the route's steps.
    #[default]
    Own,
    /// Programs outside, which claim by themselves.
    External,
}

impl Route {
    /// A route of this name that takes everything and does nothing, with the default policy.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self {
            name: name.into(),
            sources: None,
            kinds: None,
            steps: Vec::new(),
            worker: RouteWorker::Own,
            lease: Duration::from_secs(60),
            max_attempts: 24,
            order: Order::Lane,
            retry: RetryPolicy::default(),
        }
    }

    /// How many of its tasks can be handled at once, if there is a limit: that of its narrowest step.
    pub fn capacity(&self) -> Option<usize> {
        self.steps.iter().filter_map(|gate| gate.options().concurrency).min()
    }

    /// Whether the route wants the event. What can't be read is wanted by every route that takes
    /// its source, whatever the kinds, so that somebody sees it.
    pub fn takes(&self, event: &NewEvent) -> bool {
        self.wants(&event.source, event.kind.as_str(), event.unreadable.is_some())
    }

    /// Whether the route wants an event that was stored before, by the same rule.
    pub fn takes_stored(&self, event: &Event) -> bool {
        self.wants(&event.source, &event.kind, event.kind == Kind::unreadable().as_str())
    }

    /// The task that an event gets which the route wants.
    pub fn task(&self) -> NewTask {
        NewTask {
            route: self.name.clone(),
            max_attempts: self.max_attempts,
            ordered: self.order == Order::Lane,
        }
    }

    fn wants(&self, source: &str, kind: &str, is_unreadable: bool) -> bool {
        let takes_source =
            self.sources.as_ref().is_none_or(|names| names.iter().any(|name| name == source));
        let takes_kind = self
            .kinds
            .as_ref()
            .is_none_or(|globs| globs.iter().any(|glob| glob_matches(glob, kind)));
        takes_source && (takes_kind || is_unreadable)
    }
}

/// Gives each event a task for every route that takes it.
pub fn assign(routes: &[Route], events: &mut [NewEvent]) {
    for event in events {
        event.tasks = routes.iter().filter(|route| route.takes(event)).map(Route::task).collect();
    }
}

/// Whether a kind can be what `glob` says: it has only a-z, 0-9, _ and `.`, and `*` stands for any of
/// them.
pub fn is_kind_glob(glob: &str) -> bool {
    let can_match =
        |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '.' | '*');
    !glob.is_empty() && glob.chars().all(can_match)
}

/// Whether `text` is what `glob` says, where a `*` stands for any characters, none included.
pub fn glob_matches(glob: &str, text: &str) -> bool {
    let Some((head, rest)) = glob.split_once('*') else { return glob == text };
    let Some(mut text) = text.strip_prefix(head) else { return false };
    let mut parts = rest.split('*').peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return text.ends_with(part);
        }
        let Some(at) = text.find(part) else { return false };
        text = &text[at + part.len()..];
    }
    true
}

#[cfg(test)]
mod tests {
    use super::glob_matches;

    #[test]
    fn a_star_stands_for_any_characters() {
        for glob in ["*", "message.*", "message.text", "*.text", "m*.t*t", "mess*age.text"] {
            assert!(glob_matches(glob, "message.text"), "{glob}");
        }
        for glob in ["", "message", "message.", "status.*", "*.tex", "m*x*x", "message.text.*"] {
            assert!(!glob_matches(glob, "message.text"), "{glob}");
        }
    }
}
