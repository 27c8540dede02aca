//! Chaos on Redis: three nodes under load on a server that flushes each write, while nodes and server are
//! killed and the network breaks; each acked event is handled to its end, and by one claim at a time.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use hookonce::store::redis::{RedisOptions, RedisStore};
use hookonce::store::{EventDetails, Filter, Store as _};
use jiff::{Timestamp, ToSpan as _};

use super::fleet::Fleet;
use super::load::{self, Sent};
use super::network::Held;
use crate::crash::chance::{Chance, number};
use crate::crash::sender::SECRET;
use crate::crash::sink::{Effect, Sink};
use crate::crash::wait_until;
use crate::engine::{EACH_TO_DISK, Redis};

/// How many nodes there are, and how many senders, each with a connection to each node.
const NODES: usize = 3;
const SENDERS: u64 = 6;
/// How long the chaos lasts, if nobody says otherwise.
const SECONDS: u64 = 12;
/// The longest time that a trouble lasts: longer than a lease. And the longest quiet after it.
const TROUBLE: Duration = Duration::from_millis(3500);
const QUIET: Duration = Duration::from_millis(800);
/// The lease of a claim, in seconds.
const LEASE: i64 = 2;
/// How many events are read at once.
const PAGE: usize = 500;

/// Fails when an ack or a claim does not wait for the server's answer, or a write forgets its token.
#[test]
fn whatever_breaks_each_acked_event_is_handled_to_its_end_and_by_one_claim_at_a_time() {
    let mut chance = Chance::new();
    let server = Redis::start(&EACH_TO_DISK);
    let sink = Sink::start(|_| 200);
    let config = config(&sink.url);
    let store = "redis://127.0.0.1:PORT/0";
    let nodes = Fleet::new(&config, vec![vec![]; NODES], server.port(), store);
    nodes.all_up();
    let is_over = AtomicBool::new(false);
    let until = Instant::now() + Duration::from_secs(number("HOOKONCE_SECONDS").unwrap_or(SECONDS));
    let mut sent = Sent::default();
    let mut had = BTreeMap::<&str, u32>::new();
    thread::scope(|scope| {
        let senders: Vec<_> = (0..SENDERS)
            .map(|name| {
                let random = chance.random.fork();
                let (nodes, is_over) = (&nodes, &is_over);
                scope.spawn(move || load::post(nodes, name, random, is_over))
            })
            .collect();
        // Nobody waits for senders that go on, should a trouble fail.
        let over = load::Over(&is_over);
        while Instant::now() < until {
            thread::sleep(chance.moment(QUIET));
            *had.entry(trouble(&nodes, &server, &mut chance)).or_default() += 1;
        }
        drop(over);
        for sender in senders {
            sent.add(sender.join().unwrap());
        }
    });
    eprintln!("troubles: {had:?}");
    let events = done(&server);
    check(&events, &sent, &sink.seen());
    assert!(sent.count() > 100, "there was hardly any load: {}", sent.count());
}

/// Makes trouble, and ends it.
fn trouble(nodes: &Fleet, server: &Redis, chance: &mut Chance) -> &'static str {
    let node = chance.random.usize(..NODES);
    let moment = chance.moment(TROUBLE);
    match chance.random.u8(..5) {
        0 => {
            nodes.kill(node);
            thread::sleep(moment / 4);
            nodes.up(node);
            "node killed"
        }
        1 | 2 => {
            server.restart();
            "server killed"
        }
        3 => {
            // Of all of them: nobody is there to take over.
            nodes.networks.iter().for_each(|network| network.hold(Held::All));
            thread::sleep(moment / 4);
            nodes.networks.iter().for_each(|network| network.hold(Held::Nothing));
            "all networks held up"
        }
        _ => {
            let held = if chance.random.bool() { Held::All } else { Held::Answers };
            nodes.networks[node].hold(held);
            thread::sleep(moment);
            if chance.random.bool() {
                nodes.networks[node].cut();
            } else {
                nodes.networks[node].hold(Held::Nothing);
            }
            if held == Held::All { "network held up" } else { "answers held up" }
        }
    }
}

