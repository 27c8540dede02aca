//! In which order what is sent how often, and in which way.

use std::collections::BTreeSet;

use fastrand::Rng;

/// A request of the plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Planned {
    /// Its events, by number.
    pub(super) events: Vec<usize>,
    pub(super) way: Way,
}

/// How a request is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// At once.
    Whole,
    /// Little by little.
    Slow,
    /// Cut off in its middle, and sent anew.
    Cut,
    /// Sent whole, its answer not waited for, and sent anew.
    Deaf,
}

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Order {
    pub(super) events: usize,
    pub(super) copies: usize,
    /// The most events in a request.
    pub(super) batch: usize,
    pub(super) calm: bool,
}

/// The requests that are sent at once, and those that are sent when they are answered.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) at_once: Vec<Planned>,
    pub(super) later: Vec<Planned>,
}

impl Plan {
    /// A plan by the dice.
    pub(super) fn draw(order: Order, dice: &mut Rng) -> Self {
        // A copy that comes later mends what was lost before it: half of the events have none.
        let (late, early): (Vec<usize>, Vec<usize>) = (0..order.events).partition(|_| dice.bool());
        let is_early: BTreeSet<usize> = early.into_iter().collect();
        // Copies of an event are near one another, so that they are under way together.
        let block = (order.batch * 2).max(16);
        let mut at_once = Vec::new();
        for from in (0..order.events).step_by(block) {
            let events = from..(from + block).min(order.events);
            let last = events.clone().filter(|event| is_early.contains(event)).collect();
            let mut block: Vec<Planned> = (1..order.copies)
                .flat_map(|_| planned(events.clone().collect(), order, dice))
                .collect();
            block.extend(planned(last, order, dice));
            dice.shuffle(&mut block);
            at_once.extend(block);
        }
        Self { at_once, later: planned(late, order, dice) }
    }

    /// How many requests there are.
    pub(super) fn len(&self) -> usize {
        self.at_once.len() + self.later.len()
    }
}

/// One copy of these events, in an order and in sizes of its own.
fn planned(mut left: Vec<usize>, order: Order, dice: &mut Rng) -> Vec<Planned> {
    dice.shuffle(&mut left);
    let mut planned = Vec::new();
    while !left.is_empty() {
        // Mostly few, as senders do, and now and then as many as there may be.
        let most = if dice.bool() { order.batch } else { order.batch.min(3) };
        let size = dice.usize(1..=most).min(left.len());
        let events = left.split_off(left.len() - size);
        let way = match dice.u8(0..20) {
            _ if order.calm => Way::Whole,
            0 | 1 => Way::Slow,
            2 => Way::Cut,
            3 => Way::Deaf,
            _ => Way::Whole,
        };
        planned.push(Planned { events, way });
    }
    planned
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;

    use super::{Order, Plan, Planned, Way};

    const ORDER: Order = Order { events: 100, copies: 4, batch: 7, calm: false };

    #[test]
    fn each_event_is_sent_as_often_as_was_asked_for_some_of_them_later() {
        let plan = Plan::draw(ORDER, &mut Rng::with_seed(1));
        let times = |planned: &[Planned], event| {
            planned
                .iter()
                .flat_map(|planned| &planned.events)
                .filter(|other| **other == event)
                .count()
        };
        let late = |event| times(&plan.later, event);
        for event in 0..100 {
            assert_eq!(times(&plan.at_once, event) + late(event), 4);
        }
        let late = (0..100).map(late).sum::<usize>();
        assert!((20..80).contains(&late), "{late}");
        assert!(plan.at_once.iter().all(|planned| (1..=7).contains(&planned.events.len())));
        for way in [Way::Whole, Way::Slow, Way::Cut, Way::Deaf] {
            assert!(plan.at_once.iter().any(|planned| planned.way == way), "{way:?}");
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_plan_and_calm_is_calm() {
        let [one, other] = [1, 1].map(|seed| Plan::draw(ORDER, &mut Rng::with_seed(seed)));
        assert_eq!(one.at_once, other.at_once);
        let calm = Plan::draw(Order { calm: true, ..ORDER }, &mut Rng::with_seed(1));
        assert!(calm.at_once.iter().chain(&calm.later).all(|planned| planned.way == Way::Whole));
    }
}
