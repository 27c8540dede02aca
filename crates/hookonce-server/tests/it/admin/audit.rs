//! What steers, and that it is written down.

use serde_json::{Value, json};

use super::stand::Stand;
use crate::engine::{audit, on_both};

on_both![
    what_steers_is_written_down_with_who_and_what,
    a_completed_task_runs_once_more_when_it_is_asked_for_by_name,
];

fn what_steers_is_written_down_with_who_and_what() {
    let stand = Stand::new();
    stand.say(&["no"]);
    let [event] = &stand.wait_for("state=dead", 1)[..] else { panic!() };
    let id = event["id"].as_str().unwrap();
    let one = |call: &str, body: Value| {
        stand.post("ops", &format!("/api/events/{id}/{call}"), &body).expect(200).json()
    };
    assert_eq!(one("bury", json!({ "route": "crm" })), json!({ "buried": 1, "left": 0 }));
    assert_eq!(one("bury", json!({ "route": "crm" })), json!({ "buried": 0, "left": 1 }));
    assert_eq!(one("bury", json!({ "route": "else" })), json!({ "buried": 0, "left": 0 }));
    assert_eq!(one("replay", json!({ "route": "crm" })), json!({ "replayed": 1, "left": 0 }));
    let many = |call: &str, body: Value| {
        stand.post("ops", &format!("/api/{call}"), &body).expect(200).json()
    };
    let dry = many("replay", json!({ "state": "dead", "route": "books", "dry_run": true }));
    assert_eq!(dry, json!({ "replayed": 1, "left": 0 }));
    assert_eq!(
        many("bury", json!({ "route": "bot", "limit": 5 })),
        json!({ "buried": 1, "left": 0 })
    );
    let moved = many("replay", json!({ "route": "bot", "to_route": "crm" }));
    assert_eq!(moved, json!({ "replayed": 0, "left": 1 }), "it has a task there");
    stand
        .receive(r#"{"metadata":{"phone_number_id":"2"},"statuses":[{"id":"w","status":"read"}]}"#);
    let given = many("replay", json!({ "unrouted": true }));
    assert_eq!(given, json!({ "replayed": 0, "left": 0 }), "no route takes it still");

    let one = |details: Value| {
        let mut all = json!({ "id": id });
        all.as_object_mut().unwrap().extend(details.as_object().unwrap().clone());
        all
    };
    let expected = [
        ("bury", one(json!({ "route": "crm" }))),
        ("bury", one(json!({ "route": "crm" }))),
        ("bury", one(json!({ "route": "else" }))),
        ("replay", one(json!({ "route": "crm" }))),
        ("bury", json!({ "filter": { "route": "bot" }, "limit": 5 })),
        ("reroute", json!({ "filter": { "route": "bot" }, "to_route": "crm" })),
        ("assign", json!({ "filter": {} })),
    ];
    let expected = expected.map(|(action, details)| ("ops".to_owned(), action.to_owned(), details));
    assert_eq!(audit(&stand.place.sql()), expected);
}

fn a_completed_task_runs_once_more_when_it_is_asked_for_by_name() {
    let stand = Stand::new();
    stand.say(&["yes"]);
    let [event] = &stand.wait_for("state=completed&route=books", 1)[..] else { panic!() };
    let path = format!("/api/events/{}/replay", event["id"].as_str().unwrap());
    let plain = stand.post("ops", &path, &json!({ "route": "books" })).expect(200).json();
    assert_eq!(plain, json!({ "replayed": 0, "left": 1 }));
    let body = json!({ "route": "books", "rerun": true });
    let again = stand.post("ops", &path, &body).expect(200).json();
    assert_eq!(again, json!({ "replayed": 1, "left": 0 }));
    crate::crash::wait_until("a second run", || {
        let shown = stand.show(event["id"].as_str().unwrap());
        let books = |task: &&Value| task["route"] == "books";
        let task = shown["tasks"].as_array().unwrap().iter().find(books).unwrap();
        task["run"] == 2 && task["state"] == "completed"
    });
    let all = stand.post("ops", "/api/replay", &json!({ "route": "books", "rerun": true }));
    assert_eq!(all.expect(200).json(), json!({ "replayed": 1, "left": 0 }));
}
