//! `hookonce check --sample`: what a request would become.

use serde_json::{Value, json};

use super::program::Place;

const CONFIG: &str = r#"
[server]
body_limit = "1KiB"
[sources.whatsapp]
scheme = "meta"
secrets = ["env:UNSET"]
scope = "shop"
[sources.other]
scheme = "meta"
secrets = ["x"]
[sinks.print]
type = "log"
[[routes]]
name = "everything"
steps = ["print"]
[[routes]]
name = "messages"
sources = ["whatsapp"]
kinds = ["message.*"]
steps = ["print"]
"#;

/// A message and a status, neither signed.
const BODY: &str = r#"{"object":"whatsapp_business_account","entry":[{"id":"1","changes":[
{"field":"messages","value":{"metadata":{"phone_number_id":"2"},
"messages":[{"from":"3","id":"wamid.A","timestamp":"1760000000","type":"text"}],
"statuses":[{"id":"wamid.B","status":"read","timestamp":"1760000000","recipient_id":"3"}]}}]}]}"#;

fn place() -> Place {
    let place = Place::new();
    place.write("hookonce.toml", CONFIG);
    place
}

fn sample(source: &str, body: &str) -> Vec<Value> {
    let arguments = ["check", "--json", "--source", source, "--sample", "-"];
    let said = place().run_with_input(&arguments, body).ok();
    serde_json::from_str::<Value>(&said).unwrap()["events"].as_array().unwrap().clone()
}

#[test]
fn a_sample_shows_its_events_and_who_takes_them() {
    let events = sample("whatsapp", BODY);
    assert_eq!(events.len(), 2);
    let mut message = events[0].clone();
    let id = message["id"].take();
    let expected = json!({
        "id": null, "key": "message:2:wamid.A", "kind": "message.text", "lane": "2:3",
        "element": "/entry/0/changes/0/value/messages/0", "weak_key": false, "unreadable": null,
        "routes": ["everything", "messages"]
    });
    assert_eq!(message, expected);
    assert_eq!(events[1]["kind"], "status.read");
    assert_eq!(events[1]["routes"], json!(["everything"]));
    // The id is that of the source's scope.
    assert_eq!(id, hookonce::event::EventId::of("shop", "message:2:wamid.A").to_string());
    assert_eq!(sample("other", BODY)[0]["routes"], json!(["everything"]));
}

#[test]
fn what_cant_be_read_says_why_and_has_a_weak_key() {
    let events = sample("whatsapp", "not JSON");
    assert_eq!((events.len(), &events[0]["kind"]), (1, &"unreadable".into()));
    assert!(events[0]["unreadable"].is_string());
    assert_eq!(events[0]["weak_key"], true);
    // Whatever the kinds it takes, a route is told.
    assert_eq!(events[0]["routes"], json!(["everything", "messages"]));
}

#[test]
fn a_person_gets_a_table_and_nothing_is_stored() {
    let place = place();
    place.write("body.json", BODY);
    let said = place.run(&["check", "--sample", "body.json", "--source", "whatsapp"]).ok();
    let lines: Vec<_> = said.lines().collect();
    assert_eq!(lines.len(), 3, "{said}");
    assert!(lines[0].starts_with("KIND") && lines[1].contains("everything, messages"), "{said}");
    assert!(!place.path("hookonce.db").exists());
}

#[test]
fn a_sample_that_would_be_refused_is_refused() {
    let place = place();
    place.write("body.json", &" ".repeat(1025));
    let said = place.run(&["check", "--sample", "body.json", "--source", "whatsapp"]);
    assert!(said.code == 1 && said.stderr.contains("answered 413"), "{}", said.stderr);
    let said = place.run(&["check", "--sample", "body.json", "--source", "whatsap"]);
    assert!(said.stderr.contains("no source `whatsap`; there are: other, whatsapp"));
    assert_eq!(place.run(&["check", "--sample", "body.json"]).code, 2);
}
