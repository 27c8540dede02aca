//! Every call, made for real, answers what the document says.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::client::{Answer, Ask};
use super::stand::{Stand, path};

/// The document, and which of its answers were seen.
struct Checked<'a> {
    stand: &'a Stand,
    document: Value,
    seen: BTreeSet<(String, bool)>,
}

impl Checked<'_> {
    /// Makes a call and holds its answer against the document.
    fn ask(&mut self, name: &str, who: &str, path: &str, body: impl Into<Option<Value>>) -> Answer {
        let (template, method) = self.operation(name);
        assert_eq!(
            template.split('/').count(),
            path.split(['?']).next().unwrap().split('/').count()
        );
        let ask = Ask::new(&method.to_uppercase(), path).by(who);
        let ask = body.into().iter().fold(ask, Ask::json);
        let answer = self.stand.send(&ask);
        let operation = &self.document["paths"][&template][&method];
        let said = &operation["responses"][answer.status.to_string()];
        assert!(said.is_object(), "{name} may not answer {}", answer.status);
        match said.get("content") {
            None => assert_eq!(answer.body, "", "{name}"),
            Some(content) => {
                let kind = answer.header("content-type").unwrap();
                let schema =
                    content[kind]["schema"].as_object().unwrap_or_else(|| panic!("{kind}"));
                let mut root = schema.clone();
                root.insert("components".into(), self.document["components"].clone());
                let validator = jsonschema::options()
                    .with_draft(jsonschema::Draft::Draft202012)
                    .should_validate_formats(true)
                    .build(&root.into())
                    .unwrap();
                let value = answer.json();
                let wrong: Vec<_> = validator.iter_errors(&value).map(|e| e.to_string()).collect();
                assert!(wrong.is_empty(), "{name}: {wrong:#?}\n{value:#}");
            }
        }
        self.seen.insert((name.to_owned(), answer.status < 300));
        answer
    }

    /// The path and method of a call.
    fn operation(&self, name: &str) -> (String, String) {
        let mut all = operations(&self.document);
        all.find(|(_, _, known)| *known == name).map(|(path, method, _)| (path, method)).unwrap()
    }
}

/// Path, method and name of every call.
fn operations(document: &Value) -> impl Iterator<Item = (String, String, &str)> {
    document["paths"].as_object().unwrap().iter().flat_map(|(path, methods)| {
        methods.as_object().unwrap().iter().map(move |(method, operation)| {
            (path.clone(), method.clone(), operation["operationId"].as_str().unwrap())
        })
    })
}

