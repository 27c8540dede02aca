//! The lines of the guide do what it says.

use std::fmt::Write as _;

use super::client::TOKENS;
use super::stand::Stand;
use crate::program::root;

#[test]
fn every_curl_line_of_the_guide_to_dead_letters_works() {
    let stand = Stand::new();
    stand.say(&["no"]);
    let [event] = &stand.wait_for("state=dead", 1)[..] else { panic!() };
    let id = event["id"].as_str().unwrap();
    let text = std::fs::read_to_string(root().join("docs/guides/dead-letters.md")).unwrap();
    let (_, ops) = TOKENS.iter().find(|(name, _)| *name == "ops").unwrap();
    let mut script = format!("set -e\nOPS_TOKEN={ops}\n");
    // Any answer but a good one is to end the script.
    script += "curl() { command curl --fail-with-body \"$@\"; echo; }\n";
    let mut lines = 0;
    for block in text.split("```sh\n").skip(1) {
        let block = block.split("```").next().unwrap();
        if block.contains("curl ") || block.contains("api=") {
            lines += block.matches("curl ").count();
            writeln!(script, "{block}").unwrap();
        }
    }
    let script = script
        .replace("http://127.0.0.1:8081", &format!("http://{}", stand.admin))
        .replace("c0fa7022-8b40-85d9-86c1-3f71bb80f8c7", id)
        .replace("shop", "books");
    let said = stand.place.shell(&script);
    assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
    assert_eq!(said.stdout.lines().count(), lines, "{}", said.stdout);
    assert!(said.stdout.contains("{\"replayed\":1,\"left\":0}"), "{}", said.stdout);
}
