//! Which of the due tasks an order gets: for the stores that look at them before they claim.
//!
//! The most urgent first, but for the places that are kept for the others; sources take turns, and of
//! the others history has every eighth, so that nothing that waits is starved by what comes.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::ClaimOrder;

/// Of so many tasks that are not urgent, one is of the least urgent, where there is any.
const LEAST_OF: usize = 8;

/// A task that is due.
#[derive(Debug, Clone)]
pub(super) struct Due<T> {
    /// Since when, as the store counts.
    pub(super) at: T,
    /// The number of its event.
    pub(super) seq: i64,
    /// Its place among the order's routes.
    pub(super) route: usize,
    /// 0 is the most urgent.
    pub(super) priority: i64,
    /// Its event's source.
    pub(super) source: Arc<str>,
}

/// Whose turn it is: what was served so far.
#[derive(Debug, Default)]
pub(super) struct Turn {
    /// The source that was served last, by priority: the next claim begins after it.
    sources: BTreeMap<i64, Arc<str>>,
    /// How many tasks were served that are not urgent.
    lower: usize,
}

/// The places that an order has, in all and by route.
struct Places<'a, T> {
    order: &'a ClaimOrder,
    picked: Vec<Due<T>>,
    /// By route: how many were picked.
    taken: Vec<usize>,
}

impl<T> Places<'_, T> {
    fn is_full(&self) -> bool {
        self.picked.len() >= self.order.limit
    }

    fn pick(&mut self, task: Due<T>) {
        if !self.is_full() && self.taken[task.route] < self.order.routes[task.route].limit {
            self.taken[task.route] += 1;
            self.picked.push(task);
        }
    }

    /// Whether a place is kept for this task, which is not among the most urgent ones.
    fn is_kept_for(&self, task: &Due<T>) -> bool {
        let for_all = self.picked.len() < self.order.reserve;
        for_all || self.taken[task.route] < self.order.routes[task.route].reserve
    }
}

/// Picks tasks for the order's places: first those that are not urgent and that places are kept for,
/// then the most urgent.
pub(super) fn pick<T: Ord + Copy>(
    due: Vec<Due<T>>,
    turn: &mut Turn,
    order: &ClaimOrder,
) -> Vec<Due<T>> {
    let mut places = Places { order, picked: Vec::new(), taken: vec![0; order.routes.len()] };
    let mut priorities = BTreeMap::<i64, Vec<Due<T>>>::new();
    for task in due {
        priorities.entry(task.priority).or_default().push(task);
    }
    let mut lines = priorities.into_iter().map(|(priority, tasks)| {
        let last = turn.sources.get(&priority).map_or("", |source| source);
        (priority, in_turn(tasks, last))
    });
    let mut urgent = VecDeque::new();
    let mut lower = Vec::new();
    for (priority, line) in lines.by_ref() {
        if priority == 0 { urgent = line } else { lower.push(line) }
    }
    let mut rest = Vec::new();
    for task in mixed(lower, turn.lower) {
        if places.is_kept_for(&task) { places.pick(task) } else { rest.push(task) }
    }
    let kept = places.picked.len();
    urgent.into_iter().chain(rest).for_each(|task| places.pick(task));
    // What is most urgent is also started first.
    places.picked.rotate_left(kept);
    for task in &places.picked {
        turn.lower = turn.lower.wrapping_add(usize::from(task.priority > 0));
        turn.sources.insert(task.priority, task.source.clone());
    }
    places.picked
}

/// One line of the sources' tasks, a task of each source in turn; the source after the one that was
/// served last comes first, whichever has the older ones.
fn in_turn<T: Ord + Copy>(tasks: Vec<Due<T>>, last: &str) -> VecDeque<Due<T>> {
    let mut sources = BTreeMap::<Arc<str>, Vec<Due<T>>>::new();
    for task in tasks {
        sources.entry(task.source.clone()).or_default().push(task);
    }
    let start = sources.keys().position(|source| **source > *last).unwrap_or(0);
    let mut ring: Vec<VecDeque<Due<T>>> = sources
        .into_values()
        .map(|mut tasks| {
            tasks.sort_by_key(|task| (task.at, task.seq));
            tasks.into()
        })
        .collect();
    ring.rotate_left(start);
    let mut line = VecDeque::new();
    while ring.iter().any(|tasks| !tasks.is_empty()) {
        line.extend(ring.iter_mut().filter_map(VecDeque::pop_front));
    }
    line
}

/// One line of those that are not urgent: by priority, but every eighth is of the last of them, counted
/// on from those that were `served` before.
fn mixed<T>(mut lines: Vec<VecDeque<Due<T>>>, served: usize) -> Vec<Due<T>> {
    let mut mixed = Vec::new();
    while lines.iter().any(|line| !line.is_empty()) {
        let n = served.wrapping_add(mixed.len());
        let is_for_the_least = n % LEAST_OF == LEAST_OF - 1;
        let mut order: Vec<_> = lines.iter_mut().collect();
        if is_for_the_least {
            order.reverse();
        }
        mixed.extend(order.into_iter().find_map(VecDeque::pop_front));
    }
    mixed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::ClaimRoute;
    use crate::task::Token;

    fn order(limit: usize, reserve: usize) -> ClaimOrder {
        let route = ClaimRoute {
            name: "r".into(),
            lease: std::time::Duration::ZERO,
            limit: usize::MAX,
            reserve: 0,
        };
        let (token, worker) = (Token::from_bytes([0; 16]), "w".into());
        ClaimOrder { token, worker, routes: vec![route], limit, reserve }
    }

    fn due(priority: i64, source: &str, n: i64) -> Vec<Due<i64>> {
        let task = |seq| Due { at: seq, seq, route: 0, priority, source: source.into() };
        (0..n).map(task).collect()
    }

    /// A worker that claims one at a time, and keeps every ninth place for what is not urgent.
    fn claims(due: &[Due<i64>], n: usize) -> Vec<Due<i64>> {
        let mut turn = Turn::default();
        let one =
            |n: usize| pick(due.to_vec(), &mut turn, &order(1, usize::from(n.is_multiple_of(9))));
        (0..n).flat_map(one).collect()
    }

    #[test]
    fn sources_take_turns_at_every_priority() {
        let due = [due(0, "x", 9), due(1, "a", 9), due(1, "b", 9), due(1, "c", 9)].concat();
        let claims = claims(&due, 270);
        let of = |source: &str| claims.iter().filter(|task| *task.source == *source).count();
        assert_eq!([of("x"), of("a"), of("b"), of("c")], [240, 10, 10, 10]);
    }

    #[test]
    fn history_is_not_starved_by_statuses_with_messages_or_without() {
        let statuses_and_history = [due(1, "a", 9), due(2, "a", 9)].concat();
        let least = |claims: &[Due<i64>]| claims.iter().filter(|task| task.priority == 2).count();
        assert_eq!(least(&claims(&statuses_and_history, 80)), 10);
        let all = [due(0, "a", 9), statuses_and_history].concat();
        assert_eq!(least(&claims(&all, 720)), 10);
    }
}
