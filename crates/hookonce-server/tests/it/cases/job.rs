//! JOB: claims, leases and attempts. Leases are as long as a busy machine may stall, for one that
//! lapses without need is an attempt more.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::bot::{Bot, DONE, Gate};
use super::client::{Client, signed};
use super::stand::{Stand, message, texts, until};
use crate::engine::on_both;
use crate::program::send;

on_both![
    job_01_a_claim_of_a_process_that_died_in_its_handler_is_taken_over,
    job_03_a_worker_that_comes_back_after_its_lease_writes_nothing,
    job_07_an_event_that_kills_its_process_dies_after_its_attempts_and_holds_up_no_other,
    job_13_a_stop_finishes_what_it_can_and_loses_nothing,
];

/// Between claim and handler, and between handler and completion, a process dies in the library's
/// test of this case.
fn job_01_a_claim_of_a_process_that_died_in_its_handler_is_taken_over() {
    let gate = Gate::default();
    let held = gate.clone();
    let bot = Bot::start(move |call| {
        if call.n == 1 {
            held.pass();
        }
        DONE
    });
    let mut stand = Stand::bot(&bot, "lease = \"1s\"");
    assert_eq!(stand.send("JOB-01").counts(), (1, 0));
    bot.called(1);
    let claimed = Instant::now();
    stand.kill();
    stand.start();
    assert_eq!(stand.send("JOB-01").counts(), (0, 1), "a copy changes nothing");
    bot.called(2);
    // The lease, a poll and the first delay are 1.1 s together; the rest is the machine's.
    assert!(claimed.elapsed() < Duration::from_secs(4), "{:?}", claimed.elapsed());
    stand.settle();
    let shown = stand.show(&message("wamid.TESTJOB01"));
    assert_eq!(outcomes(&shown), ["lapsed", "completed"]);
    assert_eq!(shown["tasks"][0]["attempt"], 2);
    assert_eq!(bot.calls().len(), 2);
    let keys: Vec<_> =
        bot.calls().iter().map(|call| call.header("idempotency-key").to_owned()).collect();
    assert_eq!(keys[0], keys[1], "the handler can know it again");
}

/// That every write names its token is held by the library's test of this case, which fails when
/// `token = :token` is taken out of `finish.sql`.
fn job_03_a_worker_that_comes_back_after_its_lease_writes_nothing() {
    let gates = [Gate::default(), Gate::default()];
    let held = gates.clone();
    let bot = Bot::start(move |call| {
        held[call.n - 1].pass();
        DONE
    });
    let stand = Stand::bot(&bot, "lease = \"1s\"");
    assert_eq!(stand.send("JOB-03").counts(), (1, 0));
    bot.called(1);
    stand.server().send("STOP");
    let _second = stand.another();
    bot.called(2);
    // The first worker wakes with its answer before it, while the second is at work.
    gates[0].open();
    stand.server().send("CONT");
    stand.server().stderr_line("a claim was lost");
    let key = message("wamid.TESTJOB03");
    let shown = stand.show(&key);
    assert_eq!((&shown["state"], outcomes(&shown)), (&"claimed".into(), vec!["lapsed"]));
    gates[1].open();
    stand.settle();
    let shown = stand.show(&key);
    assert_eq!((&shown["state"], &shown["tasks"][0]["attempt"]), (&"completed".into(), &2.into()));
    assert_eq!(outcomes(&shown), ["lapsed", "completed"]);
    assert_eq!(bot.calls().len(), 2);
}

fn job_07_an_event_that_kills_its_process_dies_after_its_attempts_and_holds_up_no_other() {
    let victim = Arc::new(Mutex::new(0));
    let pid = victim.clone();
    let bot = Bot::start(move |call| {
        if call.key().ends_with("TESTJOB07") {
            send("KILL", *pid.lock().unwrap());
        }
        DONE
    });
    let mut stand = Stand::bot(&bot, "lease = \"1s\"\nmax_attempts = 3");
    *victim.lock().unwrap() = stand.server().pid();
    assert_eq!(stand.send("JOB-07").counts(), (1, 0));
    for n in 1..=3 {
        bot.called(n);
        // It dies without a word; somebody starts it again.
        stand.take().ended();
        let mut pid = victim.lock().unwrap();
        stand.start();
        *pid = stand.server().pid();
    }
    // The last of its claims is still to lapse; another conversation doesn't wait for that.
    assert_eq!(stand.post(texts([("15550100012", "wamid.OTHER")])).counts(), (1, 0));
    until("the other is handled", || stand.show(&message("wamid.OTHER"))["state"] == "completed");
    stand.settle();
    let shown = stand.show(&message("wamid.TESTJOB07"));
    assert_eq!((&shown["state"], outcomes(&shown)), (&"dead".into(), vec!["lapsed"; 3]));
    let reason = shown["tasks"][0]["error"].as_str().unwrap();
    assert!(reason.starts_with("worker lost"), "{reason}");
}

/// What is cut off at the end of the grace time lapses, as the design has it, rather than being
/// released: whether it had its effect is unknown, so it is an attempt.
fn job_13_a_stop_finishes_what_it_can_and_loses_nothing() {
    let (gate, stopping) = (Gate::default(), Gate::default());
    let (held, told) = (gate.clone(), stopping.clone());
    let bot = Bot::start(move |call| {
        if call.key().contains("SLOW") && call.n == 1 {
            held.pass();
        }
        told.pass();
        DONE
    });
    let mut stand = Stand::bot(&bot, "lease = \"4s\"\norder = \"none\"");
    let ids: Vec<_> = (0..5).flat_map(|n| [format!("SLOW{n}"), format!("FAST{n}")]).collect();
    let body = texts(ids.iter().map(|id| ("15550100011", id.as_str())));
    assert_eq!(stand.post(body).counts(), (10, 0));
    bot.called(10);
    let requests: Vec<_> =
        (0..100).map(|n| signed(texts([("15550100012", &*format!("wamid.LATE{n}"))]))).collect();
    let clients: Vec<_> = requests.iter().map(|_| stand.connect()).collect();
    let mut acked = 0;
    for (n, (mut client, request)) in clients.into_iter().zip(requests).enumerate() {
        if n == 50 {
            stand.server().signal();
        }
        // A connection that is closed by now has no answer, and promises nothing.
        acked += i64::from(client.try_send(&request) && took(&mut client));
    }
    assert!(acked >= 50, "{acked}");
    stopping.open();
    assert!(stand.take().ended().success());
    assert!(stand.count("hookonce_events where key like '%LATE%'") >= acked);
    let finished = "hookonce_tasks t join hookonce_events e using (seq) \
                    where key like '%FAST%' and state = 'completed'";
    assert_eq!(stand.count(finished), 5);
    assert_eq!(stand.count("hookonce_tasks where attempt > 1"), 0);
    stand.start();
    stand.settle();
    let done = stand.count("hookonce_tasks where state = 'completed'");
    assert_eq!(done, stand.count("hookonce_events"));
    let slow = stand.show(&message("SLOW0"));
    assert_eq!(outcomes(&slow), ["lapsed", "completed"]);
    gate.open();
}

fn took(client: &mut Client) -> bool {
    client.answer().is_some_and(|answer| answer.status == 200)
}

fn outcomes(shown: &serde_json::Value) -> Vec<&str> {
    let attempts = shown["attempts"].as_array().unwrap();
    attempts.iter().map(|attempt| attempt["outcome"].as_str().unwrap()).collect()
}
