//! Rounds: senders post, the program is killed at a random instant, and started again.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use super::chance::{Chance, rounds};
use super::sender::{Message, Sender, body};
use super::shop::{Settings, Shop};
use super::sink::Sink;
use crate::engine::{either, on_both};
use crate::program::Server;

on_both![
    whatever_was_acked_is_handled_once_though_the_program_is_killed_again_and_again,
    the_same_while_each_step_takes_200_ms,
    the_same_with_a_command_and_a_post_whose_copies_can_be_told,
];

/// Connections that post at the same time.
const CONNECTIONS: u64 = 8;
/// The longest time from the start of the program to its end.
const LONGEST: Duration = Duration::from_millis(500);

fn whatever_was_acked_is_handled_once_though_the_program_is_killed_again_and_again() {
    let mut chance = Chance::new();
    let shop = Shop::new(&Settings::default());
    let sent = Sent::default();
    run(&shop, &mut chance, &sent, rounds(12), u64::MAX);
    check(&shop, &sent);
}

fn the_same_while_each_step_takes_200_ms() {
    let mut chance = Chance::new();
    let sink = Sink::start(|_| {
        thread::sleep(Duration::from_millis(200));
        204
    });
    let shop = Shop::new(&Settings { url: Some(&sink.url), ..Settings::default() });
    let sent = Sent::default();
    run(&shop, &mut chance, &sent, rounds(8), 3);
    check(&shop, &sent);
    // What was posted twice carries the same key each time, and another event another one.
    let events: HashMap<_, _> = sink.seen().into_iter().map(|e| (e.key, e.event_id)).collect();
    assert!(events.iter().all(|(key, id)| *key == format!("{id}/books/reply")), "{events:?}");
    assert_eq!(events.len(), shop.booked().len());
}

/// Fails where `StepContext::idempotency_key` changes with the attempt, and where a step is recorded
/// before it is run (`record_step` above `step.run` in `attempt::one`).
fn the_same_with_a_command_and_a_post_whose_copies_can_be_told() {
    let mut chance = Chance::new();
    let sink = Sink::start(|_| 204);
    // A line is one write to the end of the file, so that none breaks another.
    let script = r#"cat > /dev/null; sleep 0.02; echo "$IDEMPOTENCY_KEY $CE_ID" >> effects"#;
    let settings = Settings { url: Some(&sink.url), script: Some(script), ..Settings::default() };
    let shop = Shop::new(&settings);
    let sent = Sent::default();
    run(&shop, &mut chance, &sent, rounds(8), 3);
    check(&shop, &sent);
    let effects = shop.place.read("effects");
    let commands = effects.lines().map(|line| line.split_once(' ').unwrap());
    let commands: Vec<_> = commands.map(|(key, id)| (key.to_owned(), id.to_owned())).collect();
    let posts: Vec<_> = sink.seen().into_iter().map(|e| (e.key, e.event_id)).collect();
    for (step, seen) in [("reply", posts), ("script", commands)] {
        let count = seen.len();
        let events: HashMap<_, _> = seen.into_iter().collect();
        let is_right = |(key, id): (&String, &String)| *key == format!("{id}/books/{step}");
        assert!(events.iter().all(is_right), "{events:?}");
        // All that was booked went through the step before; `check` has shown that all is booked.
        assert_eq!(events.len(), shop.booked().len(), "{step}");
        eprintln!("{step}: {} events, {} copies", events.len(), count - events.len());
    }
}

/// Kills the program so many times, then lets it finish. A connection posts up to `requests` a
/// round.
fn run(shop: &Shop, chance: &mut Chance, sent: &Sent, rounds: u64, requests: u64) {
    for round in 0..rounds {
        eprintln!("round {} of {rounds}: {} messages acked", round + 1, sent.acked());
        let moment = chance.moment(LONGEST);
        if chance.random.u8(..) < 32 {
            // Killed while it starts, perhaps.
            let starting = Server::start(&mut shop.place.command(&["serve"]));
            thread::sleep(moment / 4);
            drop(starting);
            continue;
        }
        let server = shop.serve();
        let is_down = AtomicBool::new(false);
        thread::scope(|scope| {
            for n in 0..CONNECTIONS {
                let random = chance.random.fork();
                let name = format!("{round}.{n}");
                let (url, is_down) = (&server.url, &is_down);
                scope.spawn(move || post(url, random, sent, &name, requests, is_down));
            }
            thread::sleep(moment);
            server.send("KILL");
            is_down.store(true, Ordering::Relaxed);
        });
    }
    let _server = shop.serve();
    shop.wait_until_done();
}

