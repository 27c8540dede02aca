//! A transaction that somebody holds open, after any of the SQL functions or with rows or lanes locked,
//! delays no ack but that of the very key it is storing, and no other lane.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::nodes::Nodes;
use crate::crash::chance::number;
use crate::crash::sender::{Message, Sender, body};
use crate::crash::wait_until;
use crate::engine::Connection;

/// How many seconds each transaction is held open, if nobody says otherwise.
const HELD: u64 = 2;
/// What an ack, or another lane's turn, takes at most on a machine that is busy.
const NORMAL: Duration = Duration::from_secs(1);
/// Until a node says that it could not store something, with what a busy machine takes.
const REFUSED: Duration = Duration::from_millis(3500);

/// What is done about a claim in the transaction; `claim` stands for its three arguments.
const CALLS: [&str; 6] = [
    "finish(claim)",
    "retry(claim, 'error')",
    "bury(claim, 'error')",
    "release(claim, interval '0')",
    "extend(claim, interval '60 s')",
    "record_step(claim, 'step', '1')",
];

/// What else a transaction may have done.
const LOCKS: [&str; 6] = [
    "select hookonce.claim('careless', '{outside}', interval '60 s', 1)",
    "select hookonce.receive('whatsapp', 'key', 'outside.x', 'held', '{}')",
    "select count(*) from (select 1 from hookonce.tasks for update) t",
    "select count(*) from (select 1 from hookonce.events for update) e",
    "select hookonce.lock_lane(lane_id) from hookonce.tasks where route = 'outside' limit 64",
    "select pg_advisory_xact_lock(('x' || right(lane_id::text, 12))::bit(48)::bigint) \
     from hookonce.tasks where route = 'outside' limit 64",
];

#[test]
fn a_transaction_that_is_held_open_delays_no_ack_and_no_other_lane() {
    let stage = Stage::start();
    for (n, call) in CALLS.iter().enumerate() {
        let lane = format!("held{n}");
        stage.receive(&format!("first{n}"), &lane);
        let claim = stage.claim();
        let [id, route, token] = ["id", "route", "token"].map(|name| claim[name].as_str().unwrap());
        let call = call.replace("claim", &format!("'{id}', '{route}', '{token}'"));
        stage.receive(&format!("second{n}"), &lane);
        stage.hold(&format!("select hookonce.{call}"));
        if call.starts_with("extend") || call.starts_with("record_step") {
            stage.finish(&claim);
        }
        stage.work_off();
    }
    for (n, lock) in LOCKS.iter().enumerate() {
        stage.receive(&format!("locked{n}"), &format!("locked{n}"));
        stage.hold(lock);
        stage.work_off();
    }
}

/// Fails where a request with the key is put into a batch with others again and again.
#[test]
fn the_very_key_that_a_transaction_is_storing_is_refused_in_time_and_acked_after() {
    let stage = Stage::start();
    let careless = stage.nodes.sql();
    let key = "message:106540352242922:wamid.HELD";
    careless.run(&format!(
        "begin; select hookonce.receive('whatsapp', '{key}', 'message.text', '1', '{{}}')"
    ));
    let url = stage.nodes.url(0).unwrap();
    let held = body(&[Message::new("wamid.HELD", 1)]);
    let post = || Sender::new(&url).post(&held).unwrap();
    thread::scope(|scope| {
        // As often as a sender would, and more.
        let refused: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    let begun = Instant::now();
                    let answer = post();
                    assert_eq!(answer.status, 503, "{answer:?}");
                    assert!(begun.elapsed() < REFUSED, "{:?}", begun.elapsed());
                })
            })
            .collect();
        stage.post_for(Duration::from_secs(number("HOOKONCE_HELD").unwrap_or(HELD)));
        for refused in refused {
            refused.join().unwrap();
        }
    });
    careless.run("commit");
    wait_until("it is acked", || post().status == 200);
    stage.work_off();
}

/// A node, a worker in SQL, and what they have to do.
struct Stage {
    worker: Connection,
    nodes: Nodes,
}

impl Stage {
    fn start() -> Self {
        let nodes = Nodes::start(1, "");
        Self { worker: nodes.sql(), nodes }
    }

    fn receive(&self, key: &str, lane: &str) {
        self.worker.run(&format!(
            "select hookonce.receive('whatsapp', '{key}', 'outside.x', '{lane}', '{{}}')"
        ));
    }

    /// Claims a task as a worker does.
    fn try_claim(&self) -> Option<Value> {
        let claim = "select row_to_json(c) from \
                     hookonce.claim('tester', '{outside}', interval '60 s', 1) c";
        self.worker.texts(claim).pop().map(|claim| serde_json::from_str(&claim).unwrap())
    }

    /// Claims the task that is due: not at once where the node is at its lane at that moment.
    fn claim(&self) -> Value {
        let mut claim = None;
        wait_until("a task is due", || {
            claim = self.try_claim();
            claim.is_some()
        });
        claim.unwrap()
    }

    fn finish(&self, claim: &Value) {
        let [id, route, token] = ["id", "route", "token"].map(|name| claim[name].as_str().unwrap());
        self.worker.run(&format!("select hookonce.finish('{id}', '{route}', '{token}')"));
    }

    /// Holds a transaction open in which this was done, while others go on.
    fn hold(&self, statement: &str) {
        let careless = self.nodes.sql();
        careless.run(&format!("begin; {statement}"));
        eprintln!("held open: {statement}");
        self.post_for(Duration::from_secs(number("HOOKONCE_HELD").unwrap_or(HELD)));
        careless.run("commit");
    }

    /// Posts to other lanes and works in other lanes for a while, all of it within normal times.
    fn post_for(&self, time: Duration) {
        let quick = |what: &str, begun: Instant| {
            assert!(begun.elapsed() < NORMAL, "{what} took {:?}", begun.elapsed());
        };
        let sql = self.nodes.sql();
        let mut sender = Sender::new(&self.nodes.url(0).unwrap());
        let until = Instant::now() + time;
        while Instant::now() < until {
            let id = format!("wamid.{}", fastrand::u64(..));
            let begun = Instant::now();
            let messages: Vec<_> =
                (0..3).map(|n| Message::new(format!("{id}.{n}"), 100 + n)).collect();
            assert_eq!(sender.post(&body(&messages)).unwrap().status, 200);
            quick("an ack", begun);
            let booked = format!("select count(*) from ledger where message like '{id}.%'");
            let begun = Instant::now();
            wait_until("other lanes are handled", || sql.texts(&booked) == ["3"]);
            quick("another lane", begun);
            let begun = Instant::now();
            self.receive(&id, &id);
            self.finish(&self.claim());
            quick("another worker", begun);
        }
    }

    /// Waits until the node is done, and finishes what is left to workers outside.
    fn work_off(&self) {
        self.worker.run(
            "update hookonce.tasks set due_at = hookonce.clock() \
             where state = 'pending' and due_at is not null",
        );
        let open = "select count(*) from hookonce.tasks where state = 'pending'";
        wait_until("nothing is pending", || {
            while let Some(claim) = self.try_claim() {
                self.finish(&claim);
            }
            self.worker.texts(open) == ["0"]
        });
    }
}
