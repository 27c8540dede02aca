//! Steps of which nobody knows whether they happened, and tasks that are given up by age.

use serde_json::Value;

use crate::cases::bot::{Bot, DONE, FAILED, Gate};
use crate::cases::stand::{LEDGER, Stand, message, texts, until};
use crate::engine::{either, on_both};

on_both![
    a_step_that_may_not_run_twice_is_held_when_no_answer_comes,
    a_step_that_may_not_run_twice_is_held_when_a_proxy_gives_up_on_it,
    a_step_that_may_not_run_twice_is_held_when_its_process_dies,
    a_step_that_may_not_run_twice_is_tried_again_after_a_failure_that_is_known,
    a_task_older_than_it_is_worth_is_dead_however_few_attempts_it_had,
    what_waited_too_long_for_a_sink_is_not_run_when_the_sink_comes_back,
];

fn outcomes(shown: &Value) -> Vec<&str> {
    shown["attempts"].as_array().unwrap().iter().map(|a| a["outcome"].as_str().unwrap()).collect()
}

/// A route whose `bot` step may not run twice.
fn held(bot: &Bot, more: &str) -> String {
    format!(
        "[sinks.bot]\ntype = \"http\"\nurl = \"http://{}/\"\non_unknown = \"hold\"\n\
         [[routes]]\nname = \"bot\"\nsteps = [\"bot\"]\nretry_min = \"10ms\"\nretry_max = \"20ms\"\n\
         {more}\n",
        bot.address
    )
}

fn a_step_that_may_not_run_twice_is_held_when_no_answer_comes() {
    // The first two calls break off.
    let bot = Bot::start(|call| if call.n <= 2 { "" } else { DONE });
    let stand = Stand::with(&held(&bot, ""));
    assert_eq!(stand.post(texts([("1", "a")])).counts(), (1, 0));
    stand.settle();
    let shown = stand.show(&message("a"));
    assert_eq!(outcomes(&shown), ["dead"]);
    let error = shown["tasks"][0]["error"].as_str().unwrap();
    assert!(error.starts_with("outcome unknown: the connection broke"), "{error}");
    assert_eq!(bot.calls().len(), 1);
    // A person who has looked lets it run again; what was only begun is forgotten.
    let id = shown["id"].as_str().unwrap();
    stand.place.run(&["replay", id]).ok();
    stand.settle();
    stand.place.run(&["replay", id]).ok();
    stand.settle();
    assert_eq!(outcomes(&stand.show(&message("a"))), ["dead", "dead", "completed"]);
}

