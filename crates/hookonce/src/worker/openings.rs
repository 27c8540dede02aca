//! How many tasks of each route could start now.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::time::Instant;

use super::Running;
use crate::gate::Gate;
use crate::route::{Route, RouteWorker};
use crate::store::ClaimRoute;

/// Of so many tasks, one is of an event that is not urgent, where there is any.
const KEPT_OF: usize = 8;

/// What events that are not urgent have of some places: an eighth of them and of the claims, and
/// never less than one, so that neither sort can starve the other.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Lower {
    /// How many of them are being handled.
    running: usize,
    /// How many urgent ones are to be claimed before all of their places are kept again.
    debt: usize,
}

impl Lower {
    /// How many of so many places are kept for them now.
    pub(super) fn kept(self, places: usize) -> usize {
        let most = Self::most(places);
        let earned = (most * KEPT_OF).saturating_sub(self.debt) / KEPT_OF;
        earned.min(most.saturating_sub(self.running))
    }

    /// Notes a claim of one of so many places. What they get where nothing is urgent is no debt beyond
    /// the places that are kept.
    pub(super) fn note_claim(&mut self, is_lower: bool, places: usize) {
        if is_lower {
            self.running += 1;
            self.debt = (self.debt + KEPT_OF).min(Self::most(places) * KEPT_OF);
        } else {
            self.debt = self.debt.saturating_sub(1);
        }
    }

    fn most(places: usize) -> usize {
        (places / KEPT_OF).max(1)
    }

    /// Notes that one of them has ended.
    pub(super) fn note_end(&mut self) {
        self.running = self.running.saturating_sub(1);
    }
}

/// The routes that tasks can be claimed for.
#[derive(Debug)]
pub(super) struct Openings<'a> {
    /// All routes there are.
    pub(super) all: &'a Arc<[Route]>,
    /// Those that have room, each with as much as it has.
    pub(super) routes: Vec<ClaimRoute>,
    /// Some route has no place free.
    pub(super) is_narrow: bool,
    /// Some gate is that of several routes, so that each was given a part of its room.
    pub(super) is_shared: bool,
    /// When the first of the gates lets somebody in again that lets nobody in now.
    pub(super) at: Option<Instant>,
}

/// How many places a route has of its own, if its steps limit them: behind a rate, some.
pub(super) fn places(route: &Route) -> Option<usize> {
    let has_rate = route.steps.iter().any(|gate| gate.options().rate.is_some());
    route.capacity().or(has_rate.then_some(KEPT_OF))
}

/// What is left of a gate's room, and for how many routes.
struct Share {
    room: usize,
    routes: usize,
}

impl<'a> Openings<'a> {
    /// Looks at every gate of the routes.
    pub(super) fn of(all: &'a Arc<[Route]>, running: &Running) -> Self {
        let now = Instant::now();
        let mut openings =
            Self { all, routes: Vec::new(), is_narrow: false, is_shared: false, at: None };
        let mut own: Vec<&Route> =
            all.iter().filter(|route| route.worker == RouteWorker::Own).collect();
        // Whichever comes first may get the only place of a gate that it shares.
        let turn = running.turn.checked_rem(own.len()).unwrap_or_default();
        own.rotate_left(turn);
        let mut shares = HashMap::<*const Gate, Share>::new();
        for gate in own.iter().flat_map(|route| &route.steps) {
            let share = shares
                .entry(Arc::as_ptr(gate))
                .or_insert_with(|| Share { room: gate.free_places(now), routes: 0 });
            share.routes += 1;
        }
        for route in own {
            openings.add(route, running, &mut shares, now);
        }
        openings
    }

    fn add(
        &mut self,
        route: &Route,
        running: &Running,
        shares: &mut HashMap<*const Gate, Share>,
        now: Instant,
    ) {
        // The doors of later gates are found shut by those who come to them: the steps before are
        // done meanwhile. A start is taken with the claim, behind whichever gate.
        let door = route.steps.first().map_or(Ok(usize::MAX), |gate| gate.door(now));
        let starts = route.steps.iter().map(|gate| gate.starts(now));
        let mut limit = match starts.chain([door]).collect::<Result<Vec<_>, _>>() {
            Ok(rooms) => rooms.into_iter().min().unwrap_or(usize::MAX),
            Err(at) => {
                self.at = Some(self.at.map_or(at, |before| before.min(at)));
                return;
            }
        };
        for gate in &route.steps {
            let Some(share) = shares.get_mut(&Arc::as_ptr(gate)) else { continue };
            self.is_shared |= share.routes > 1 && gate.is_limited();
            limit = limit.min(share.room.div_ceil(share.routes));
            share.routes -= 1;
        }
        if limit == 0 {
            self.is_narrow = true;
            return;
        }
        for gate in &route.steps {
            if let Some(share) = shares.get_mut(&Arc::as_ptr(gate)) {
                share.room -= limit.min(share.room);
            }
        }
        let lower = running.lower_by_route.get(&route.name).copied().unwrap_or_default();
        let places = places(route);
        self.routes.push(ClaimRoute {
            name: route.name.clone(),
            lease: route.lease,
            limit,
            reserve: places.map_or(0, |places| lower.kept(places).min(limit)),
        });
    }

    /// Whether some route was given as many claims as it had room for.
    pub(super) fn is_filled_by(&self, claims: &[Arc<str>]) -> bool {
        self.routes.iter().any(|route| {
            claims.iter().filter(|claimed| **claimed == route.name).count() >= route.limit
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_eighth_of_the_places_is_kept_for_what_is_not_urgent_and_at_least_one() {
        let cases = [(1, 1), (2, 1), (7, 1), (15, 1), (16, 2), (64, 8)];
        assert_eq!(cases.map(|(places, _)| (places, Lower::default().kept(places))), cases);
        let mut lower = Lower::default();
        for _ in 0..5 {
            lower.note_claim(true, 64);
        }
        assert_eq!(lower.kept(64), 3);
    }

    /// Else messages would have to pay for all statuses that were ever claimed.
    #[test]
    fn after_a_long_time_without_anything_urgent_places_are_kept_again_soon() {
        let mut lower = Lower::default();
        for _ in 0..1_000_000 {
            lower.note_claim(true, 8);
            lower.note_end();
        }
        assert_eq!(lower.kept(8), 0);
        for _ in 0..KEPT_OF {
            lower.note_claim(false, 8);
        }
        assert_eq!(lower.kept(8), 1);
    }

    /// However fast each is done, as behind a gate with a rate.
    #[test]
    fn of_the_claims_made_one_at_a_time_an_eighth_is_kept() {
        for places in [1, 8, 64] {
            let mut lower = Lower::default();
            let mut n = 0;
            for _ in 0..900 {
                let is_lower = lower.kept(places) > 0;
                lower.note_claim(is_lower, places);
                if is_lower {
                    n += 1;
                    lower.note_end();
                }
            }
            let more_at_first = places / KEPT_OF;
            assert!((98..=102 + more_at_first).contains(&n), "{n} of 900 with {places} places");
        }
    }
}
