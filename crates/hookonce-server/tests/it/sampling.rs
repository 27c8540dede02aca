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
        "priority": 0, "sent_at": "2025-10-09T08:53:20Z",
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

const GENERIC: &str = r#"
[sources.shop]
scheme = "generic"
secrets = ["a", "b"]
key = ["header:X-Id", "/id"]
kind = ["header:X-Event", "/type"]
[sources.shop.signature]
type = "bearer"
[sources.unset]
scheme = "github"
secrets = ["env:UNSET"]
"#;

#[test]
fn a_key_that_lacks_a_part_names_it() {
    let place = Place::new();
    place.write("hookonce.toml", GENERIC);
    place.write("body.json", r#"[{"id":1},{"id":null},3]"#);
    let sample = ["check", "--sample", "body.json", "--source", "shop"];
    let said = place.run(&sample);
    for right in [
        "event 1: its key is a hash, for want of `header:X-Id`",
        "event 2: its key is a hash, for want of `header:X-Id`, `/id`",
        "event 3: element is not an object: its tasks would be dead on arrival",
        "3 of 3 events known by nothing but the bytes of this request",
    ] {
        assert!(said.stderr.contains(right), "{right}\n{}", said.stderr);
    }
    let json = [&sample[..], &["--json", "--header", "x-id: A"]].concat();
    let said: Value = serde_json::from_str(&place.run(&json).ok()).unwrap();
    assert_eq!(said["events"][0]["key"], "A:1");
    assert_eq!(said["events"][0]["missing"], Value::Null);
    assert_eq!(said["events"][1]["missing"], json!(["/id"]));
    assert_eq!(said["proof"], Value::Null);
}

#[test]
fn headers_say_whether_the_sender_would_be_proven_and_by_which_secret() {
    let place = Place::new();
    place.write("hookonce.toml", GENERIC);
    place.write("body.json", r#"{"id":1,"type":"x"}"#);
    let sample = |source: &str, header: &str| {
        let arguments = ["check", "--sample", "body.json", "--source", source, "--header", header];
        place.run(&arguments)
    };
    let said = sample("shop", "Authorization: Bearer b");
    assert!(
        said.stderr.contains("the sender is proven, by secret 2 of the source"),
        "{}",
        said.stderr
    );
    said.ok();
    let arguments = ["check", "--json", "--sample", "body.json", "--source", "shop"];
    let json = [&arguments[..], &["--header", "Authorization: Bearer b"]].concat();
    let shown: Value = serde_json::from_str(&place.run(&json).ok()).unwrap();
    assert_eq!(shown["proof"]["secret"], 2);
    let said = sample("shop", "Authorization: Bearer c");
    assert!(said.stderr.contains("not proven: signature_wrong; it would be answered 401"));
    said.ok();
    let said = sample("shop", "X-Event: y");
    assert!(said.stdout.contains("y.x") && !said.stderr.contains("proven"), "{}", said.stderr);
    // A secret that isn't at hand is no reason not to show the events.
    let said = sample("unset", "X-Hub-Signature-256: sha256=00");
    assert!(said.stderr.contains("`UNSET` is not set"), "{}", said.stderr);
    said.ok();
    assert_eq!(sample("shop", "no header").code, 2);
}