/// Posts new messages, batches and copies until the program is killed.
fn post(
    url: &str,
    mut random: fastrand::Rng,
    sent: &Sent,
    name: &str,
    requests: u64,
    is_down: &AtomicBool,
) {
    let mut sender = Sender::new(url);
    for request in 0..requests {
        let messages = sent.next(&mut random, &format!("wamid.{name}.{request}"));
        match sender.post(&body(&messages)) {
            Ok(answer) => {
                assert_eq!(answer.status, 200, "{}", answer.body);
                sent.note_acked(&messages);
            }
            Err(_) if is_down.load(Ordering::Relaxed) => return,
            // The kill is noted just after it.
            Err(error) => super::wait_until(&format!("killed after {error}"), || {
                is_down.load(Ordering::Relaxed)
            }),
        }
        if is_down.load(Ordering::Relaxed) {
            return;
        }
    }
}

/// What was sent, and how often each message was acked.
#[derive(Default)]
struct Sent {
    all: Mutex<Vec<(Message, Tally)>>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    sent: u64,
    acked: u64,
}

impl Sent {
    /// What a request brings: new messages, earlier ones, or a batch of both.
    fn next(&self, random: &mut fastrand::Rng, id: &str) -> Vec<Message> {
        let mut all = self.all.lock().unwrap();
        let (new, copies) = match random.u8(0..10) {
            0..5 => (1, 0),
            5..7 => (0, random.usize(1..4)),
            _ => (random.usize(1..8), random.usize(0..4)),
        };
        let mut picked = vec![];
        for _ in 0..copies.min(all.len()) {
            let n = random.usize(..all.len());
            if !picked.contains(&n) {
                picked.push(n);
            }
        }
        for n in 0..new.max(usize::from(picked.is_empty())) {
            let message = Message::new(format!("{id}.{n}"), random.u64(0..16));
            picked.push(all.len());
            all.push((message, Tally::default()));
        }
        random.shuffle(&mut picked);
        let message = |n| {
            let (message, tally): &mut (Message, Tally) = &mut all[n];
            tally.sent += 1;
            message.clone()
        };
        picked.into_iter().map(message).collect()
    }

    fn note_acked(&self, messages: &[Message]) {
        let mut all = self.all.lock().unwrap();
        for message in messages {
            // Looked for from the end: most are recent.
            let known = all.iter_mut().rev().find(|(known, _)| known.id == message.id);
            known.unwrap().1.acked += 1;
        }
    }

    fn acked(&self) -> usize {
        self.all.lock().unwrap().iter().filter(|(_, tally)| tally.acked > 0).count()
    }
}

/// Checks that every acked event is stored once, completed and booked once, with every copy
/// counted, and that each conversation was booked in the order in which it was stored.
fn check(shop: &Shop, sent: &Sent) {
    let booked = shop.booked();
    let copies = shop.numbers(
        "select key, 1 + coalesce((select sum(n) from hookonce_arrivals a where a.seq = e.seq), 0)
         from hookonce_events e",
    );
    for (message, tally) in &*sent.all.lock().unwrap() {
        let id = &message.id;
        let copies = copies.get(&format!("message:106540352242922:{id}"));
        match (tally.acked, copies) {
            (0, None) => assert!(!booked.contains_key(id), "{id} is booked, but not stored"),
            (acked, None) => panic!("{id} was acked {acked} times and is not stored"),
            (_, Some(copies)) => {
                let possible = tally.acked.max(1)..=tally.sent;
                assert!(possible.contains(copies), "{id} has {copies} copies: {tally:?}");
                assert_eq!(booked.get(id), Some(&1), "how often {id} is booked");
            }
        }
    }
    let events = shop.number("select count(*) from hookonce_events");
    assert_eq!(shop.number("select count(distinct key) from hookonce_events"), events);
    assert_eq!(shop.states(), [("completed".to_owned(), events)].into());
    assert_eq!(shop.number("select count(*) from ledger"), events);
    let id = either("unhex(replace(l.event_id, '-', ''))", "cast(l.event_id as uuid)");
    // PostgreSQL commits in any order what overlaps in time: there the one before must have come so much
    // later that this one had its answer.
    let overtaken = either("1", "at_before > at + interval '3 s'");
    let disorder = format!(
        "select count(*) from (
          select e.seq < lag(e.seq) over same as is_late, e.received_at as at,
            lag(e.received_at) over same as at_before
          from ledger l join hookonce_events e on e.id = {id}
          window same as (partition by e.lane order by l.entry)
        ) q where is_late and {overtaken}"
    );
    assert_eq!(shop.number(&disorder), 0, "entries before an earlier one of their conversation");
    eprintln!("{events} events, {} messages acked", sent.acked());
}
