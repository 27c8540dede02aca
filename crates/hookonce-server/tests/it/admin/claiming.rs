//! A worker outside, from its claim to the finish.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::client::Ask;
use super::stand::{Stand, path};
use crate::crash::wait_until;
use crate::engine::on_both;

on_both![
    a_worker_claims_extends_remembers_a_step_and_finishes,
    a_lost_claim_writes_nothing,
    the_routes_policy_decides_when_to_try_again_and_when_to_give_up,
    no_server_worker_takes_what_is_left_to_workers_outside,
    a_worker_that_only_gives_back_does_not_outlive_max_age,
    what_a_task_remembers_of_its_steps_is_bounded,
];

impl Stand {
    /// A call about a claim, with its token and what else it says.
    fn about(&self, claim: &Value, call: &str, say: &Value) -> super::client::Answer {
        let mut body = json!({ "token": claim["token"] });
        body.as_object_mut().unwrap().extend(say.as_object().unwrap().clone());
        let method = if call.starts_with("steps/") { "PUT" } else { "POST" };
        self.send(&Ask::new(method, &path(claim, call)).by("both").json(&body))
    }

    /// The task that a claim is of, as it is stored.
    fn task(&self, claim: &Value) -> Value {
        let shown = self.show(claim["id"].as_str().unwrap());
        let tasks = shown["tasks"].as_array().unwrap();
        tasks.iter().find(|task| task["route"] == claim["route"]).unwrap().clone()
    }
}

fn time(value: &Value) -> Timestamp {
    value.as_str().unwrap().parse().unwrap()
}

fn a_worker_claims_extends_remembers_a_step_and_finishes() {
    let stand = Stand::new();
    stand.say(&["hello"]);
    let body = json!({ "routes": ["crm", "bot"], "limit": 1, "lease": "30s", "worker": "w:1" });
    let claims = stand.post("both", "/api/claims", &body).expect(200).json();
    let [claim] = &claims["claims"].as_array().unwrap()[..] else { panic!("{claims}") };
    assert_eq!((&claim["attempt"], &claim["epoch"]), (&json!(1), &json!(1)));
    assert_eq!(claim["token"].as_str().unwrap().len(), 32);
    assert_eq!(claim["event"]["id"], claim["id"]);
    assert_eq!(claim["steps"], json!({}));
    let payload: Value = serde_json::from_str(claim["event"]["payload"].as_str().unwrap()).unwrap();
    let element = claim["event"]["element"].as_str().unwrap();
    assert_eq!(payload.pointer(element).unwrap()["text"]["body"], "hello");
    assert_eq!(claim["event"]["copies"], 1);

    let before = time(&stand.task(claim)["lease_until"]);
    assert_eq!(before, time(&claim["lease_until"]));
    stand.about(claim, "extend", &json!({ "lease": "1h" })).expect(204);
    assert!(time(&stand.task(claim)["lease_until"]) > before);
    let result = json!({ "number": 12_345_678_901_234_567_890_u64, "text": "é" });
    stand.about(claim, "steps/charge%20it", &json!({ "result": result })).expect(204);
    stand.about(claim, "steps/mail", &json!({})).expect(204);
    stand.about(claim, "release", &json!({})).expect(204);
    let task = stand.task(claim);
    assert_eq!(
        (&task["state"], &task["attempt"], &task["epoch"]),
        (&json!("pending"), &json!(0), &json!(1))
    );

    // The next claim brings the steps along, and the old token proves nothing.
    let again = stand.claim(claim["route"].as_str().unwrap());
    assert_eq!((&again["attempt"], &again["epoch"]), (&json!(1), &json!(2)));
    assert_eq!(again["steps"], json!({ "charge it": result, "mail": null }));
    stand.about(claim, "finish", &json!({ "outcome": "completed" })).expect(409).detail();
    stand.about(&again, "finish", &json!({ "outcome": "completed" })).expect(204);
    stand.about(&again, "finish", &json!({ "outcome": "completed" })).expect(409).detail();
    assert_eq!(stand.task(claim)["state"], "completed");
    let shown = stand.show(claim["id"].as_str().unwrap());
    let attempts: Vec<_> = shown["attempts"].as_array().unwrap().iter().collect();
    let of = |attempt: &&&Value| attempt["route"] == claim["route"];
    let attempt = attempts.iter().find(of).unwrap();
    assert_eq!((&attempt["worker"], &attempt["outcome"]), (&json!("w"), &json!("completed")));
}

fn a_lost_claim_writes_nothing() {
    let stand = Stand::new();
    stand.say(&["hello"]);
    let body = json!({ "routes": ["bot"], "lease": "1s" });
    let claim = stand.post("both", "/api/claims", &body).expect(200).json()["claims"][0].clone();
    let id = claim["id"].as_str().unwrap();
    let lapsed = || stand.show(id)["attempts"].to_string().contains("\"lapsed\"");
    wait_until("the lapse", lapsed);
    wait_until("the end of the lapsed attempt", || stand.task(&claim)["state"] == "pending");
    let before = stand.show(id);
    for (call, say) in [
        ("finish", json!({ "outcome": "completed" })),
        ("finish", json!({ "outcome": "dead", "error": "x" })),
        ("finish", json!({ "outcome": "retry", "error": "x" })),
        ("extend", json!({})),
        ("release", json!({})),
        ("steps/charge", json!({ "result": 1 })),
    ] {
        let said = stand.about(&claim, call, &say).expect(409).detail();
        assert!(said.contains("the claim is lost"), "{said}");
    }
    assert_eq!(stand.show(id), before);
}