/// A proxy doesn't know what its backend did; one that is out of service says that it did nothing.
fn a_step_that_may_not_run_twice_is_held_when_a_proxy_gives_up_on_it() {
    for (answer, expected) in [
        ("502 Bad Gateway", vec!["dead"]),
        ("504 Gateway Timeout", vec!["dead"]),
        ("503 Service Unavailable", vec!["released", "completed"]),
    ] {
        let failed = format!("HTTP/1.1 {answer}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        let failed: &'static str = failed.leak();
        let bot = Bot::start(move |call| if call.n == 1 { failed } else { DONE });
        let stand = Stand::with(&held(&bot, ""));
        assert_eq!(stand.post(texts([("1", "a")])).counts(), (1, 0));
        stand.settle();
        assert_eq!(outcomes(&stand.show(&message("a"))), expected, "{answer}");
    }
}

fn a_step_that_may_not_run_twice_is_held_when_its_process_dies() {
    let gate = Gate::default();
    let closed = gate.clone();
    let bot = Bot::start(move |_| {
        closed.pass();
        DONE
    });
    let mut stand = Stand::with(&held(&bot, "lease = \"1s\""));
    assert_eq!(stand.post(texts([("1", "a")])).counts(), (1, 0));
    bot.called(1);
    stand.kill();
    gate.open();
    stand.start();
    stand.settle();
    let shown = stand.show(&message("a"));
    assert_eq!(outcomes(&shown), ["lapsed", "dead"]);
    let error = shown["tasks"][0]["error"].as_str().unwrap();
    assert!(error.starts_with("outcome unknown: step `bot` was begun"), "{error}");
    assert_eq!(bot.calls().len(), 1, "it ran once");
}

/// An answer is an answer: what is known to have failed is tried again.
fn a_step_that_may_not_run_twice_is_tried_again_after_a_failure_that_is_known() {
    let bot = Bot::start(|call| if call.n <= 2 { FAILED } else { DONE });
    let stand = Stand::with(&held(&bot, ""));
    assert_eq!(stand.post(texts([("1", "a")])).counts(), (1, 0));
    stand.settle();
    let shown = stand.show(&message("a"));
    assert_eq!(outcomes(&shown), ["retry", "retry", "completed"]);
    assert_eq!(shown["steps"][0]["state"], "done");
}

fn a_task_older_than_it_is_worth_is_dead_however_few_attempts_it_had() {
    let bot = Bot::start(|_| FAILED);
    let stand = Stand::bot(&bot, "max_age = \"1s\"\nretry_max = \"100ms\"");
    assert_eq!(stand.post(texts([("1", "a")])).counts(), (1, 0));
    stand.settle();
    let shown = stand.show(&message("a"));
    let error = shown["tasks"][0]["error"].as_str().unwrap();
    assert!(error.starts_with("older than `max_age`, 1s, before it could succeed"), "{error}");
    assert!(shown["tasks"][0]["attempt"].as_u64().unwrap() < 24);

    // A person may have it tried once more.
    stand.place.run(&["replay", shown["id"].as_str().unwrap()]).ok();
    let calls = bot.calls().len();
    bot.called(calls + 1);
    stand.settle();

    // Attempts that don't count end with it too.
    let nowhere = Bot::nowhere();
    let down = format!(
        "[sinks.bot]\ntype = \"http\"\nurl = \"http://{nowhere}/\"\n\
         [[routes]]\nname = \"bot\"\nsteps = [\"bot\"]\nmax_age = \"1s\"\n"
    );
    let stand = Stand::with(&[LEDGER, &down].concat());
    assert_eq!(stand.post(texts([("1", "a")])).counts(), (1, 0));
    until("it is given up", || {
        stand.count("hookonce_tasks where route = 'bot' and state = 'dead'") == 1
    });
    assert_eq!(stand.effects(), [message("a")]);
}

/// A bot that was away for too long doesn't answer what was asked long ago.
fn what_waited_too_long_for_a_sink_is_not_run_when_the_sink_comes_back() {
    let address = Bot::nowhere();
    let down = format!(
        "[sinks.bot]\ntype = \"http\"\nurl = \"http://{address}/\"\n\
         [[routes]]\nname = \"bot\"\nsteps = [\"bot\"]\nmax_age = \"2s\"\n"
    );
    let mut stand = Stand::with(&down);
    let many: Vec<_> = (0..50).map(|n| (format!("1555016{n:04}"), format!("m{n}"))).collect();
    let many = texts(many.iter().map(|(from, id)| (from.as_str(), id.as_str())));
    assert_eq!(stand.post(many).counts(), (50, 0));
    stand.server().stderr_line("a sink is down");
    assert_eq!(stand.take().terminate().code(), Some(0));
    until("they are too old", || {
        let old = either(
            "received_at + 2000 < unixepoch('subsec') * 1000",
            "received_at + interval '2 s' < clock_timestamp()",
        );
        stand.count(&format!("hookonce_events where {old}")) == 50
    });
    let bot = Bot::at(address, |_| DONE);
    stand.start();
    stand.settle();
    assert_eq!(stand.count("hookonce_tasks where state = 'dead'"), 50);
    assert_eq!(bot.calls().len(), 0);
}
