//! Twilio, WAHA and Evolution API on the real program: what `sign` prints is taken, once.

use super::cases::stand::until;
use super::program::{Place, Server};

const CONFIG: &str = r#"
[server]
listen = "127.0.0.1:0"
[sources.twilio]
scheme = "twilio"
secrets = ["file:secret"]
public_url = "https://hooks.example.com/webhooks/twilio"
[sources.waha]
scheme = "waha"
secrets = ["file:secret"]
[sources.evolution]
scheme = "evolution"
secrets = ["file:secret"]
[sources.static]
scheme = "evolution"
secrets = ["file:secret"]
signature = "header"
header = "X-Webhook-Secret"
[sinks.print]
type = "log"
[[routes]]
name = "print"
steps = ["print"]
"#;

/// A request of each source, and the key of what it brings.
const REQUESTS: [(&str, &str, &str); 5] = [
    (
        "twilio",
        "MessageSid=SM1&From=whatsapp%3A%2B1&To=whatsapp%3A%2B2&Body=it's+%F0%9F%8D%9D",
        "message:SM1",
    ),
    ("twilio", r#"[{"id":"EZ1","type":"com.example.a"}]"#, "event:EZ1"),
    (
        "waha",
        r#"{"event":"message","session":"s","payload":{"id":"false_1@c.us_A","body":"x"}}"#,
        "message:s:A",
    ),
    (
        "evolution",
        r#"{"event":"messages.upsert","instance":"i","data":{"key":{"id":"A"},"message":{"conversation":"x"}},"apikey":"KEY-OF-GATEWAY"}"#,
        "message:i:A",
    ),
    (
        "static",
        r#"{"event":"messages.upsert","instance":"i","data":{"key":{"id":"B"}},"apikey":"KEY-OF-GATEWAY""#,
        "",
    ),
];

fn place() -> Place {
    let place = Place::new();
    place.write("hookonce.toml", CONFIG);
    place.write("secret", "SECRET-OF-OURS\n");
    place
}

#[test]
fn what_sign_prints_is_taken_once_and_changed_is_not() {
    let place = place();
    let server = place.serve(&[]);
    for (source, body, _) in REQUESTS {
        place.write("body", body);
        let line = place.run(&["sign", "--url", &server.url, "--source", source, "body"]).ok();
        let status = |line: &str| {
            let line = line.trim_end().replacen("curl ", "curl -o answer -w '%{http_code}' ", 1);
            place.shell(&line).ok()
        };
        assert_eq!(status(&line), "200", "{source} {body}");
        assert_eq!(status(&line), "200");
        let answer = place.read("answer");
        let right = if source == "twilio" { "<Response/>" } else { r#"{"new":0,"duplicates":1}"# };
        assert!(answer.ends_with(right), "{answer}");
        place.write("body", &format!("{body} "));
        // Nothing signs the body of Evolution's requests.
        let right = if ["evolution", "static"].contains(&source) { "200" } else { "401" };
        assert_eq!(status(&line), right, "{source}");
    }
    let listed: serde_json::Value =
        serde_json::from_str(&place.run(&["list", "--json"]).ok()).unwrap();
    let keys: Vec<_> =
        listed["events"].as_array().unwrap().iter().map(|event| &event["key"]).collect();
    for (_, _, key) in REQUESTS.iter().filter(|(_, _, key)| !key.is_empty()) {
        assert!(keys.iter().any(|other| *other == key), "{key} of {keys:?}");
    }
}

#[test]
fn keys_of_a_gateway_are_kept_nowhere_and_told_nobody() {
    let place = place();
    let mut command = place.command(&["serve"]);
    let server = Server::listening(command.env("HOOKONCE_LOG", "debug"));
    let mut told = String::new();
    for (source, body, _) in REQUESTS {
        place.write("body", body);
        let line = place.run(&["sign", "--url", &server.url, "--source", source, "body"]).ok();
        told += &place.shell(&line).ok();
        // One that isn't proven.
        let url = format!("{}/webhooks/{source}", server.url);
        told += &place.shell(&format!("curl -sS --data-binary @body {url}")).ok();
    }
    until("each event that can be read is printed", || {
        let done = place.run(&["list", "--json", "--state", "completed"]).ok();
        done.matches("\"state\":\"completed\",\"tasks\"").count() == 4
    });
    told += &place.run(&["list", "--json"]).ok();
    let said = server.into_output();
    assert!(said.contains("\"key\":\"message:i:A\""), "the log sink has written it: {said}");
    told += &said;
    for secret in ["KEY-OF-GATEWAY", "SECRET-OF-OURS"] {
        assert!(!told.contains(secret), "{told}");
        for file in ["hookonce.db", "hookonce.db-wal"] {
            let Ok(kept) = std::fs::read(place.path(file)) else { continue };
            assert!(!kept.windows(secret.len()).any(|part| part == secret.as_bytes()), "{file}");
        }
    }
}

#[test]
fn a_sample_of_a_form_shows_its_event() {
    let place = place();
    let (source, body, key) = REQUESTS[0];
    let said =
        place.run_with_input(&["check", "--json", "--source", source, "--sample", "-"], body);
    let said: serde_json::Value = serde_json::from_str(&said.ok()).unwrap();
    let event = &said["events"][0];
    assert_eq!((&event["key"], &event["kind"]), (&key.into(), &"message.text".into()));
    assert_eq!((&event["lane"], &event["element"]), (&"+2:+1".into(), &"".into()));
}
