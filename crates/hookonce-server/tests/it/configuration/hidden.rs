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
