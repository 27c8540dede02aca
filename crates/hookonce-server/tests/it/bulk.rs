//! What a person does to many tasks at once, from the command line.

use std::process::Stdio;

use hookonce::store::Clock;
use hookonce::task::Outcome;
use jiff::SignedDuration;
use serde_json::Value;

use crate::crash::wait_until;
use crate::engine::{audit, on_both};
use crate::program::{Place, send};
use crate::stock::{Stock, dead};

on_both![
    dead_tasks_are_replayed_by_a_filter_the_oldest_first,
    who_changes_what_is_written_down_before,
    a_running_server_handles_what_is_replayed_in_order,
    completed_tasks_run_again_only_when_that_is_asked_for,
    events_that_no_route_took_get_their_tasks,
    tasks_of_a_route_that_is_gone_are_told_of_and_moved,
    a_list_with_a_mistake_in_it_moves_nothing,
    one_way_to_name_events_has_to_be_given_and_no_two_that_contradict,
    an_interrupted_replay_says_how_far_it_came_and_goes_on_when_called_again,
    what_is_old_is_pruned_at_once_and_to_its_end,
];

/// `n` dead tasks.
fn dead_tasks(place: &Place, n: usize) -> Stock {
    let stock = Stock::new(place);
    for n in 0..n {
        stock.put(&format!("k{n}"), &["books"]);
    }
    stock.end("books", &dead());
    stock
}

