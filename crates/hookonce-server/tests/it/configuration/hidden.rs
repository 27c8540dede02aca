//! What is secret is not quoted, however wrongly it is written.

use crate::program::Place;

const GOOD: &str = r#"
[sources.a]
scheme = "meta"
secrets = "12345678-a"
verify_token = "12345678-b"
[[admin.tokens]]
name = "ops"
role = "operate"
token = "12345678-c-is-long-enough"
[sinks.bot]
type = "http"
url = "http://127.0.0.1:1/"
secret = "12345678-d"
[[routes]]
name = "r"
steps = ["bot"]
"#;

fn said(text: &str) -> (i32, String) {
    let place = Place::new();
    place.write("hookonce.toml", text);
    let said = place.run(&["check"]);
    (said.code, said.stdout + &said.stderr)
}

#[test]
fn one_secret_may_stand_without_a_list() {
    let (code, text) = said(GOOD);
    assert_eq!(code, 0, "{text}");
    assert!(!text.contains("12345678"), "{text}");
}

#[test]
fn a_secret_of_a_wrong_type_is_not_quoted() {
    for key in ["secrets", "verify_token", "token", "secret"] {
        for wrong in ["12345678", "12345678.5", "{ a = \"12345678\" }", "[[12345678]]"] {
            let line = |line: &str| match line.split_once(" = ") {
                Some((name, _)) if name == key => format!("{key} = {wrong}"),
                _ => line.to_owned(),
            };
            let text: Vec<_> = GOOD.lines().map(line).collect();
            let (code, text) = said(&text.join("\n"));
            assert_eq!(code, 1, "{key} = {wrong}: {text}");
            assert!(text.contains("what is written there is not shown"), "{key} = {wrong}: {text}");
            assert!(!text.contains("12345678"), "{key} = {wrong}: {text}");
        }
    }
}

#[test]
fn a_url_is_quoted_at_no_key_for_there_may_be_a_password_in_it() {
    for url in [
        "http://u:12345678@",
        "postgres://u:12345678@host/db",
        "u:12345678@host",
        "amqp://u:12345678\\\"x@host",
    ] {
        for (key, line) in [
            ("url", format!("url = \"{url}\"")),
            ("type", format!("type = \"{url}\"")),
            ("scheme", format!("scheme = \"{url}\"")),
            ("role", format!("role = \"{url}\"")),
            ("steps", format!("steps = [\"{url}\"]")),
            ("steps", format!("steps = \"{url}\"")),
            ("name", format!("name = \"r\"\nlease = \"{url}\"")),
            ("name", format!("name = \"r\"\nmax_attempts = \"{url}\"")),
        ] {
            let replaced = |old: &str| match old.split_once(" = ") {
                Some((name, _)) if name == key => line.clone(),
                _ => old.to_owned(),
            };
            let text: Vec<_> = GOOD.lines().map(replaced).collect();
            let (code, text) = said(&text.join("\n"));
            // A host alone is the URL of nothing.
            assert!(code == 1, "{line}: {text}");
            assert!(!text.contains("12345678"), "{line}: {text}");
        }
        for section in ["[postgres]\nconnections", "[server]\nbody_limit", "[worker]\nlease"] {
            let (code, text) = said(&format!("{GOOD}\n{section} = \"{url}\"\n"));
            assert_eq!(code, 1, "{section}: {text}");
            assert!(!text.contains("12345678"), "{section}: {text}");
        }
        let (code, text) = said(&format!("store = \"{url}\"\n{GOOD}"));
        assert!(code == 1 || !url.contains("://") || url.starts_with("postgres"), "{text}");
        assert!(!text.contains("12345678"), "{text}");
    }
}
