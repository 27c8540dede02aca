//! What the doctor finds.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;

use hookonce::task::{DeadLane, Outcome};
use serde_json::Value;

use crate::program::Place;
use crate::stock::{CONFIG, Stock, dead};

/// The messages of one check that are in this state.
fn found(place: &Place, check: &str, state: &str) -> Vec<String> {
    let findings: Vec<Value> =
        serde_json::from_str(&place.run(&["doctor", "--json"]).stdout).unwrap();
    let is_it = |finding: &&Value| finding["check"] == check && finding["state"] == state;
    let message = |finding: &Value| finding["message"].as_str().unwrap().to_owned();
    findings.iter().filter(is_it).map(message).collect()
}

#[test]
fn what_init_and_check_made_is_fine() {
    let place = Place::new();
    place.run(&["init"]).ok();
    let said = place.run(&["doctor"]).ok();
    assert!(said.contains("there is no store `hookonce.db` yet; `hookonce serve` creates it"));
    assert!(!place.path("hookonce.db").exists());
    place.run(&["check"]).ok();
    let said = place.run(&["doctor"]).ok();
    let is_fine = |line: &str| line.starts_with("fine ") || line.contains(" descriptors ");
    assert!(said.lines().count() > 7 && said.lines().all(is_fine), "{said}");
}

#[test]
fn a_wrong_configuration_is_all_that_is_looked_at() {
    let place = Place::new();
    let said = place.run(&["doctor"]);
    assert!(said.code == 1 && said.stdout.contains("hookonce init"), "{}", said.stdout);
    place.write("hookonce.toml", "[sorces.a]\n");
    let said = place.run(&["doctor"]);
    assert_eq!(said.code, 1);
    assert!(said.stdout.starts_with("wrong    configuration  hookonce.toml:1"), "{}", said.stdout);
    place.write("hookonce.toml", &CONFIG.replace("\"x\"", "\"env:UNSET\""));
    assert!(found(&place, "secrets", "wrong")[0].contains("`UNSET` is not set"));
}

#[test]
fn a_store_that_is_a_directory_is_not_said_to_be_missing() {
    let place = Place::new();
    place.write("hookonce.toml", &format!("store = \"sqlite:data\"\n{CONFIG}"));
    std::fs::create_dir(place.path("data")).unwrap();
    assert!(found(&place, "store", "wrong")[0].contains("the store `data` is no file"));
}

#[test]
fn a_store_that_cannot_be_used_is_wrong() {
    let place = Place::new();
    drop(Stock::new(&place));
    std::fs::set_permissions(place.path("hookonce.db"), PermissionsExt::from_mode(0o644)).unwrap();
    assert!(found(&place, "permissions", "warning")[0].contains("`chmod 600 hookonce.db`"));
    let huge = format!("[server]\nmin_free_disk = \"1048576GiB\"\n{CONFIG}");
    place.write("hookonce.toml", &huge);
    assert_eq!(found(&place, "disk", "wrong").len(), 1);
    assert_eq!(found(&place, "readiness", "wrong").len(), 1);
    let database = rusqlite::Connection::open(place.path("hookonce.db")).unwrap();
    database.execute("insert into hookonce_migrations values (99, 0)", ()).unwrap();
    assert!(found(&place, "store", "wrong")[0].contains("version 99"));
}

#[test]
fn sinks_are_tried_without_a_request() {
    let place = Place::new();
    drop(Stock::new(&place));
    let up = TcpListener::bind("127.0.0.1:0").unwrap();
    let down = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let sinks = format!(
        "{CONFIG}[sinks.up]\ntype = \"http\"\nurl = \"http://{}/x\"\n\
         [sinks.down]\ntype = \"http\"\nurl = \"http://{down}/x\"\n\
         [sinks.ledger]\ntype = \"sql\"\nstatement = \"insert into books values (:id)\"\n",
        up.local_addr().unwrap()
    );
    let sinks = sinks.replace(r#"["print"]"#, r#"["print", "up", "down", "ledger"]"#);
    place.write("hookonce.toml", &sinks);
    assert_eq!(place.run(&["doctor"]).code, 1);
    assert!(found(&place, "sinks", "fine")[0].starts_with("`up` takes connections at 127.0.0.1:"));
    assert!(found(&place, "sinks", "wrong")[0].starts_with("`down` can't be reached: 127.0.0.1:"));
    assert!(found(&place, "statements", "wrong")[0].contains("`ledger`: no such table: books;"));
    let (mut connection, _) = up.accept().unwrap();
    let mut sent = Vec::new();
    std::io::Read::read_to_end(&mut connection, &mut sent).unwrap();
    assert!(sent.is_empty());
}

#[test]
fn tasks_that_wait_for_a_person_are_told_of_with_what_to_type() {
    let place = Place::new();
    let stock = Stock::new(&place);
    stock.put("a", &["books"]);
    stock.end("books", &dead());
    stock.put("b", &["gone"]);
    let dead_ones = found(&place, "tasks", "warning");
    assert!(dead_ones[0].starts_with("dead: 1 task of route `books`; "), "{dead_ones:?}");
    assert!(dead_ones[0].contains("`hookonce replay --state dead --route books`"), "{dead_ones:?}");
    let gone = found(&place, "routes", "wrong");
    assert!(gone[0].contains("`hookonce replay --route gone --to-route NAME`"), "{gone:?}");
    // What is dead waits for a person; what is pending waits for nobody.
    stock.end("gone", &Outcome::Dead { error: "e".to_owned(), lane: DeadLane::Pass });
    assert_eq!(found(&place, "routes", "warning").len(), 1);
    place.run(&["doctor"]).ok();

    let database = rusqlite::Connection::open(place.path("hookonce.db")).unwrap();
    stock.put("c", &["books"]);
    let age = |set: &str, state: &str| {
        let sql = format!("update hookonce_tasks set {set} where state = '{state}'");
        assert_eq!(database.execute(&sql, ()).unwrap(), 1);
    };
    age("due_at = due_at - 3600000", "pending");
    assert!(found(&place, "work", "warning")[0].contains("is `hookonce serve` running"));
    age(
        "state = 'claimed', due_at = null, token = x'00', claimed_at = 1, lease_until = 2",
        "pending",
    );
    assert!(found(&place, "claims", "warning")[0].contains("by nobody: 1 claim;"));
}

#[test]
fn a_lane_that_is_held_is_told_of() {
    let place = Place::new();
    let stock = Stock::new(&place);
    stock.put_dead(2);
    assert_eq!(found(&place, "lanes", "warning"), Vec::<String>::new());
    place.run(&["replay", "--state", "dead"]).ok();
    stock.end("books", &Outcome::Dead { error: "e".to_owned(), lane: DeadLane::Hold });
    assert!(found(&place, "lanes", "warning")[0].contains("until you act: 1 lane;"));
}
