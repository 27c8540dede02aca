//! DUP: processed twice.

use std::time::{Duration, Instant};

use super::bot::{Bot, DONE, Gate};
use super::stand::{LEDGER, Stand, envelope, message};
use crate::engine::on_both;

on_both![
    dup_03_a_slow_handler_makes_the_sender_retry_while_the_first_run_goes_on,
    dup_04_memory_of_what_was_seen_outlives_a_restart_and_other_traffic,
    dup_09_the_same_id_three_times_in_one_request,
];

fn dup_03_a_slow_handler_makes_the_sender_retry_while_the_first_run_goes_on() {
    let gate = Gate::default();
    let held = gate.clone();
    let bot = Bot::start(move |_| {
        held.pass();
        DONE
    });
    let stand = Stand::bot(&bot, "");
    let began = Instant::now();
    assert_eq!(stand.send("DUP-03").counts(), (1, 0));
    bot.called(1);
    for _ in 0..3 {
        assert_eq!(stand.send("DUP-03").counts(), (0, 1));
    }
    // The handler has not answered yet, and never would.
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    assert_eq!(stand.count("hookonce_tasks"), 1);
    gate.open();
    stand.settle();
    assert_eq!(bot.keys(), [message("wamid.TESTDUP03")]);
    assert_eq!(stand.show(&message("wamid.TESTDUP03"))["copies"], 4);
}

fn dup_04_memory_of_what_was_seen_outlives_a_restart_and_other_traffic() {
    // The other events are statuses, which no route takes, so that they take no time.
    let mut stand = Stand::with(&format!("{LEDGER}kinds = [\"message.*\"]\n"));
    assert_eq!(stand.send("DUP-04").counts(), (1, 0));
    assert_eq!(stand.effects(), [message("wamid.TESTDUP04")]);
    stand.kill();
    stand.start();
    for n in 0..10 {
        let status =
            |m| format!(r#"{{"id":"wamid.{n}.{m}","status":"sent","timestamp":"1760000000"}}"#);
        let list: Vec<_> = (0..1000).map(status).collect();
        let body = envelope(&format!(r#""statuses":[{}]"#, list.join(",")));
        assert_eq!(stand.post(body).counts(), (1000, 0));
    }
    assert_eq!(stand.send("DUP-04").counts(), (0, 1));
    assert_eq!(stand.effects(), [message("wamid.TESTDUP04")]);
}

fn dup_09_the_same_id_three_times_in_one_request() {
    let stand = Stand::ledger();
    assert_eq!(stand.send("DUP-09").counts(), (1, 2));
    assert_eq!(stand.effects(), [message("wamid.TESTDUP09")]);
    assert_eq!(stand.show(&message("wamid.TESTDUP09"))["copies"], 3);
}
