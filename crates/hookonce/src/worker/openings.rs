//! How many tasks of each route could start now.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::time::Instant;

use super::Running;
use crate::gate::Gate;
use crate::route::{Route, RouteWorker};
use crate::store::ClaimRoute;

/// Of so many tasks at once, one is of an event that is not urgent, where there is any.
const KEPT_OF: usize = 8;

/// How many of so many places are kept for events that are not urgent: some, but never all, so that
/// neither can starve the other. Of a single place it is every eighth turn.
pub(super) fn kept(places: usize, turn: u64) -> usize {
    let has_turn = places > 1 || turn.is_multiple_of(KEPT_OF as u64);
    (places / KEPT_OF).max(usize::from(has_turn))
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
        let turns = own.len().max(1) as u64;
        own.rotate_left(usize::try_from(running.turn % turns).unwrap_or_default());
        let mut shares = HashMap::<*const Gate, Share>::new();
        for gate in own.iter().flat_map(|route| &route.steps) {
            let share = shares
                .entry(Arc::as_ptr(gate))
                .or_insert_with(|| Share { room: gate.free_places(), routes: 0 });
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
        let mut limit = usize::MAX;
        for gate in &route.steps {
            let Some(share) = shares.get_mut(&Arc::as_ptr(gate)) else { continue };
            if share.routes > 1 && gate.options().concurrency.is_some() {
                self.is_shared = true;
            }
            limit = limit.min(share.room.div_ceil(share.routes));
            share.routes -= 1;
        }
        if limit == 0 {
            self.is_narrow = true;
            return;
        }
        // The doors of later gates are found shut by those who come to them: the steps before are
        // done meanwhile.
        match route.steps.first().map_or(Ok(usize::MAX), |gate| gate.room(now)) {
            Ok(room) => limit = limit.min(room),
            Err(at) => {
                self.at = Some(self.at.map_or(at, |before| before.min(at)));
                return;
            }
        }
        for gate in &route.steps {
            if let Some(share) = shares.get_mut(&Arc::as_ptr(gate)) {
                share.room -= limit.min(share.room);
            }
        }
        let lower = running.lower_by_route.get(&route.name).copied().unwrap_or_default();
        let reserve = route.capacity().map_or(0, |capacity| kept(capacity, running.turn));
        self.routes.push(ClaimRoute {
            name: route.name.clone(),
            lease: route.lease,
            limit,
            reserve: reserve.saturating_sub(lower).min(limit),
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
    use super::kept;

    #[test]
    fn a_place_is_kept_for_what_is_not_urgent_wherever_there_are_two() {
        let cases = [(2, 1), (7, 1), (15, 1), (16, 2), (64, 8)];
        assert_eq!(cases.map(|(places, _)| (places, kept(places, 3))), cases);
        let of_one: usize = (0..80).map(|turn| kept(1, turn)).sum();
        assert_eq!(of_one, 10);
    }
}