fn the_routes_policy_decides_when_to_try_again_and_when_to_give_up() {
    let stand = Stand::new();
    stand.say(&["hello"]);
    let claim = stand.claim("crm");
    let id = claim["id"].as_str().unwrap();
    stand.about(&claim, "finish", &json!({ "outcome": "retry", "error": "busy" })).expect(204);
    let task = stand.task(&claim);
    assert_eq!((&task["state"], &task["error"]), (&json!("pending"), &json!("busy")));
    let ended = time(&stand.show(id)["attempts"][0]["ended_at"]);
    let wait = time(&task["due_at"]).duration_since(ended).as_secs_f64();
    assert!((2.4..=5.1).contains(&wait), "{wait} s: the upper half of 5 s");

    stand.post("ops", &format!("/api/events/{id}/replay"), &json!({ "route": "crm" })).expect(200);
    let claim = stand.claim("crm");
    assert_eq!(claim["attempt"], 2);
    let say = json!({ "outcome": "retry", "error": "still busy", "after": "1h" });
    stand.about(&claim, "finish", &say).expect(204);
    let task = stand.task(&claim);
    assert_eq!((&task["state"], &task["error"]), (&json!("dead"), &json!("still busy")));

    // Another route has attempts left, and waits as long as it is told to.
    let claim = stand.claim("bot");
    assert!(time(&claim["lease_until"]).duration_since(ended).as_secs() > 250, "its own lease");
    let say = json!({ "outcome": "retry", "error": "later", "after": "1h" });
    stand.about(&claim, "finish", &say).expect(204);
    let task = stand.task(&claim);
    let wait = time(&task["due_at"]).duration_since(ended).as_secs_f64();
    assert!((3600.0..3700.0).contains(&wait), "{wait} s");
    stand.post("ops", &format!("/api/events/{id}/replay"), &json!({ "route": "bot" })).expect(200);
    let claim = stand.claim("bot");
    let say = json!({ "outcome": "dead", "error": "no such customer" });
    stand.about(&claim, "finish", &say).expect(204);
    assert_eq!(stand.task(&claim)["state"], "dead");
    assert_eq!(stand.claim("bot"), Value::Null);
}

fn no_server_worker_takes_what_is_left_to_workers_outside() {
    let stand = Stand::new();
    stand.say(&["a", "b", "c"]);
    stand.wait_for("state=completed&route=books", 3);
    stand.wait_for("state=pending&route=crm", 3);
    let body = json!({ "routes": ["crm"], "limit": 2 });
    let claims = stand.post("crm", "/api/claims", &body).expect(200).json();
    assert_eq!(claims["claims"].as_array().unwrap().len(), 2);
    // A task that waits as long as it is told is not given out before.
    let claim = &claims["claims"][0];
    stand.about(claim, "release", &json!({ "after": "1h" })).expect(204);
    let rest = stand.post("crm", "/api/claims", &json!({ "routes": ["crm"] })).expect(200).json();
    assert_eq!(rest["claims"].as_array().unwrap().len(), 1);
}

fn a_worker_that_only_gives_back_does_not_outlive_max_age() {
    let stand = Stand::with(
        &super::stand::CONFIGURATION.replace("lease = \"5m\"", "lease = \"5m\"\nmax_age = \"1h\""),
    );
    stand.say(&["hello"]);
    let claim = stand.claim("bot");
    stand.about(&claim, "release", &json!({ "after": "59m" })).expect(204);
    assert_eq!(stand.task(&claim)["state"], "pending");
    stand.place.run(&["replay", claim["id"].as_str().unwrap()]).ok();
    let claim = stand.claim("bot");
    stand.about(&claim, "release", &json!({ "after": "2h" })).expect(204);
    let task = stand.task(&claim);
    assert_eq!(task["state"], "dead");
    assert!(task["error"].as_str().unwrap().starts_with("older than `max_age`"), "{task}");
}

fn what_a_task_remembers_of_its_steps_is_bounded() {
    let stand = Stand::new();
    stand.say(&["hello"]);
    let claim = stand.claim("bot");
    let long = json!({ "result": "x".repeat(20_000) });
    let said = stand.about(&claim, "steps/long", &long).expect(400).detail();
    assert!(said.contains("longer than 16 KiB"), "{said}");
    for n in 0..64 {
        stand.about(&claim, &format!("steps/s{n}"), &json!({})).expect(204);
    }
    let said = stand.about(&claim, "steps/more", &json!({})).expect(400).detail();
    assert!(said.contains("64 steps"), "{said}");
    stand.about(&claim, "steps/s5", &json!({ "result": 1 })).expect(204);
}
