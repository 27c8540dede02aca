//! EFFECT: what is done in the world, when nobody knows whether it was.

use std::sync::{Arc, Mutex};

use serde_json::Value;

use super::bot::{Bot, DONE, Gate};
use super::case::Case;
use super::stand::{Stand, bot_route, message, texts, until};
use crate::engine::{either, on_both};

on_both![
    effect_01_a_step_that_was_cut_off_runs_again_under_its_key_and_one_that_is_done_never,
    effect_01_a_step_that_may_not_run_twice_never_does_and_says_that_nobody_knows,
    effect_02_a_lost_answer_is_asked_for_again_by_one_owner_under_one_key,
    effect_02_a_lost_answer_is_not_asked_for_again_where_it_may_not_be,
];

/// The step that a call is for: the last part of its idempotency key.
fn step_of(key: &str) -> &str {
    key.rsplit('/').next().unwrap()
}

/// A program whose handler is called by three steps, and held in the one that a test names.
struct Line {
    stand: Stand,
    bot: Bot,
    held: Arc<Mutex<Option<(&'static str, Gate)>>>,
}

impl Line {
    /// With this said of the step in the middle, which is the effect.
    fn new(on_unknown: &str) -> Self {
        let held = Arc::<Mutex<Option<(&str, Gate)>>>::default();
        let asked = held.clone();
        let bot = Bot::start(move |call| {
            let step = step_of(call.header("idempotency-key"));
            // Once: the call that comes after it is not held.
            let gate = asked.lock().unwrap().take_if(|(held, _)| *held == step);
            if let Some((_, gate)) = gate {
                gate.pass();
            }
            DONE
        });
        let sink = |name: &str, more: &str| {
            format!("[sinks.{name}]\ntype = \"http\"\nurl = \"http://{}/\"\n{more}\n", bot.address)
        };
        let effect = format!("on_unknown = \"{on_unknown}\"");
        let sinks = [sink("before", ""), sink("effect", &effect), sink("after", "")].concat();
        let route = "[[routes]]\nname = \"line\"\nsteps = [\"before\", \"effect\", \"after\"]\n\
                     lease = \"2s\"\nretry_min = \"10ms\"\nretry_max = \"20ms\"\n";
        let stand = Stand::with(&[&sinks, route].concat());
        Self { stand, bot, held }
    }

    /// Sends the case's message under this id, and waits until `step` is called for it and held.
    fn send(&self, id: &str, step: &'static str) -> Gate {
        let gate = Gate::default();
        *self.held.lock().unwrap() = Some((step, gate.clone()));
        let before = self.calls(id, step);
        assert_eq!(self.stand.post(body(id)).counts(), (1, 0));
        until("it is held", || self.calls(id, step) > before);
        gate
    }

    /// How often a step was called for a message; each time under the same key.
    fn calls(&self, id: &str, step: &str) -> usize {
        let key = message(id);
        let calls = self.bot.calls();
        let keys: Vec<_> = calls
            .iter()
            .filter(|call| call.key() == key)
            .map(|call| call.header("idempotency-key"))
            .filter(|key| step_of(key) == step)
            .collect();
        assert!(keys.iter().all(|key| *key == keys[0]), "{keys:?}");
        keys.len()
    }

