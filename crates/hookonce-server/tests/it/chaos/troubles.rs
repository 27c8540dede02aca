//! Chaos: three nodes under load, and one trouble after the other, in random turn.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use super::history;
use super::load::{self, Sent};
use super::network::Held;
use super::nodes::Nodes;
use crate::crash::chance::{Chance, number};

/// How many nodes there are, and how many senders, each with a connection to each node.
const NODES: usize = 3;
const SENDERS: u64 = 6;
/// How long the chaos lasts, if nobody says otherwise.
const SECONDS: u64 = 12;
/// The longest time that a trouble lasts: longer than a lease. And the longest quiet after it.
const TROUBLE: Duration = Duration::from_millis(3500);
const QUIET: Duration = Duration::from_millis(800);

#[test]
fn whatever_breaks_each_acked_event_has_its_effect_once_and_in_order() {
    let mut chance = Chance::new();
    let nodes = Nodes::start(NODES, "");
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
            *had.entry(trouble(&nodes, &mut chance)).or_default() += 1;
        }
        drop(over);
        for sender in senders {
            sent.add(sender.join().unwrap());
        }
    });
    eprintln!("troubles: {had:?}");
    nodes.wait_until_done();
    history::check(&nodes, &sent);
    assert!(sent.count() > 100, "there was hardly any load: {}", sent.count());
}

/// Makes trouble, and ends it.
fn trouble(nodes: &Nodes, chance: &mut Chance) -> &'static str {
    let node = chance.random.usize(..NODES);
    let moment = chance.moment(TROUBLE);
    match chance.random.u8(..6) {
        0 => {
            nodes.kill(node);
            thread::sleep(moment / 4);
            nodes.up(node);
            "killed"
        }
        1 => {
            nodes.postgres.stop("immediate");
            thread::sleep(moment / 4);
            nodes.postgres.up();
            "server stopped"
        }
        2 => {
            let part = chance.random.u8(1..4);
            nodes.sql().run(&format!(
                "select pg_terminate_backend(pid) from pg_stat_activity \
                 where application_name = 'hookonce' and pid % 4 < {part}"
            ));
            "connections cut"
        }
        3 => {
            // Of all of them: nobody is there to take over.
            nodes.networks.iter().for_each(|network| network.hold(Held::All));
            thread::sleep(moment / 4);
            nodes.networks.iter().for_each(|network| network.hold(Held::Nothing));
            "all networks held up"
        }
        kind => {
            let held = if kind == 4 { Held::All } else { Held::Answers };
            let network = &nodes.networks[node];
            network.hold(held);
            thread::sleep(moment);
            match chance.random.u8(..3) {
                0 => network.hold(Held::Nothing),
                1 => network.cut(),
                _ => {
                    // A node that is killed meanwhile: its connections end late.
                    nodes.kill(node);
                    network.hold(Held::Nothing);
                    nodes.up(node);
                }
            }
            if held == Held::All { "network held up" } else { "answers held up" }
        }
    }
}
