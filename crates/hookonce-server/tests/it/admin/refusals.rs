//! What is not answered, and how that is said.

use serde_json::json;

use super::client::Ask;
use super::stand::Stand;
use crate::engine::{either, on_both};

on_both![
    a_request_for_another_host_is_refused_on_every_path,
    only_a_token_that_is_known_proves_a_caller,
    what_a_call_says_wrongly_is_named,
    what_there_is_not_is_404_and_another_method_405,
    a_body_that_is_too_long_or_not_json_is_not_read,
    a_store_that_is_locked_is_503_and_nothing_is_done,
];

fn a_request_for_another_host_is_refused_on_every_path() {
    let stand = Stand::new();
    let port = stand.admin.rsplit(':').next().unwrap();
    let paths = ["/healthz", "/readyz", "/metrics", "/api/counts", "/api/nothing", "/"];
    for path in paths {
        let ask = || Ask::bare("GET", path).by("viewer");
        let status = |ask: Ask| stand.send(&ask).status;
        let ordinary = status(ask().header("host", "127.0.0.1"));
        assert_ne!(ordinary, 403, "{path}");
        for host in [&*format!("localhost:{port}"), "[::1]:1", "127.1.2.3", "ops.example.com:443"] {
            assert_eq!(status(ask().header("host", host)), ordinary, "{path} {host}");
        }
        for host in ["evil.example", "localhost.evil.example:8081", "10.0.0.1", "[2001:db8::1]", ""]
        {
            let answer = stand.send(&ask().header("host", host)).expect(403);
            assert!(answer.detail().contains("`admin.hosts`"));
        }
        assert_eq!(status(ask()), 403, "{path} without a host");
        assert_eq!(status(ask().header("host", "localhost").header("host", "evil.example")), 403);
    }
    let absolute = Ask::bare("GET", "http://evil.example/healthz").header("host", "localhost");
    assert_eq!(stand.send(&absolute).status, 403);
}

fn only_a_token_that_is_known_proves_a_caller() {
    let stand = Stand::new();
    let ask = || Ask::new("GET", "/api/counts");
    let known = "view-0123456789abcdef";
    for value in [
        String::new(),
        "Bearer".to_owned(),
        "Bearer ".to_owned(),
        format!("Basic {known}"),
        known.to_owned(),
        format!("Bearer {}", &known[1..]),
        format!("Bearer {known}0"),
        format!("Bearer {}", known.to_uppercase()),
    ] {
        // The whole token is nowhere in an answer, and neither are these.
        let answer = stand.send(&ask().header("authorization", &value)).expect(401);
        assert!(!answer.body.contains(&known[1..]), "{answer:?}");
    }
    stand.send(&ask().by("viewer").by("viewer")).expect(401);
    stand.send(&ask().header("authorization", &format!("bearer  {known}"))).expect(200);
    // Whoever isn't proven isn't told what there is.
    stand.send(&Ask::new("GET", "/api/nothing")).expect(401);
    stand.send(&Ask::new("DELETE", "/api/counts")).expect(401);
}

