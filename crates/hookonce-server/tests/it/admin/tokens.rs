//! Where tokens come from, and that they go nowhere else.

use serde_json::json;

use super::client::{Ask, TOKENS};
use super::stand::Stand;
use crate::program::{Place, Server};

#[test]
fn development_mode_prints_a_token_that_may_operate() {
    let place = Place::new();
    let server = place.serve(&["--listen", "127.0.0.1:0"]);
    let word = |part| server.stderr_line(part).rsplit(' ').next().unwrap().to_owned();
    let (url, token) = (word("admin API"), word("admin token"));
    assert!(place.read("hookonce.dev.toml").contains(&format!("token = \"{token}\"")));
    let line = format!(
        "curl -sS -H 'Authorization: Bearer {token}' -H 'Content-Type: application/json' \
         -d '{{\"state\":\"dead\"}}' {url}/replay"
    );
    assert_eq!(place.shell(&line).ok(), r#"{"replayed":0,"left":0}"#);
    assert!(server.terminate().success());
    let server = place.serve_json();
    let said: serde_json::Value = serde_json::from_str(&server.url).unwrap();
    assert_eq!(said["admin_token"], token);
    assert!(said["admin"].as_str().unwrap().starts_with("http://127.0.0.1:"));
}

#[test]
fn what_init_writes_has_a_token_and_without_one_the_server_warns() {
    let place = Place::new();
    place.run(&["init"]).ok();
    let text = place.read("hookonce.toml").replace("127.0.0.1:8080", "127.0.0.1:0");
    let token = text.split("token = \"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    place.write("hookonce.toml", &text);
    let counts = |server: &Server| {
        let url = server.stderr_line("admin API").rsplit(' ').next().unwrap().to_owned();
        let ask = Ask::new("GET", "/api/counts");
        let ask = ask.header("authorization", &format!("Bearer {token}"));
        ask.send(url.strip_prefix("http://").unwrap().trim_end_matches("/api")).status
    };
    let server = place.serve(&[]);
    assert_eq!(counts(&server), 200);
    assert!(server.terminate().success());
    let (before, rest) = text.split_once("[[admin.tokens]]").unwrap();
    let (_, after) = rest.split_once("[sources.").unwrap();
    place.write("hookonce.toml", &format!("{before}[sources.{after}"));
    let server = Server::start(&mut place.command(&["serve"]));
    server.stderr_line("warning: there is no `[[admin.tokens]]`: the admin API answers 401");
    assert_eq!(counts(&server), 401);
}

#[test]
fn no_token_is_ever_logged() {
    let mut stand = Stand::new();
    let text = stand.place.read("hookonce.toml");
    drop(stand.server);
    let mut command = stand.place.command(&["serve"]);
    let server = Server::listening(command.env("HOOKONCE_LOG", "trace"));
    let line = server.stderr_line("admin API");
    stand.admin = line.split("http://").nth(1).unwrap().trim_end_matches("/api").to_owned();
    stand.server = server;
    stand.say(&["no"]);
    stand.wait_for("state=dead", 1);
    let claim = stand.claim("crm");
    let finish = json!({ "token": claim["token"], "outcome": "retry", "error": "x" });
    stand.post("both", &super::stand::path(&claim, "finish"), &finish).expect(204);
    stand.post("both", &super::stand::path(&claim, "finish"), &finish).expect(409);
    stand.post("ops", "/api/replay", &json!({ "state": "dead" })).expect(200);
    stand.send(&Ask::new("GET", "/api/counts").header("authorization", "Basic x")).expect(401);
    let said = stand.server.into_stderr();
    assert!(said.contains("a claim was lost") && text.contains(TOKENS[0].1));
    for (name, token) in TOKENS {
        assert!(!said.contains(token), "that of {name} is");
    }
    assert!(!said.contains(claim["token"].as_str().unwrap()), "that of the claim is");
}

#[test]
fn a_reload_takes_tokens_and_routes_over() {
    let stand = Stand::new();
    stand.say(&["hello"]);
    let claim = stand.claim("bot");
    let changed = "worker-changed-0123456789abcdef";
    let text = stand.place.read("hookonce.toml").replace(TOKENS[2].1, changed);
    let text = text.replace("routes = [\"crm\"]", "routes = [\"new\"]");
    let route = "[[routes]]\nname = \"new\"\nkinds = [\"message.*\"]\nworker = \"external\"\n";
    stand.place.write("hookonce.toml", &(text + route));
    stand.server.send("HUP");
    stand.server.stderr_line("was reloaded");
    stand.get("crm", "/api/events").expect(401);
    let ask =
        |path: &str| Ask::new("POST", path).header("authorization", &format!("Bearer {changed}"));
    let routes = |route: &str| json!({ "routes": [route] });
    stand.send(&ask("/api/claims").json(&routes("crm"))).expect(403);
    let given = stand.post("ops", "/api/replay", &json!({ "state": "dead", "to_route": "new" }));
    given.expect(200);
    let claims = stand.send(&ask("/api/claims").json(&routes("new"))).expect(200).json();
    assert_eq!(claims, json!({ "claims": [] }));
    // What was claimed before is finished after.
    let finish = json!({ "token": claim["token"], "outcome": "completed" });
    stand.post("both", &super::stand::path(&claim, "finish"), &finish).expect(204);
    // One that doesn't check changes nothing.
    stand.place.write("hookonce.toml", "[[admin.tokens]]\nname = \"x\"\n");
    stand.server.send("HUP");
    stand.server.stderr_line("was not reloaded");
    stand.get("viewer", "/api/counts").expect(200);
}