/// Everything in the store, oldest first, once nothing of it is left to do.
fn done(server: &Redis) -> Vec<EventDetails> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let store = RedisStore::open(RedisOptions::new(server.url()));
    let store = runtime.block_on(store).unwrap();
    let mut left = u64::MAX;
    while left > 0 {
        // More may have come in than is done within the limit of one wait.
        let before = left;
        wait_until("less is pending or claimed", || {
            let counts = runtime.block_on(store.counts()).unwrap();
            left = counts.pending + counts.claimed;
            left < before
        });
    }
    runtime.block_on(async {
        let mut filter = Filter::default();
        let mut all = Vec::new();
        loop {
            let page = store.walk(&filter, PAGE).await.unwrap();
            for event in page.events {
                all.push(store.get(event.event.id).await.unwrap().unwrap());
            }
            match page.next {
                Some(next) => filter.after = Some(next),
                None => return all,
            }
        }
    })
}

/// Checks that each event is completed and had its effect, that acks and completions of a lane are in the
/// same order, and that no claim was beside another of its task or lane. All by the server's clock.
fn check(events: &[EventDetails], sent: &Sent, effects: &[Effect]) {
    let mut attempts = 0;
    let mut lapsed = 0;
    // Of each lane: when something of it was claimed, and when that claim ended.
    let mut claims = HashMap::<&str, Vec<(Timestamp, Timestamp)>>::new();
    let mut completed = HashMap::<&str, Vec<(Timestamp, &str)>>::new();
    for details in events {
        let event = &details.summary.event;
        assert_eq!(details.summary.state, "completed", "{details:?}");
        let id = event.id.to_string();
        let seen = effects.iter().filter(|effect| effect.event_id == id).collect::<Vec<_>>();
        assert!(!seen.is_empty(), "no effect of {}", event.key);
        assert!(seen.iter().all(|effect| effect.key == seen[0].key), "{seen:?}");
        let lane = event.lane.as_deref().unwrap();
        for attempt in &details.attempts {
            attempts += 1;
            claims.entry(lane).or_default().push((attempt.started_at, attempt.ended_at));
            if attempt.outcome == "lapsed" {
                lapsed += 1;
                let least = attempt.started_at + LEASE.seconds();
                assert!(attempt.ended_at >= least, "a lease ended early: {attempt:?}");
            }
        }
        let ended: Vec<_> = details.attempts.iter().filter(|a| a.outcome == "completed").collect();
        assert_eq!(ended.len(), 1, "{details:?}");
        let message = event.key.rsplit(':').next().unwrap();
        completed.entry(lane).or_default().push((ended[0].ended_at, message));
    }
    for (lane, mut claims) in claims {
        claims.sort_unstable();
        for pair in claims.windows(2) {
            assert!(pair[1].0 >= pair[0].1, "two claims of the lane {lane} at once: {pair:?}");
        }
    }
    for (lane, acked) in sent.acked.iter().filter(|(_, acked)| !acked.is_empty()) {
        let name = lane.to_string();
        let (_, of_lane) = completed.iter_mut().find(|(lane, _)| lane.ends_with(&name)).unwrap();
        // Those of one millisecond are in the order of the store already.
        of_lane.sort_by_key(|(at, _)| *at);
        // What was sent last may be stored without an ack.
        let of_lane = of_lane.iter().map(|(_, message)| *message);
        let of_lane = of_lane.filter(|message| acked.iter().any(|acked| acked == message));
        assert_eq!(of_lane.collect::<Vec<_>>(), *acked, "the order of lane {lane}");
    }
    eprintln!(
        "{} events, {attempts} attempts: {lapsed} lapsed; {} calls; {} messages acked, {} requests not, \
         the longest answer took {:?}",
        events.len(),
        effects.len(),
        sent.count(),
        sent.refused,
        sent.longest
    );
}

fn config(sink: &str) -> String {
    format!(
        r#"
[server]
listen = "127.0.0.1:0"
[worker]
poll = "100ms"
[sources.whatsapp]
scheme = "meta"
secrets = ["{SECRET}"]
[[routes]]
name = "books"
steps = ["books"]
lease = "{LEASE}s"
max_attempts = 1000
retry_min = "50ms"
retry_max = "200ms"
[sinks.books]
type = "http"
url = "{sink}"
"#
    )
}
