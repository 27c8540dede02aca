//! A configuration that changes while the server runs.

use crate::cases::bot::{Bot, DONE, Gate};
use crate::cases::client::signed;
use crate::cases::stand::{Stand, message, route_to, texts, until};
use crate::engine::on_both;

on_both![
    a_reload_changes_what_comes_next_and_disturbs_nothing_that_runs,
    a_configuration_that_does_not_check_is_refused_and_the_old_one_stays,
    what_cannot_change_while_it_runs_is_said,
    a_sink_that_stays_as_it_is_keeps_its_breaker,
    a_sink_that_is_mended_by_a_reload_is_shown_as_up,
];

fn change(stand: &Stand, change: impl Fn(&str) -> String) {
    let changed = change(&stand.place.read("hookonce.toml"));
    stand.place.write("hookonce.toml", &changed);
    stand.server().send("HUP");
}

fn a_reload_changes_what_comes_next_and_disturbs_nothing_that_runs() {
    let gate = Gate::default();
    let held = gate.clone();
    let bot = Bot::start(move |call| {
        if call.key().ends_with("slow") {
            held.pass();
        }
        DONE
    });
    let stand = Stand::bot(&bot, "");
    assert_eq!(stand.post(texts([("1", "slow")])).counts(), (1, 0));
    bot.called(1);
    // A request of which half has come.
    let body = signed(texts([("2", "half")]));
    let mut half = stand.connect();
    half.send(&body[..body.len() / 2]);
    // The route to the bot goes, one to the ledger comes, and another secret.
    let ledger = "[[routes]]\nname = \"books\"\nsteps = [\"ledger\"]\n";
    change(&stand, |config| {
        let before = config.split("[sinks.bot]").next().unwrap();
        [before, ledger].concat().replace("test-app-secret-0001", "another")
    });
    stand.server().stderr_line("the configuration was reloaded");
    // By the new secret alone.
    assert_eq!(stand.post(texts([("3", "old-secret")])).status, 401);
    half.send(&body[body.len() / 2..]);
    assert_eq!(half.answer().unwrap().counts(), (1, 0), "it began under the old secret");
    gate.open();
    let state = |id: &str| stand.show(&message(id))["state"].clone();
    until("what ran is finished", || state("slow") == "completed");
    assert_eq!(bot.calls().iter().filter(|call| call.key().ends_with("slow")).count(), 1);
    // What is left of the route that is gone is there to be seen.
    assert_eq!(state("half"), "pending");
    change(&stand, |config| config.replace("another", "test-app-secret-0001"));
    stand.server().stderr_line("the configuration was reloaded");
    assert_eq!(stand.post(texts([("4", "new")])).counts(), (1, 0));
    until("the new route takes it", || stand.count("ledger") == 1);
}

fn a_configuration_that_does_not_check_is_refused_and_the_old_one_stays() {
    let bot = Bot::start(|_| DONE);
    let stand = Stand::bot(&bot, "");
    let good = stand.place.read("hookonce.toml");
    let broken = [
        ("steps = [\"bot\"]", "steps = [\"bott\"]", "there is no sink `bott`"),
        ("insert into ledger", "insert into nothing", "cannot prepare `sinks.ledger.statement`"),
        ("[sources.meta]", "[sources.meta", "this is not TOML"),
        (&*good, "", "there is no `[sources.NAME]` in it"),
        ("secrets = [\"test-app-secret-0001\"]", "secrets = [\"env:UNSET\"]", "is not set"),
    ];
    for (n, (from, to, why)) in broken.into_iter().enumerate() {
        assert!(good.contains(from));
        change(&stand, |_| good.replace(from, to));
        let said = stand.server().stderr_line("was not reloaded, the old one stays");
        if !said.contains(why) {
            stand.server().stderr_line(why);
        }
        assert_eq!(stand.post(texts([("1", &*format!("w{n}"))])).status, 200);
        until("the old one handles it", || {
            stand.count("hookonce_tasks where state <> 'completed'") == 0
        });
    }
}

fn what_cannot_change_while_it_runs_is_said() {
    let bot = Bot::start(|_| DONE);
    let stand = Stand::bot(&bot, "");
    change(&stand, |config| config.replace("grace = \"1s\"", "grace = \"2s\""));
    stand.server().stderr_line("`[worker]` changed: it is taken over at the next start");
}

/// What is known of a sink outlives a reload that doesn't concern it: an open breaker stays open.
fn a_sink_that_stays_as_it_is_keeps_its_breaker() {
    let address = Bot::nowhere();
    let route = route_to(address, "");
    let stand = Stand::with(&route);
    assert_eq!(stand.post(texts([("1", "a")])).counts(), (1, 0));
    stand.server().stderr_line("a sink is down");
    change(&stand, |config| [config, "max_attempts = 5\n"].concat());
    stand.server().stderr_line("the configuration was reloaded");
    let bot = Bot::at(address, |_| DONE);
    stand.settle();
    stand.server().stderr_line("a sink is up again");
    assert_eq!(bot.calls().len(), 1);
}

/// The metric of a sink that was down is not left behind by the one that takes its place.
fn a_sink_that_is_mended_by_a_reload_is_shown_as_up() {
    let bot = Bot::start(|_| DONE);
    let nowhere = Bot::nowhere();
    let stand = Stand::with(&route_to(nowhere, ""));
    let line = stand.server().stderr_line("admin API");
    let admin = line.split_whitespace().last().unwrap().trim_end_matches("/api").to_owned();
    assert_eq!(stand.post(texts([("1", "a")])).counts(), (1, 0));
    stand.server().stderr_line("a sink is down");
    let is_open = |value: &str| {
        let page = stand.place.shell(&format!("curl -s {admin}/metrics")).ok();
        page.lines().any(|line| line == format!("hookonce_breaker_open{{sink=\"bot\"}} {value}"))
    };
    until("it is shown as down", || is_open("1"));
    change(&stand, |config| config.replace(&nowhere.to_string(), &bot.address.to_string()));
    stand.server().stderr_line("a sink is up again");
    stand.settle();
    until("it is shown as up", || is_open("0"));
}

/// Whoever holds the database holds up neither the check of a statement for good nor a shutdown.
#[test]
fn a_database_that_somebody_holds_holds_up_no_shutdown_and_no_check() {
    let mut stand = Stand::ledger();
    let database = stand.database();
    database.execute_batch("begin immediate").unwrap();
    let began = std::time::Instant::now();
    let said = stand.place.run(&["check"]);
    assert_eq!(said.code, 1, "{}", said.stdout);
    assert!(said.stderr.contains("locked by another process"), "{}", said.stderr);
    assert!(began.elapsed() < std::time::Duration::from_secs(10), "{:?}", began.elapsed());
    stand.server().send("HUP");
    let began = std::time::Instant::now();
    assert_eq!(stand.take().terminate().code(), Some(0));
    assert!(began.elapsed() < std::time::Duration::from_secs(8), "{:?}", began.elapsed());
    database.execute_batch("commit").unwrap();
}
