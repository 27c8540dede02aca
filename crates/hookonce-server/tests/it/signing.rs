//! `hookonce sign`: a line that a shell takes as it is.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use super::program::Place;

const CONFIG: &str = r#"
[sources.whatsapp]
scheme = "meta"
secrets = ["file:secret"]
verify_token = "t"
[sources.open]
scheme = "meta"
unverified = true
[sinks.print]
type = "log"
[[routes]]
name = "print"
steps = ["print"]
"#;

fn place() -> Place {
    let place = Place::new();
    place.write("hookonce.toml", CONFIG);
    place.write("secret", " s3cret\n");
    place
}

/// What `curl` would send: the words after it, as the shell splits them.
fn words(place: &Place, line: &str) -> Vec<String> {
    let line = line.trim_end().strip_prefix("curl ").unwrap();
    let printed = place.shell(&format!("printf '%s\\0' {line}")).ok();
    printed.split_terminator('\0').map(str::to_owned).collect()
}

#[test]
fn the_signature_is_over_the_files_bytes() {
    let place = place();
    let body = "{\"a\": \"it's \u{e9}\"}\n";
    place.write("it's a $body.json", body);
    let line = place.run(&["sign", "--source", "whatsapp", "it's a $body.json"]).ok();
    let words = words(&place, &line);
    let mut mac = Hmac::<Sha256>::new_from_slice(b"s3cret").unwrap();
    mac.update(body.as_bytes());
    let tag = hex::encode(mac.finalize().into_bytes());
    let header = words.iter().find(|word| word.to_lowercase().starts_with("x-hub-signature-256"));
    assert!(header.unwrap().ends_with(&format!("sha256={tag}")), "{line}");
    let file = words.iter().find_map(|word| word.strip_prefix('@')).unwrap();
    assert_eq!(std::fs::read_to_string(file).unwrap(), body);
    assert_eq!(words.last().unwrap(), "http://127.0.0.1:8080/webhooks/whatsapp");
}

#[test]
fn a_body_from_standard_input_stands_in_the_line() {
    let place = place();
    let body = "@it's\n$HOME `x` \\ \"y\"\n";
    let line = place.run_with_input(&["sign", "--source", "whatsapp", "-"], body).ok();
    let words = words(&place, &line);
    let at = words.iter().position(|word| word == "--data-raw").unwrap();
    assert_eq!(words[at + 1], body);
}

#[test]
fn an_unverified_source_needs_no_signature() {
    let place = place();
    place.write("body", "{}");
    let url = "https://hooks.example.com/";
    let said = place.run(&["sign", "--json", "--url", url, "--source", "open", "body"]).ok();
    let said: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["url"], "https://hooks.example.com/webhooks/open");
    assert_eq!(said["headers"], serde_json::json!({ "content-type": "application/json" }));
    assert!(said["curl"].as_str().unwrap().starts_with("curl "));
}

#[test]
fn a_source_or_file_that_is_not_there_is_named() {
    let place = place();
    let said = place.run(&["sign", "--source", "whatsap", "secret"]);
    assert!(said.stderr.contains("no source `whatsap`; there are: open, whatsapp"));
    place.write("body", "{}");
    for url in ["localhost:8080", "hooks.example.com", "ftp://hooks.example.com", "https://"] {
        let said = place.run(&["sign", "--source", "open", "--url", url, "body"]);
        assert!(said.code == 1 && said.stderr.contains("is no address"), "{url}: {}", said.stderr);
    }
    let said = place.run(&["sign", "--source", "open", "nothing.json"]);
    assert!(said.stderr.contains("cannot read `nothing.json`"), "{}", said.stderr);
}
