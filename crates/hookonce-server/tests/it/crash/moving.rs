//! A copy from a file to a database that is killed again and again.

use std::process::Stdio;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use super::chance::Chance;
use crate::engine::{Database, Sql};
use crate::program::{Place, Said};
use crate::stock::{Stock, dead};

/// How many events: several ranges of a copy.
const EVENTS: usize = 5000;
/// The longest time from the start of a copy to its end; it gets longer, so that one comes through.
const LONGEST: Duration = Duration::from_millis(200);

#[test]
fn a_copy_that_is_killed_at_any_instant_goes_on_and_the_database_serves() {
    let mut chance = Chance::new();
    let place = Place::new();
    let stock = Stock::new(&place);
    for n in 0..50 {
        stock.put(&format!("dead{n}"), &["books"]);
    }
    stock.end("books", &dead());
    stock.put_lane(EVENTS - 50);
    drop(stock);
    let database = Database::make();
    let mut killed = 0;
    let said = loop {
        let mut copy = place.command(&["copy", "--json", "--to", &database.url]);
        let copy = copy.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        thread::sleep(chance.moment(LONGEST + LONGEST / 4 * killed));
        let _ = crate::program::send("KILL", copy.id());
        let said = Said::from(copy.wait_with_output().unwrap());
        if said.code == 0 {
            break said;
        }
        assert_eq!((said.code, &*said.stderr), (-1, ""), "killed, or done");
        killed += 1;
        assert!(killed < 200, "it comes to its end");
    };
    let copied: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(copied["tables"][0]["rows"], EVENTS);
    let part = Sql::of(&database);
    let ranges = part.number("select count(distinct xmin::text) from hookonce_events");
    eprintln!("killed {killed} times; {ranges} transactions");
    assert!(ranges >= 10, "one for each range, none repeated: {ranges}");

    let on = |url: &str, arguments: &[&str]| {
        let mut command = place.command(arguments);
        let output = command.env("HOOKONCE_STORE", url).output().unwrap();
        Said::from(output).ok()
    };
    for arguments in [
        &["list", "--json", "--limit", "1000"][..],
        &["list", "--json", "--limit", "1000", "--state", "dead"],
        &["stats", "--json"],
    ] {
        assert!(place.run(arguments).ok() == on(&database.url, arguments), "{arguments:?}");
    }
    let again = place.run(&["copy", "--to", &database.url]);
    assert!(again.code == 1 && again.stderr.contains("has events already"), "{}", again.stderr);
    assert_eq!(
        on(&database.url, &["replay", "--state", "dead"]).trim(),
        "50 replayed, 0 left as they are"
    );
}