fn dead_tasks_are_replayed_by_a_filter_the_oldest_first() {
    let place = Place::new();
    let stock = dead_tasks(&place, 5);
    let dry = place.run(&["replay", "--state", "dead", "--dry-run"]).ok();
    assert_eq!(dry.trim(), "5 would be replayed, 0 would be left as they are");
    assert_eq!(stock.waiting(), (0, 5));
    assert_eq!(audit(&place.sql()), []);
    let some = place.run(&["replay", "--route", "books", "--limit", "2"]);
    // Nobody watches: there is no bar.
    assert_eq!(some.stderr, "");
    assert_eq!(some.ok().trim(), "2 replayed, 0 left as they are");
    assert_eq!(stock.waiting(), (2, 3));
    let page: Value = serde_json::from_str(&place.run(&["list", "--json"]).ok()).unwrap();
    let states = page["events"].as_array().unwrap().iter().map(|event| &event["state"]);
    assert_eq!(states.collect::<Vec<_>>(), ["dead", "dead", "dead", "pending", "pending"]);
    let json = place.run(&["replay", "--json", "--source", "a", "--kind", "message.*"]).ok();
    assert_eq!(json.trim(), r#"{"left":0,"replayed":3}"#);
    let left = place.run(&["replay", "--state", "pending"]).ok();
    assert_eq!(left.trim(), "0 replayed, 5 left as they are");
}

fn who_changes_what_is_written_down_before() {
    let place = Place::new();
    let _stock = dead_tasks(&place, 1);
    let by = |user: Option<(&str, &str)>, arguments: &[&str]| {
        let mut command = place.command(arguments);
        assert!(command.envs(user).stdout(Stdio::null()).status().unwrap().success());
    };
    by(Some(("USER", "ada")), &["replay", "--state", "dead", "--rate", "50"]);
    by(Some(("LOGNAME", "bob")), &["bury", "--key", "k0"]);
    by(None, &["prune"]);
    let [replay, bury, prune] = audit(&place.sql()).try_into().unwrap();
    let details = serde_json::json!({ "state": "dead", "rate": 50 });
    assert_eq!(replay, ("cli:ada".to_owned(), "replay".to_owned(), details));
    let details = serde_json::json!({ "key": "k0" });
    assert_eq!(bury, ("cli:bob".to_owned(), "bury".to_owned(), details));
    assert!(prune.0[4..].parse::<u32>().is_ok() && prune.2["key"] == "30d", "{prune:?}");
}

fn a_running_server_handles_what_is_replayed_in_order() {
    let place = Place::new();
    let stock = Stock::new(&place);
    stock.put_dead(300);
    let config = place.read("hookonce.toml");
    let server = "[server]\nlisten = \"127.0.0.1:0\"\n[worker]\npoll = \"50ms\"\n";
    place.write("hookonce.toml", &[server, &config].concat());
    let server = place.serve(&[]);
    let replay = || place.command(&["replay", "--state", "dead", "--json"]).output().unwrap();
    let said = std::thread::scope(|scope| {
        let both = [scope.spawn(replay), scope.spawn(replay)];
        both.map(|one| serde_json::from_slice::<Value>(&one.join().unwrap().stdout).unwrap())
    });
    let replayed: Vec<u64> = said.iter().map(|said| said["replayed"].as_u64().unwrap()).collect();
    assert_eq!(replayed[0] + replayed[1], 300, "{said:?}");
    // One conversation: each is handled once, and none before the one that came before it.
    for n in 0..300 {
        let line: Value = serde_json::from_str(&server.stdout_line("")).unwrap();
        assert_eq!(line["key"], format!("k{n}"));
    }
    wait_until("the last to be finished", || stock.waiting() == (0, 0));
}

fn completed_tasks_run_again_only_when_that_is_asked_for() {
    let place = Place::new();
    let stock = Stock::new(&place);
    stock.put("done", &["books"]);
    stock.end("books", &Outcome::Completed);
    let plain = place.run(&["replay", "--state", "completed"]).ok();
    assert_eq!(plain.trim(), "0 replayed, 1 left as they are");
    let rerun = place.run(&["replay", "--rerun", "--source", "a"]).ok();
    assert_eq!(rerun.trim(), "1 replayed, 0 left as they are");
    let page: Value = serde_json::from_str(&place.run(&["list", "--json"]).ok()).unwrap();
    assert_eq!(page["events"][0]["tasks"][0]["run"], 2);
}

fn events_that_no_route_took_get_their_tasks() {
    let place = Place::new();
    let stock = Stock::new(&place);
    stock.put("before", &[]);
    let unknown = place.run(&["replay", "--unrouted", "--route", "book"]);
    assert!(unknown.code == 1 && unknown.stderr.contains("there are: books"), "{}", unknown.stderr);
    assert_eq!(place.run(&["replay", "--unrouted"]).ok().trim(), "1 replayed, 0 left as they are");
    assert_eq!(stock.waiting(), (1, 0));
    let counts: Value = serde_json::from_str(&place.run(&["stats", "--json"]).ok()).unwrap();
    assert_eq!(counts["unrouted"], 0);
}

fn tasks_of_a_route_that_is_gone_are_told_of_and_moved() {
    let place = Place::new();
    let stock = Stock::new(&place);
    stock.put("a", &["ledger"]);
    stock.put("b", &["ledger", "books"]);
    let stats = place.run(&["stats"]).ok();
    let line = stats.lines().find(|line| line.starts_with("ledger ")).unwrap();
    assert!(line.contains('2') && line.contains("gone from the configuration"), "{stats}");
    let counts: Value = serde_json::from_str(&place.run(&["stats", "--json"]).ok()).unwrap();
    assert_eq!(counts.as_object().unwrap().len(), 8);
    let nowhere = place.run(&["replay", "--route", "ledger", "--to-route", "book"]);
    assert!(nowhere.code == 1 && nowhere.stderr.contains("there are: books"), "{}", nowhere.stderr);
    let moved = place.run(&["replay", "--route", "ledger", "--to-route", "books"]).ok();
    // The event that has a task of that route keeps both.
    assert_eq!(moved.trim(), "1 replayed, 1 left as they are");
    assert_eq!(place.run(&["bury", "--route", "ledger"]).ok(), "1 buried, 0 left as they are\n");
}

fn a_list_with_a_mistake_in_it_moves_nothing() {
    let place = Place::new();
    let stock = dead_tasks(&place, 1);
    let id = hookonce::event::EventId::of("a", "k0").to_string();
    let unknown = "c0fa7022-8b40-85d9-86c1-3f71bb80f8c7";
    let said = place.run(&["replay", &id, unknown]);
    assert!(said.code == 1 && said.stderr.contains("there is no event"), "{}", said.stderr);
    assert_eq!(stock.waiting(), (0, 1));
    let dry = place.run(&["replay", "--dry-run", &id]).ok();
    assert_eq!(dry.trim(), "1 would be replayed, 0 would be left as they are");
    assert_eq!(stock.waiting(), (0, 1));
}

fn one_way_to_name_events_has_to_be_given_and_no_two_that_contradict() {
    let place = Place::new();
    let wrong = [
        "replay",
        "bury",
        "replay --dry-run --limit 5",
        "replay --rerun",
        "replay --to-route books",
        "replay ID --state dead",
        "replay --rerun --unrouted",
        "replay --rerun --to-route books --state dead",
        "replay --unrouted --to-route books",
        "replay --unrouted --state dead",
        "replay --state dead --limit 0",
        "replay --state dead --rate 0",
        "bury --state dead --rerun",
    ];
    for line in wrong {
        let said = place.run(&line.split(' ').collect::<Vec<_>>());
        assert!(said.code == 2 && said.stdout.is_empty(), "{line}: {}", said.stderr);
    }
    assert!(place.run(&["replay"]).stderr.contains("<ID|--state <STATE>"));
}

fn an_interrupted_replay_says_how_far_it_came_and_goes_on_when_called_again() {
    let place = Place::new();
    let stock = dead_tasks(&place, 20);
    let mut command = place.command(&["replay", "--state", "dead", "--rate", "1"]);
    let replay = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("a first task", || stock.waiting().0 > 0);
    assert!(send("INT", replay.id()));
    let output = replay.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains(" replayed, 0 left as they are, before it was interrupted"), "{said}");
    assert!(stock.waiting().1 > 0);
    place.run(&["replay", "--state", "dead"]).ok();
    assert_eq!(stock.waiting(), (20, 0));
}

fn what_is_old_is_pruned_at_once_and_to_its_end() {
    let place = Place::new();
    let stock = Stock::new(&place);
    let now = Clock::system().now();
    // More than one step looks at.
    for n in 0..600 {
        stock.put_at(&format!("old{n}"), &[], now - SignedDuration::from_hours(24 * 31));
    }
    stock.put("new", &[]);
    let pruned = place.run(&["prune", "--json"]).ok();
    assert_eq!(pruned.trim(), r#"{"payloads":600,"events":600}"#);
    let again = place.run(&["prune"]).ok();
    assert_eq!(again.trim(), "deleted 0 payloads, and 0 events with all that was kept of them");
}
