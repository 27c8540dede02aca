//! A source of scheme `wasender` from outside: what is said of it, how it is tried out, and what of
//! its credentials is to be found afterwards.

use serde_json::Value;

use super::cases::client::{Answer, Client, request};
use super::program::{Place, Server};

const SECRET: &str = "ws-PLANTED-secret";
const CONFIG: &str = r#"
[server]
listen = "127.0.0.1:0"
min_free_disk = "0B"
[admin]
hosts = ["hooks.example.test"]
[sources.shop]
scheme = "wasender"
secrets = ["ws-PLANTED-secret"]
[sinks.print]
type = "log"
[[routes]]
name = "print"
steps = ["print"]
"#;

const MESSAGE: &str = r#"{"event":"messages.received","sessionId":"PLANTED-key","data":{"messages":{"key":{"id":"3EB0A","remoteJid":"15550001111@s.whatsapp.net"},"message":{"conversation":"hi"},"session_id":"PLANTED-key"}}}"#;

fn place() -> Place {
    let place = Place::new();
    place.write("hookonce.toml", CONFIG);
    place
}

#[test]
fn a_check_says_that_nothing_signs_the_body() {
    let said = place().run(&["check"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    let warning = "hookonce.toml:7: sources.shop: nothing signs the body of its requests";
    assert!(said.stderr.contains(warning), "{}", said.stderr);
    assert!(!said.stderr.contains("PLANTED"), "{}", said.stderr);
    let place = place();
    place.write(
        "hookonce.toml",
        &CONFIG.replace("[sinks.print]", "verify_token = \"x\"\n[sinks.print]"),
    );
    let said = place.run(&["check"]);
    assert!(said.code == 1 && said.stderr.contains("there is no key `verify_token`"));
}

#[test]
fn a_sample_shows_what_a_request_would_become() {
    let sample = ["check", "--json", "--source", "shop", "--sample", "-"];
    let said = place().run_with_input(&sample, MESSAGE).ok();
    assert!(!said.contains("PLANTED"), "{said}");
    let said: Value = serde_json::from_str(&said).unwrap();
    let shown = ["key", "kind", "lane", "element"].map(|name| said["events"][0][name].as_str());
    let right = ["message:3EB0A", "message.text", "15550001111", "/data/messages"];
    assert_eq!(shown, right.map(Some));
}

#[test]
fn the_line_that_sign_prints_brings_an_event() {
    let place = place();
    let server = place.serve(&[]);
    place.write("message.json", MESSAGE);
    let sign = ["sign", "--url", &server.url, "--source", "shop", "message.json"];
    let line = place.run(&sign).ok();
    assert!(line.contains(&format!("X-Webhook-Signature: {SECRET}")), "{line}");
    assert_eq!(place.shell(&line).ok(), r#"{"new":1,"duplicates":0}"#);
    assert_eq!(place.shell(&line).ok(), r#"{"new":0,"duplicates":1}"#);
    let listed = place.run(&["list", "--json"]).ok();
    assert!(listed.contains("message:3EB0A") && !listed.contains("PLANTED"), "{listed}");
}

#[test]
fn development_mode_has_a_source_of_it() {
    let place = Place::new();
    let server = place.serve(&["--listen", "127.0.0.1:0"]);
    place.write("message.json", MESSAGE);
    let sign = ["sign", "--url", &server.url, "--source", "wasender", "message.json"];
    let line = place.run(&sign).ok();
    assert_eq!(place.shell(&line).ok(), r#"{"new":1,"duplicates":0}"#);
}

/// Bodies with a session's key and codes in them: readable, not quite, and not at all.
const BODIES: [&[u8]; 9] = [
    MESSAGE.as_bytes(),
    br#"{"event":"messages.upsert","session\u0049d":"PLANTED-key","data":[{"key":{"id":"1"}},7]}"#,
    br#"{"event":"session.status","data":{"status":"need_scan","qr":"PLANTED-code"}}"#,
    br#"{"event":"qrcode.updated","data":{"base64":"PLANTED-code"},"code":"PLANTED-code"}"#,
    br#"{"event":"passkey.updated","data":"PLANTED-code"}"#,
    br#"{"event":"messages.upsert","sessionId":"PLANTED-key","data":{"messages":[{"key":{"id":"2"#,
    b"{\"event\":\"messages.upsert\",\"sessionId\":\"PLANTED-key\",\"data\":\"\xff\"}",
    br#"{"data":{"qr":"PLANTED-code"#,
    br"event=qrcode.updated&qr=PLANTED-code&sessionId=PLANTED-key",
];

#[test]
fn no_log_metric_answer_or_store_has_a_credential() {
    for level in ["info", "debug"] {
        let place = place();
        let mut command = place.command(&["serve"]);
        let server = Server::listening(command.env("HOOKONCE_LOG", level));
        let admin = server.stderr_line("admin API").split("http://").nth(1).unwrap().to_owned();
        let ask = |address: &str, bytes: Vec<u8>| Client::connect(address).ask(bytes);
        let address = server.url.strip_prefix("http://").unwrap();
        let mut answers = vec![];
        for body in BODIES {
            let post = |secret: &str| {
                let headers = [("X-Webhook-Signature", secret)];
                ask(address, request("POST", "/webhooks/shop", headers, body))
            };
            let taken = post(SECRET);
            assert_eq!(taken.status, 200, "{}", taken.body);
            // Once more, as a duplicate; and refused.
            answers.extend([taken, post(SECRET), post("ws-PLANTED-other")]);
        }
        assert_eq!(answers.iter().filter(|answer| answer.status == 401).count(), BODIES.len());
        // The message is printed, so that its task is done.
        let printed = server.stdout_line("message:3EB0A");
        assert!(!printed.contains("PLANTED"), "{printed}");
        answers.push(ask(
            admin.trim_end_matches("/api"),
            request("GET", "/metrics", [("A", "b")], b""),
        ));
        for Answer { body, .. } in &answers {
            assert!(!body.contains("PLANTED"), "{body}");
        }
        assert!(answers.last().unwrap().body.contains("hookonce_"));
        let said = server.into_stderr();
        assert!(said.contains("refused requests") && !said.contains("PLANTED"), "{said}");
        let shown = place.run(&["list", "--json", "--limit", "100"]).ok();
        assert!(shown.matches("\"unreadable\"").count() >= 4, "{shown}");
        for file in std::fs::read_dir(place.path("")).unwrap() {
            let path = file.unwrap().path();
            let bytes = std::fs::read(&path).unwrap();
            let has = bytes.windows(7).any(|part| part == b"PLANTED");
            let is_config = path.ends_with("hookonce.toml");
            assert_eq!(has, is_config, "{}", path.display());
            // Base64 of it, wherever it may begin.
            let encoded = ["UExBTlRFR", "BMQU5URU", "QTEFOVEVE"];
            let text = String::from_utf8_lossy(&bytes);
            assert!(encoded.iter().all(|part| !text.contains(part)), "{}", path.display());
        }
    }
}
