//! What a person does about a dead task and the lane that it holds.

use serde_json::Value;

use crate::engine::{member, on_both};
use crate::program::{Place, Server};

on_both![a_held_lane_goes_on_once_its_head_is_replayed_or_buried,];

/// A route whose statement fails for the text `no` until its table takes it, and holds the lane.
fn serve(place: &Place) -> Server {
    place.sql().run("create table ledger (note text, constraint picky check (note <> 'no'))");
    let note = member(":element", &["text", "body"]);
    let config = r#"[server]
listen = "127.0.0.1:0"
min_free_disk = "1MiB"
[worker]
poll = "50ms"
[sources.a]
scheme = "meta"
secrets = ["x"]
[sinks.ledger]
type = "sql"
statement = "insert into ledger values (NOTE)"
[[routes]]
name = "books"
on_dead = "hold"
steps = ["ledger"]
"#;
    place.write("hookonce.toml", &config.replace("NOTE", &note));
    place.serve(&[])
}

fn say(place: &Place, server: &Server, id: &str, text: &str) {
    let body = format!(
        r#"{{"object":"whatsapp_business_account","entry":[{{"id":"1","changes":[{{"field":"messages","value":{{"metadata":{{"phone_number_id":"2"}},"messages":[{{"from":"15550001111","id":"{id}","type":"text","text":{{"body":"{text}"}}}}]}}}}]}}]}}"#
    );
    place.write("body", &body);
    let line = place.run(&["sign", "--url", &server.url, "--source", "a", "body"]).ok();
    place.shell(&line).ok();
}

fn listed(place: &Place, state: &str) -> Vec<String> {
    let page: Value =
        serde_json::from_str(&place.run(&["list", "--json", "--state", state]).ok()).unwrap();
    let id = |event: &Value| event["id"].as_str().unwrap().to_owned();
    page["events"].as_array().unwrap().iter().map(id).collect()
}

fn a_held_lane_goes_on_once_its_head_is_replayed_or_buried() {
    let place = Place::new();
    let server = serve(&place);
    say(&place, &server, "wamid.1", "no");
    crate::crash::wait_until("a dead head", || listed(&place, "dead").len() == 1);
    say(&place, &server, "wamid.2", "yes");
    let dead = listed(&place, "dead").remove(0);
    assert_eq!(listed(&place, "pending").len(), 1);

    // It fails again, and holds the lane again.
    let said = place.run(&["replay", "--json", &dead]).ok();
    assert_eq!(said.trim(), r#"{"left":0,"replayed":1}"#);
    crate::crash::wait_until("two attempts", || {
        place.run(&["show", "--json", &dead]).ok().matches("\"outcome\":\"dead\"").count() == 2
    });
    let said = place.run(&["replay", "--route", "another", &dead]).ok();
    assert_eq!(said.trim(), "0 replayed, 0 left as they are");
    assert_eq!(place.run(&["bury", &dead]).ok().trim(), "1 buried, 0 left as they are");
    crate::crash::wait_until("the next", || listed(&place, "completed").len() == 1);
    assert_eq!(place.run(&["bury", &dead]).ok().trim(), "0 buried, 1 left as they are");

    let unknown = place.run(&["replay", "c0fa7022-8b40-85d9-86c1-3f71bb80f8c7"]);
    assert!(
        unknown.code == 1 && unknown.stderr.contains("there is no event"),
        "{}",
        unknown.stderr
    );
    let wrong = place.run(&["bury", "wamid.1"]);
    assert!(wrong.code == 1 && wrong.stderr.contains("`wamid.1` is no event id"));
}