#[test]
fn every_call_answers_what_the_document_says() {
    let stand = Stand::new();
    let document = stand.get("viewer", "/api/openapi.json").expect(200).json();
    let mut checked = Checked { stand: &stand, document, seen: BTreeSet::new() };
    stand.say(&["yes", "no"]);
    stand.say(&["yes"]);
    stand
        .receive(r#"{"metadata":{"phone_number_id":"2"},"statuses":[{"id":"w","status":"read"}]}"#);
    stand.wait_for("state=completed&route=books", 1);
    let [dead] = &stand.wait_for("state=dead", 1)[..] else { panic!() };
    let id = dead["id"].as_str().unwrap();
    let event = format!("/api/events/{id}");
    let nothing = event.replace(id, "c0fa7022-8b40-85d9-86c1-3f71bb80f8c7");

    for query in ["", "?limit=1", "?state=recorded", "?route=crm&state=pending"] {
        checked.ask("list_events", "viewer", &format!("/api/events{query}"), None).expect(200);
    }
    checked.ask("list_events", "crm", "/api/events", None).expect(200);
    checked.ask("list_events", "viewer", "/api/events?state=x", None).expect(400);
    checked.ask("get_event", "viewer", &nothing, None).expect(404);
    checked.ask("get_counts", "ops", "/api/counts", None).expect(200);
    checked.ask("get_counts", "crm", "/api/counts", None).expect(403);
    checked.ask("get_openapi", "crm", "/api/openapi.json", None).expect(200);
    let unproven = stand.send(&Ask::new("GET", "/api/openapi.json")).expect(401);
    assert!(checked.document["paths"]["/api/openapi.json"]["get"]["responses"]["401"].is_object());
    unproven.detail();
    checked.seen.insert(("get_openapi".into(), false));

    let route = || Some(json!({ "route": "books" }));
    checked.ask("replay_event", "ops", &format!("{event}/replay"), route()).expect(200);
    checked.ask("replay_event", "viewer", &format!("{event}/replay"), route()).expect(403);
    checked.ask("bury_event", "ops", &format!("{event}/bury"), route()).expect(200);
    checked.ask("bury_event", "ops", &format!("{nothing}/bury"), None).expect(404);
    let dry = || Some(json!({ "state": "dead", "dry_run": true }));
    checked.ask("replay", "ops", "/api/replay", dry()).expect(200);
    checked.ask("replay", "ops", "/api/replay", Some(json!({}))).expect(400);
    checked.ask("bury", "ops", "/api/bury", dry()).expect(200);
    checked.ask("bury", "ops", "/api/bury", Some(json!({ "x": 1 }))).expect(400);
    work(&stand, &mut checked);

    // With attempts, steps, and arrivals of both sorts.
    stand.receive(
        r#"{"metadata":{"phone_number_id":"2"},"messages":[{"from":"15550000","id":"wamid.0.yes","type":"text","text":{"body":"else"}}]}"#,
    );
    let [event] = &stand.wait_for("key=message:2:wamid.0.yes", 1)[..] else { panic!() };
    let path = format!("/api/events/{}", event["id"].as_str().unwrap());
    let shown = checked.ask("get_event", "viewer", &path, None).expect(200).json();
    for list in ["tasks", "attempts", "steps", "arrivals"] {
        assert!(!shown[list].as_array().unwrap().is_empty(), "no {list} were checked: {shown:#}");
    }
    for (_, _, name) in operations(&checked.document) {
        for success in [true, false] {
            assert!(checked.seen.contains(&(name.to_owned(), success)), "{name} {success}");
        }
    }
}

/// The calls of a worker.
fn work(stand: &Stand, checked: &mut Checked<'_>) {
    checked.ask("claim", "crm", "/api/claims", Some(json!({ "routes": [] }))).expect(400);
    let body = json!({ "routes": ["crm", "bot"], "limit": 100 });
    let claims = checked.ask("claim", "both", "/api/claims", Some(body)).expect(200).json();
    let of_yes = |claim: &&Value| claim["event"]["key"] == "message:2:wamid.0.yes";
    let claim = claims["claims"].as_array().unwrap().iter().find(of_yes).unwrap();
    let body = |say: Value| {
        let mut body = json!({ "token": claim["token"] });
        body.as_object_mut().unwrap().extend(say.as_object().unwrap().clone());
        Some(body)
    };
    let step = path(claim, "steps/charge");
    checked.ask("record_step", "both", &step, body(json!({ "result": [1] }))).expect(204);
    checked.ask("extend", "both", &path(claim, "extend"), body(json!({}))).expect(204);
    let say = json!({ "outcome": "completed" });
    checked.ask("finish", "both", &path(claim, "finish"), body(say.clone())).expect(204);
    checked.ask("finish", "both", &path(claim, "finish"), body(say)).expect(409);
    checked.ask("extend", "both", &path(claim, "extend"), body(json!({}))).expect(409);
    checked.ask("record_step", "both", &step, body(json!({}))).expect(409);
    checked.ask("release", "both", &path(claim, "release"), body(json!({}))).expect(409);
    let other = claims["claims"].as_array().unwrap().iter().find(|c| !of_yes(c)).unwrap();
    let token = json!({ "token": other["token"] });
    checked.ask("release", "both", &path(other, "release"), Some(token)).expect(204);
    let again = stand.claim(other["route"].as_str().unwrap());
    assert_eq!(again["id"], other["id"]);
}
