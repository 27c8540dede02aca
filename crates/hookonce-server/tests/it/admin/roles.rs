//! Each call by each role.

use serde_json::json;

use super::client::Ask;
use super::stand::Stand;

const ID: &str = "c0fa7022-8b40-85d9-86c1-3f71bb80f8c7";

/// Every call by its name in the document, and who may make it.
const CALLS: [(&str, &[&str]); 13] = [
    ("list_events", &["viewer", "ops", "crm"]),
    ("get_event", &["viewer", "ops", "crm"]),
    ("get_counts", &["viewer", "ops"]),
    ("get_openapi", &["viewer", "ops", "crm"]),
    ("replay_event", &["ops"]),
    ("bury_event", &["ops"]),
    ("replay", &["ops"]),
    ("bury", &["ops"]),
    ("claim", &["crm"]),
    ("finish", &["crm"]),
    ("extend", &["crm"]),
    ("release", &["crm"]),
    ("record_step", &["crm"]),
];

#[test]
fn each_role_may_make_its_own_calls_and_no_others() {
    let stand = Stand::new();
    let document = stand.get("viewer", "/api/openapi.json").expect(200).json();
    let mut seen = 0;
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            let name = operation["operationId"].as_str().unwrap();
            let (_, allowed) = CALLS.iter().find(|(known, _)| *known == name).unwrap();
            let real = path.replace("{id}", ID).replace("{route}", "crm").replace("{name}", "x");
            let ask = Ask::new(&method.to_uppercase(), &real);
            let ask = if method == "get" { ask } else { ask.json(&json!({})) };
            let nobody = stand.send(&ask).expect(401);
            assert_eq!(nobody.header("www-authenticate"), Some("Bearer"));
            for who in ["viewer", "ops", "crm"] {
                let answer = stand.send(&ask.clone().by(who));
                if allowed.contains(&who) {
                    assert!(![401, 403].contains(&answer.status), "{who} {name}: {answer:?}");
                } else {
                    assert_eq!(answer.status, 403, "{who} {name}: {answer:?}");
                    assert!(answer.detail().contains("the token's role is"), "{answer:?}");
                }
            }
            seen += 1;
        }
    }
    assert_eq!(seen, CALLS.len());
}

#[test]
fn a_worker_is_shown_and_given_what_is_of_its_routes() {
    let stand = Stand::new();
    stand.say(&["yes"]);
    let [event] = &stand.wait_for("state=completed", 1)[..] else { panic!() };
    let id = event["id"].as_str().unwrap();
    assert_eq!(event["tasks"].as_array().unwrap().len(), 3);
    stand.receive(
        r#"{"metadata":{"phone_number_id":"2"},"statuses":[{"id":"wamid.0.yes","status":"read"}]}"#,
    );
    let [status] = &stand.wait_for("state=recorded", 1)[..] else { panic!() };

    // With one route it is meant, with several one has to be named.
    let listed = stand.get("crm", "/api/events").expect(200).json();
    let routes = |event: &serde_json::Value| {
        let tasks = event["tasks"].as_array().unwrap().iter();
        tasks.map(|task| task["route"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(listed["events"].as_array().unwrap().len(), 1);
    assert_eq!(routes(&listed["events"][0]), ["crm"]);
    assert_eq!(listed["events"][0]["state"], "pending", "that of its own task");
    assert!(
        stand.get("both", "/api/events").expect(400).detail().starts_with("`route`: say which")
    );
    let listed = stand.get("both", "/api/events?route=bot").expect(200).json();
    assert_eq!(routes(&listed["events"][0]), ["bot", "crm"]);
    for who in ["crm", "both"] {
        let refused = stand.get(who, "/api/events?route=books").expect(403);
        assert!(refused.detail().contains("`books` is not among those of the token"));
    }
    let shown = stand.get("crm", &format!("/api/events/{id}")).expect(200).json();
    assert_eq!(routes(&shown), ["crm"]);
    assert_eq!(shown["attempts"], json!([]), "that of `books` isn't its own");
    stand.get("crm", &format!("/api/events/{}", status["id"].as_str().unwrap())).expect(404);

    // Nor can it claim, or finish, what is another's.
    stand.post("crm", "/api/claims", &json!({ "routes": ["bot"] })).expect(403);
    stand.post("crm", "/api/claims", &json!({ "routes": ["crm", "books"] })).expect(403);
    let claim = stand.claim("bot");
    let finish = json!({ "token": claim["token"], "outcome": "completed" });
    stand.post("crm", &super::stand::path(&claim, "finish"), &finish).expect(403);
    let body = json!({ "routes": ["crm"] });
    let claims = stand.post("crm", "/api/claims", &body).expect(200).json();
    assert_eq!(routes(&claims["claims"][0]["event"]), ["crm"]);
    assert_eq!(stand.show(id)["tasks"][2]["worker"], "crm", "its name, where it gives none");
}
