//! Senders by scheme `generic` on the real program: a request signed by `hookonce sign` is taken.

use serde_json::Value;

use super::program::Place;

const CONFIG: &str = r#"
[server]
listen = "127.0.0.1:0"
min_free_disk = "0B"
[sources.standard-webhooks]
scheme = "standard-webhooks"
secrets = ["whsec_AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA="]
[sources.gupshup]
scheme = "gupshup"
secrets = ["s3cret"]
[sources.whapi]
scheme = "whapi"
secrets = ["s3cret"]
[sources.github]
scheme = "github"
secrets = ["s3cret"]
[sources.stripe]
scheme = "stripe"
secrets = ["old", "s3cret"]
[sources.slack]
scheme = "slack"
secrets = ["s3cret"]
[sources.basic]
scheme = "generic"
secrets = ["user:password"]
key = "/id"
[sources.basic.signature]
type = "basic"
[sources.token]
scheme = "generic"
secrets = ["s3cret"]
key = "/id"
[sources.token.signature]
type = "jwt"
body_claim = "payload_hash"
tolerance = "1m"
[sources.bird]
scheme = "generic"
secrets = ["s3cret"]
public_url = "https://hooks.example.test/bird"
key = "/id"
[sources.bird.signature]
type = "hmac"
header = "messagebird-signature"
encoding = "base64"
template = "{timestamp}\n{url}\n{body_sha256}"
timestamp_header = "messagebird-request-timestamp"
tolerance = "1m"
[[routes]]
name = "all"
steps = ["log"]
[sinks.log]
type = "log"
"#;

const SOURCES: [&str; 9] = [
    "standard-webhooks",
    "gupshup",
    "whapi",
    "github",
    "stripe",
    "slack",
    "basic",
    "token",
    "bird",
];

#[test]
fn a_request_that_was_signed_by_us_is_taken_once_and_listed() {
    let place = Place::new();
    place.write("hookonce.toml", CONFIG);
    place.run(&["check"]).ok();
    let server = place.serve(&[]);
    place.write("body.json", r#"{"id":"A","event_id":"A","type":"ping","say":"it's"}"#);
    for source in SOURCES {
        let arguments = ["sign", "--url", &server.url, "--source", source, "body.json"];
        let line = place.run(&arguments).ok();
        let line = line.trim_end();
        assert_eq!(place.shell(line).ok(), r#"{"new":1,"duplicates":0}"#, "{line}");
        assert_eq!(place.shell(line).ok(), r#"{"new":0,"duplicates":1}"#, "{line}");
        let page = place.run(&["list", "--json", "--source", source]).ok();
        let page: Value = serde_json::from_str(&page).unwrap();
        assert_eq!(page["events"].as_array().unwrap().len(), 1, "{source}");
        // The same without what proves it.
        let url = line.rsplit('\'').nth(1).unwrap();
        let bare =
            format!("curl -sS -o /dev/null -w '%{{http_code}}' --data-binary @body.json '{url}'");
        assert_eq!(place.shell(&bare).ok(), "401", "{source}");
    }
}

#[test]
fn a_question_by_post_is_answered_where_it_is_proven() {
    let place = Place::new();
    place.write("hookonce.toml", CONFIG);
    let server = place.serve(&[]);
    place.write("body.json", r#"{"type":"url_verification","challenge":"3eZbrw1a"}"#);
    let line = place.run(&["sign", "--url", &server.url, "--source", "slack", "body.json"]).ok();
    assert_eq!(place.shell(line.trim_end()).ok(), "3eZbrw1a");
    let forged = line.replace("v0=", "v0=00");
    assert_eq!(place.shell(forged.trim_end()).ok(), "the sender is not proven\n");
    let page: Value = serde_json::from_str(&place.run(&["list", "--json"]).ok()).unwrap();
    assert_eq!(page["events"].as_array().unwrap().len(), 0);
}
