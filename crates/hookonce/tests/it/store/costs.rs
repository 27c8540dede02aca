//! What a claim costs does not grow with what waits. `benches/work.rs` measures it at full size.

use std::time::{Duration, Instant};

use hookonce::store::{ClaimOrder, Release};
use hookonce::task::Claim;

use crate::bed::{Bed, LEASE, for_route, new, order, store_test};

/// How much more a claim among many may cost: far less than looking at each of them would.
const RATIO: f64 = 3.0;

/// Stores `tasks` for a route, each in the lane that `lane` says.
async fn fill(bed: &Bed, route: &str, tasks: usize, lane: impl Fn(usize) -> String) {
    let at = bed.clock.now();
    let event = |n: usize| new(&format!("{route}{n}{}", lane(n))).lane(&lane(n)).routes(&[route]);
    for from in (0..tasks).step_by(500) {
        let batch = (from..tasks.min(from + 500)).map(|n| event(n).at(at)).collect();
        bed.store.insert(batch).await.unwrap();
    }
}

async fn claim(bed: &Bed, route: &str, limit: usize) -> Vec<Claim> {
    let order = ClaimOrder { routes: vec![for_route(route, LEASE)], ..order(limit) };
    bed.store.claim(order).await.unwrap()
}

/// The time of one claim of ten tasks at its best: what else the machine does only adds to it.
async fn least_time(bed: &Bed, route: &str) -> Duration {
    let mut least = Duration::MAX;
    for _ in 0..60 {
        let start = Instant::now();
        let claims = claim(bed, route, 10).await;
        least = least.min(start.elapsed());
        assert_eq!(claims.len(), 10);
        for claim in claims {
            bed.store.release(&claim, Release::at_once()).await.unwrap();
        }
    }
    least
}

store_test!(
    /// Fails without the index `hookonce_tasks_due`.
    a_claim_among_many_tasks_costs_what_it_costs_among_few,
    |bed: Bed| async move {
        fill(&bed, "few", 500, |n| format!("few{n}")).await;
        let few = least_time(&bed, "few").await;
        fill(&bed, "blocked", 5_000, |_| "one".to_owned()).await;
        assert_eq!(claim(&bed, "blocked", 10).await.len(), 1, "the head alone can be claimed");
        fill(&bed, "blocked", 500, |n| format!("other{n}")).await;
        let blocked = least_time(&bed, "blocked").await;
        fill(&bed, "many", 20_000, |n| format!("many{n}")).await;
        let many = least_time(&bed, "many").await;
        let ratio = |other: Duration| other.as_secs_f64() / few.as_secs_f64();
        let is_cheap = ratio(blocked) < RATIO && ratio(many) < RATIO;
        assert!(is_cheap, "few {few:?}, behind a lane {blocked:?}, many {many:?}");
    }
);