fn what_a_call_says_wrongly_is_named() {
    let stand = Stand::new();
    let event = "/api/events/c0fa7022-8b40-85d9-86c1-3f71bb80f8c7";
    for (path, detail) in [
        ("/api/events?stat=dead", "there is no parameter `stat`; did you mean `state`?"),
        ("/api/events?colour=1", "there is no parameter `colour`; there are after, "),
        ("/api/events?state=deed", "`state`: unknown variant `deed`, expected one of"),
        ("/api/events?limit=0", "`limit`: write a number from 1 to 1000"),
        ("/api/events?limit=1001", "`limit`: write a number from 1 to 1000"),
        ("/api/events?state=dead&limit=ten", "`limit`: "),
        ("/api/events?after=x", "`after`: `x` is no cursor"),
        ("/api/events?kind=[a]", "`kind`: `[a]` never matches"),
        ("/api/events?state=dead&state=dead", "duplicate field"),
    ] {
        let said = stand.get("viewer", path).expect(400).detail();
        assert!(said.contains(detail), "{path}: {said}");
    }
    stand.get("viewer", "/api/events?state=&source=&after=&limit=").expect(200);
    for (path, body, detail) in [
        ("/api/replay", "{}", "this would mean every task there is"),
        ("/api/replay", r#"{"dry_run":true}"#, "this would mean every task there is"),
        ("/api/bury", "", "this would mean every task there is"),
        ("/api/replay", r#"{"routes":"x"}"#, "there is no member `routes`; did you mean `route`?"),
        ("/api/replay", r#"{"state":"dead","limit":0}"#, "`limit`: write a number from 1"),
        ("/api/replay", r#"{"state":"dead","limit":"x"}"#, "`limit`: invalid type"),
        ("/api/replay", r#"{"state":7}"#, "`state`: "),
        ("/api/replay", r#"{"state":"dead","to_route":"x"}"#, "there is no route `x`"),
        ("/api/replay", r#"{"unrouted":true,"rerun":true}"#, "only one of"),
        ("/api/replay", "[1]", "the body is no object of JSON"),
        ("/api/replay", r#"{"state""#, "the body is no object of JSON"),
    ] {
        let said = stand.send(&Ask::new("POST", path).by("ops").json(body)).expect(400).detail();
        assert!(said.contains(detail), "{path} {body}: {said}");
    }
    for (body, detail) in [
        (json!({}), "missing field `routes`"),
        (json!({ "routes": [] }), "`routes`: name at least one"),
        (json!({ "routes": ["crm"], "limit": 101 }), "`limit`: write a number from 1 to 100"),
        (json!({ "routes": ["crm"], "lease": "1d1" }), "`lease`: `1d1` is no duration"),
        (json!({ "routes": ["crm"], "lease": "25h" }), "`lease`: write a time from `1s` to `24h`"),
        (json!({ "routes": ["crm"], "lease": "999ms" }), "`lease`: write a time from"),
        (json!({ "routes": ["crm"], "worker": "a\nb" }), "`worker`: write 1 to 128"),
        (json!({ "routes": ["crm"], "workers": 1 }), "did you mean `worker`?"),
    ] {
        let said = stand.post("crm", "/api/claims", &body).expect(400).detail();
        assert!(said.contains(detail), "{body}: {said}");
    }
    let finish = event.replace("events", "claims") + "/crm/finish";
    for (body, detail) in [
        (json!({ "token": "x" }), "missing field `outcome`"),
        (json!({ "token": "x", "outcome": "done" }), "`outcome`: unknown variant `done`"),
        (json!({ "token": "x", "outcome": "completed" }), "`token`: give that of the claim"),
        (json!({ "token": "x", "outcome": "retry" }), "missing field `error`"),
        (json!({ "token": "x", "outcome": "completed", "after": "1s" }), "`after`: unknown field"),
    ] {
        let said = stand.post("crm", &finish, &body).expect(400).detail();
        assert!(said.contains(detail), "{body}: {said}");
    }
}

fn what_there_is_not_is_404_and_another_method_405() {
    let stand = Stand::new();
    for path in ["/nothing", "/webhooks/a"] {
        stand.get("ops", path).expect(404).detail();
    }
    for path in
        ["/api", "/api/", "/api/nothing", "/api/events/", "/api/events/x", "/api/events/%ff"]
    {
        stand.get("ops", path).expect(404).detail();
    }
    let id = "c0fa7022-8b40-85d9-86c1-3f71bb80f8c7";
    let said = stand.get("ops", &format!("/api/events/{id}")).expect(404).detail();
    assert_eq!(said, format!("there is no event `{id}`"));
    for call in ["replay", "bury"] {
        stand.post("ops", &format!("/api/events/{id}/{call}"), &json!({})).expect(404).detail();
    }
    let body = json!({ "token": "0".repeat(32) });
    stand.post("crm", &format!("/api/claims/{id}/crm/extend"), &body).expect(404).detail();
    for (method, path, allow) in [
        ("POST", "/api/events", "GET, HEAD"),
        ("DELETE", "/api/counts", "GET, HEAD"),
        ("GET", "/api/replay", "POST"),
        ("OPTIONS", "/api/claims", "POST"),
        ("POST", &*format!("/api/claims/{id}/crm/steps/x"), "PUT"),
    ] {
        let answer = stand.send(&Ask::new(method, path).by("ops")).expect(405);
        assert_eq!(answer.header("allow"), Some(allow), "{method} {path}");
    }
    let head = stand.send(&Ask::new("HEAD", "/api/counts").by("viewer")).expect(200);
    assert_eq!((head.header("cache-control"), &*head.body), (Some("no-store"), ""));
    assert_eq!(head.header("access-control-allow-origin"), None);
}

fn a_body_that_is_too_long_or_not_json_is_not_read() {
    let stand = Stand::new();
    let ask = || Ask::new("POST", "/api/replay").by("ops");
    let announced = ask().header("content-type", "application/json");
    stand.send(&announced.clone().header("content-length", "1048577")).expect(413).detail();
    let chunk = format!("100001\r\n{}\r\n0\r\n\r\n", " ".repeat(0x10_0001));
    let chunked = ask().json(&chunk).header("transfer-encoding", "chunked");
    assert_eq!(stand.send(&chunked).expect(413).header("connection"), Some("close"));
    let form = Ask::new("POST", "/api/replay").by("ops").header("content-type", "text/plain");
    let form = form.header("content-length", "2");
    stand.send(&Ask::clone(&form).json("{}")).expect(415).detail();
}

fn a_store_that_is_locked_is_503_and_nothing_is_done() {
    let stand = Stand::new();
    stand.say(&["no"]);
    let [event] = &stand.wait_for("state=dead", 1)[..] else { panic!() };
    let lock = stand.place.sql();
    lock.run(either("begin immediate", "begin; lock table hookonce_tasks in exclusive mode"));
    let path = format!("/api/events/{}/replay", event["id"].as_str().unwrap());
    let answer = stand.post("ops", &path, &json!({ "route": "books" })).expect(503);
    assert_eq!(answer.header("retry-after"), Some("5"));
    answer.detail();
    // Looking is possible all the while.
    stand.get("viewer", "/api/counts").expect(200);
    drop(lock);
}
