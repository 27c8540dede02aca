//! What events take of Redis's memory: while they wait, once they are completed, and once their payloads
//! are pruned, so that only keys and history are left.

use std::time::Duration;

use hookonce::store::Retention;
use hookonce::task::Outcome;

use crate::place::{Place, fill};
use crate::{CYCLE, LANES, order};

/// Beside this, so that a key is kept while its payload isn't.
const KEPT: Duration = Duration::from_secs(30 * 24 * 3600);

pub(crate) async fn measure(events: usize) {
    let place = Place::open("redis").await;
    let server = place.redis.as_ref().expect("it is on a server of its own");
    let memory = || {
        let mut connection = server.client().get_connection().expect("the server answers");
        // What proves a call goes by itself after a minute, or ten.
        for proof in ["*:call:*", "*:claims:*"] {
            let keys: Vec<String> =
                redis::cmd("KEYS").arg(proof).query(&mut connection).expect("it lists keys");
            for keys in keys.chunks(1000) {
                redis::cmd("DEL").arg(keys).exec(&mut connection).expect("it deletes them");
            }
        }
        let said: String =
            redis::cmd("INFO").arg("memory").query(&mut connection).expect("it says");
        let used = said.lines().find_map(|line| line.trim().strip_prefix("used_memory:"));
        used.and_then(|used| used.parse::<u64>().ok()).expect("it says how much")
    };
    let store = &*place.store;
    let empty = memory();
    let print = |what: &str| {
        let each = memory().saturating_sub(empty) as f64 / events as f64;
        // Bytes an event are megabytes a million.
        println!("redis: memory of a million events {what}: {each:.0} MB (of {events} measured)");
    };
    fill(store, events, |n| format!("lane{}", n % LANES)).await;
    print("that wait");
    let mut finished = 0;
    while finished < events {
        let claims = store.claim(order(CYCLE)).await.expect("the store claims");
        let finish = claims.iter().map(|claim| store.finish(claim, &Outcome::Completed));
        futures_util::future::try_join_all(finish).await.expect("the claims hold");
        finished += claims.len();
    }
    print("that are completed");
    // What was completed a moment ago is not yet older than nothing.
    tokio::time::sleep(Duration::from_millis(10)).await;
    let retention = Retention { payload: Duration::ZERO, dead: KEPT, key: KEPT };
    while store.prune(&retention, 1000).await.expect("the store prunes").more {}
    print("without payload, of which keys and history are kept");
}