    /// The state of a message's task, and how often each step was called for it.
    fn outcome(&self, id: &str) -> (String, [usize; 3]) {
        assert_eq!(self.stand.post(body(id)).counts(), (0, 1), "a copy changes nothing");
        self.stand.settle();
        let state = self.stand.show(&message(id))["state"].as_str().unwrap().to_owned();
        (state, ["before", "effect", "after"].map(|step| self.calls(id, step)))
    }
}

fn body(id: &str) -> String {
    Case::of("EFFECT-01").text().replace("wamid.TESTEFF01", id)
}

/// Kills the program at each of the places; gives what became of each message.
fn killed(on_unknown: &str) -> ([(String, [usize; 3]); 5], Line) {
    let mut line = Line::new(on_unknown);
    let (ids, mut outcomes) = (["before", "within", "answered", "done", "completed"], vec![]);
    for (id, step) in ids.into_iter().zip(["before", "effect", "effect", "after", "after"]) {
        let gate = line.send(id, step);
        if id == "answered" {
            // The answer is taken in, and can't be written down.
            line.stand.sql.run(either(REFUSE, REFUSE_POSTGRES));
            gate.open();
            line.stand.server().stderr_line("could not write how an attempt went");
        }
        if id == "completed" {
            gate.open();
            line.stand.settle();
        }
        line.stand.kill();
        let on = either("", "on hookonce_steps");
        line.stand.sql.run(&format!("drop trigger if exists refuse {on}"));
        gate.open();
        line.stand.start();
        line.stand.settle();
        outcomes.push(line.outcome(id));
    }
    (outcomes.try_into().unwrap(), line)
}

/// Keeps the effect from being recorded as done.
const REFUSE: &str = "create trigger refuse before insert on hookonce_steps
    when new.name = 'effect' and new.state = 'done'
    begin select raise(abort, 'no room for it'); end";
/// The same.
const REFUSE_POSTGRES: &str = "create or replace function refuse() returns trigger language plpgsql
    as $$ begin raise 'no room for it'; end $$;
    create trigger refuse before insert on hookonce_steps for each row
    when (new.name = 'effect' and new.state = 'done') execute function refuse()";

/// Fails when `attempt::one` doesn't record a step as done before the next one, and when
/// `StepContext::idempotency_key` changes with the attempt.
fn effect_01_a_step_that_was_cut_off_runs_again_under_its_key_and_one_that_is_done_never() {
    let (outcomes, _) = killed("retry");
    let completed = |calls| ("completed".to_owned(), calls);
    let calls = [[2, 1, 1], [1, 2, 1], [1, 2, 1], [1, 1, 2], [1, 1, 1]];
    assert_eq!(outcomes, calls.map(completed));
}

/// Fails when `attempt::one` doesn't record the step as begun before it runs it.
fn effect_01_a_step_that_may_not_run_twice_never_does_and_says_that_nobody_knows() {
    let (outcomes, line) = killed("hold");
    let words = ["completed", "dead", "dead", "completed", "completed"];
    let calls = [[2, 1, 1], [1, 1, 0], [1, 1, 0], [1, 1, 2], [1, 1, 1]];
    assert_eq!(outcomes.each_ref().map(|(state, _)| &**state), words);
    assert_eq!(outcomes.map(|(_, calls)| calls), calls);
    for id in ["within", "answered"] {
        let shown = line.stand.show(&message(id));
        let error = shown["tasks"][0]["error"].as_str().unwrap();
        assert!(error.starts_with("outcome unknown: step `effect` was begun"), "{error}");
        let steps = shown["steps"].as_array().unwrap().iter();
        let steps: Vec<_> = steps.map(|step| (&step["name"], &step["state"])).collect();
        assert_eq!(
            steps,
            [(&"before".into(), &"done".into()), (&"effect".into(), &"begun".into())]
        );
    }
}

/// Accepts and breaks off, twice; then takes longer than the caller waits; then answers.
fn lossy() -> (Bot, Gate) {
    let gate = Gate::default();
    let late = gate.clone();
    let bot = Bot::start(move |call| match (call.key().ends_with("TESTEFF02"), call.n) {
        (true, 1 | 2) => "",
        (true, 3) => {
            late.pass();
            DONE
        }
        _ => DONE,
    });
    (bot, gate)
}

/// How each attempt ended, and why.
fn outcomes(shown: &Value) -> Vec<(&str, &str)> {
    let attempts = shown["attempts"].as_array().unwrap().iter();
    let ends = attempts.map(|attempt| ["outcome", "error"].map(|key| attempt[key].as_str()));
    ends.map(|[outcome, error]| (outcome.unwrap(), error.unwrap_or_default())).collect()
}

fn effect_02_a_lost_answer_is_asked_for_again_by_one_owner_under_one_key() {
    let (bot, gate) = lossy();
    let route = bot_route(&bot, "").replace("concurrency", "timeout = \"1s\"\nconcurrency");
    let stand = Stand::with(&route);
    assert_eq!(stand.send("EFFECT-02").counts(), (1, 0));
    // An answer that is lost says nothing about the sink: others go on.
    assert_eq!(stand.post(texts([("15550100012", "wamid.OTHER")])).counts(), (1, 0));
    stand.settle();
    gate.open();
    let shown = stand.show(&message("wamid.TESTEFF02"));
    let ends: Vec<_> = outcomes(&shown).into_iter().map(|(outcome, _)| outcome).collect();
    assert_eq!(ends, ["retry", "retry", "retry", "completed"]);
    let calls = bot.calls().into_iter().filter(|call| call.key().ends_with("TESTEFF02"));
    let keys: Vec<_> = calls.map(|call| call.header("idempotency-key").to_owned()).collect();
    assert_eq!(keys, vec![format!("{}/bot/bot", shown["id"].as_str().unwrap()); 4]);
    assert_eq!(stand.count("hookonce_attempts where outcome = 'released'"), 0);
}

fn effect_02_a_lost_answer_is_not_asked_for_again_where_it_may_not_be() {
    let (bot, _gate) = lossy();
    let hold = "on_unknown = \"hold\"\nconcurrency";
    let stand = Stand::with(&bot_route(&bot, "").replace("concurrency", hold));
    assert_eq!(stand.send("EFFECT-02").counts(), (1, 0));
    stand.settle();
    assert_eq!(stand.send("EFFECT-02").counts(), (0, 1));
    stand.settle();
    let shown = stand.show(&message("wamid.TESTEFF02"));
    let [("dead", error)] = outcomes(&shown)[..] else { panic!("{shown}") };
    assert!(error.starts_with("outcome unknown: the connection broke"), "{error}");
    assert_eq!((bot.calls().len(), &shown["state"]), (1, &"dead".into()));
}
