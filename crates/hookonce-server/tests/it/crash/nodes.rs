//! Two nodes on one database: copies at both, order over both, and one of them killed.

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Barrier, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use super::chance::{Chance, rounds};
use super::sender::{Message, Sender, body};
use super::shop::{Settings, Shop};
use crate::engine::on_postgres;

/// Connections that post at the same time.
const CONNECTIONS: usize = 16;

#[test]
fn fifty_posts_of_one_body_spread_over_two_nodes_are_one_event_and_one_effect() {
    on_postgres(|| {
        let shop = shop();
        let nodes = [shop.serve(), shop.serve()];
        let request = body(&[Message::new("wamid.ONE", 1)]);
        let ready = Barrier::new(50);
        let urls = nodes.each_ref().map(|node| node.url.clone());
        let post = |n: usize| {
            let mut sender = Sender::new(&urls[n % 2]);
            ready.wait();
            sender.post(&request).unwrap().status
        };
        let statuses: Vec<_> = thread::scope(|scope| {
            let post = &post;
            let posts: Vec<_> = (0..50).map(|n| scope.spawn(move || post(n))).collect();
            posts.into_iter().map(|post| post.join().unwrap()).collect()
        });
        assert_eq!(statuses, [200; 50]);
        shop.wait_until_done();
        let shown = shop.show("wamid.ONE");
        assert_eq!((&shown["copies"], &shown["state"]), (&50.into(), &"completed".into()));
        assert_eq!(shop.number("select count(*) from hookonce_events"), 1);
        assert_eq!(shop.number("select count(*) from ledger"), 1);
        assert_eq!(deadlocks(&shop), 0);
    });
}

/// Fails where `insert` writes the rows of a batch in another order than that of their ids: then there
/// are deadlocks.
#[test]
fn ten_thousand_messages_sent_three_times_in_shuffled_batches_have_one_effect_each() {
    const MESSAGES: u64 = 10_000;
    on_postgres(|| {
        let mut chance = Chance::new();
        let shop = shop();
        let nodes = [shop.serve(), shop.serve()];
        let bodies = bodies(&mut chance.random, MESSAGES);
        let requests = bodies.len();
        let urls = nodes.each_ref().map(|node| node.url.clone());
        let bodies = Mutex::new(bodies);
        let (mut new, mut duplicates) = (0, 0);
        for counts in at_once(|n| post_all(&urls[n % 2], &bodies)) {
            new += counts.0;
            duplicates += counts.1;
        }
        assert_eq!((new, duplicates), (MESSAGES, 2 * MESSAGES));
        shop.wait_until_done();
        assert_eq!(shop.number("select count(*) from hookonce_events"), MESSAGES);
        assert_eq!(shop.number("select count(distinct message) from ledger"), MESSAGES);
        assert_eq!(shop.number("select count(*) from ledger"), MESSAGES);
        assert_eq!(shop.states(), [("completed".to_owned(), MESSAGES)].into());
        let counts = shop.ask(&["stats"]);
        assert_eq!((&counts["events"], &counts["duplicates"]), (&new.into(), &duplicates.into()));
        assert_eq!(deadlocks(&shop), 0);
        eprintln!("{requests} requests");
    });
}

/// A conversation's next message is posted once the one before is acked, by either node; every third
/// brings copies of earlier ones along. Fails when `assign` in `route.rs` leaves `ordered` false.
#[test]
fn each_conversation_is_handled_in_the_order_of_its_acks_though_a_node_is_killed() {
    on_postgres(|| {
        let mut chance = Chance::new();
        let shop = shop();
        let mut nodes = [shop.serve(), shop.serve()];
        let urls = Mutex::new(nodes.each_ref().map(|node| node.url.clone()));
        let last = rounds(4);
        let is_over = AtomicBool::new(false);
        let acked: Vec<Vec<String>> = thread::scope(|scope| {
            let (urls, is_over) = (&urls, &is_over);
            let talks: Vec<_> = (0..CONNECTIONS)
                .map(|n| {
                    let random = chance.random.fork();
                    scope.spawn(move || talk(n, random, urls, is_over))
                })
                .collect();
            for _ in 0..last {
                thread::sleep(chance.moment(Duration::from_secs(2)));
                let victim = usize::from(chance.random.bool());
                nodes[victim].send("KILL");
                // Everybody goes on with the other one meanwhile.
                nodes[victim] = shop.serve();
                urls.lock().unwrap()[victim].clone_from(&nodes[victim].url);
            }
            is_over.store(true, Ordering::Relaxed);
            talks.into_iter().map(|talk| talk.join().unwrap()).collect()
        });
        shop.wait_until_done();
        let mut booked: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for line in shop.sql.texts("select sender || ' ' || message from ledger order by entry") {
            let (from, message) = line.split_once(' ').unwrap();
            booked.entry(from.to_owned()).or_default().push(message.to_owned());
        }
        for (n, acked) in acked.iter().enumerate() {
            assert!(booked[&n.to_string()] == *acked, "conversation {n}: handled as acked");
        }
        let handled: usize = acked.iter().map(Vec::len).sum();
        let lapsed = "select count(*) from hookonce_attempts where outcome = 'lapsed'";
        let lapsed = shop.number(lapsed);
        assert_eq!(shop.number("select count(*) from ledger"), handled as u64);
        assert_eq!(deadlocks(&shop), 0);
        eprintln!("{handled} messages, {last} kills, {lapsed} claims lapsed");
    });
}

/// Runs one task for each connection, and gives what they gave.
fn at_once<T: Send>(task: impl Fn(usize) -> T + Sync) -> Vec<T> {
    thread::scope(|scope| {
        let task = &task;
        let tasks: Vec<_> = (0..CONNECTIONS).map(|n| scope.spawn(move || task(n))).collect();
        tasks.into_iter().map(|task| task.join().unwrap()).collect()
    })
}

/// Requests that bring each message three times: twice at about the same time, so that batches on both
/// nodes have messages in common, and once at any time.
fn bodies(random: &mut fastrand::Rng, messages: u64) -> Vec<String> {
    const WINDOW: usize = 25;
    const LONGEST_BATCH: usize = 12;
    let near: Vec<u64> = (0..messages).collect();
    let mut far = near.clone();
    random.shuffle(&mut far);
    let mut all = vec![];
    for (near, far) in near.chunks(WINDOW).zip(far.chunks(WINDOW)) {
        let mut window = [near, near, far].concat();
        random.shuffle(&mut window);
        all.extend(window);
    }
    let mut bodies = vec![];
    while !all.is_empty() {
        let rest = all.len() - random.usize(1..=LONGEST_BATCH).min(all.len());
        let message = |n: u64| Message::new(format!("wamid.{n}"), n % 500);
        bodies.push(body(&all.split_off(rest).into_iter().map(message).collect::<Vec<_>>()));
    }
    bodies
}

/// A shop whose database looks for deadlocks sooner than any statement gives up waiting for a lock:
/// else there would be none to count.
fn shop() -> Shop {
    let shop = Shop::new(&Settings::default());
    shop.sql.run(
        "do $$ begin execute format('alter database %I set deadlock_timeout = %L', \
         current_database(), '10ms'); end $$",
    );
    shop
}

/// Posts bodies over one connection as long as there are some; gives how many events were new, and
/// how many duplicates.
fn post_all(url: &str, bodies: &Mutex<Vec<String>>) -> (u64, u64) {
    let mut sender = Sender::new(url);
    let (mut new, mut duplicates) = (0, 0);
    loop {
        let Some(body) = bodies.lock().unwrap().pop() else { return (new, duplicates) };
        let answer = sender.post(&body).unwrap();
        assert_eq!(answer.status, 200, "{}", answer.body);
        let counts: Value = serde_json::from_str(&answer.body).unwrap();
        new += counts["new"].as_u64().unwrap();
        duplicates += counts["duplicates"].as_u64().unwrap();
    }
}

/// Posts the messages of one conversation one after another, each until it is acked, at either node;
/// gives their ids in that order.
fn talk(
    from: usize,
    mut random: fastrand::Rng,
    urls: &Mutex<[String; 2]>,
    is_over: &AtomicBool,
) -> Vec<String> {
    let mut acked: Vec<String> = vec![];
    while !is_over.load(Ordering::Relaxed) {
        let id = format!("wamid.{from}.{}", acked.len());
        let mut ids = HashSet::from([id.clone()]);
        if random.u8(0..3) == 0 && !acked.is_empty() {
            ids.extend((0..3).map(|_| acked[random.usize(..acked.len())].clone()));
        }
        let messages: Vec<_> =
            ids.into_iter().map(|id| Message::new(id, from.try_into().unwrap())).collect();
        let request = body(&messages);
        let mut answer = None;
        super::wait_until("the message is acked", || {
            let url = urls.lock().unwrap()[usize::from(random.bool())].clone();
            answer = Sender::new(&url).post(&request).ok();
            answer.is_some()
        });
        let answer = answer.unwrap();
        assert_eq!(answer.status, 200, "{}", answer.body);
        acked.push(id);
    }
    acked
}

/// How many deadlocks the server has found in the shop's database.
fn deadlocks(shop: &Shop) -> u64 {
    let deadlocks = "select deadlocks from pg_stat_database where datname = current_database()";
    shop.number(deadlocks)
}
