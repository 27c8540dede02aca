//! The dashboard in a real browser, which a script for Node uses as people do.

use std::process::Command;

use serde_json::json;

use super::stand::Stand;
use crate::program::{Said, root};

/// A message is handled where the file `mended` is there, and its conversation waits where it is not.
const CONFIGURATION: &str = r#"
[server]
listen = "127.0.0.1:0"
min_free_disk = "1MiB"
[worker]
poll = "50ms"
[sources.a]
scheme = "meta"
unverified = true
verify_token = "y"
[sinks.shop]
type = "exec"
command = ["/usr/bin/test", "-e", "mended"]
[[routes]]
name = "shop"
steps = ["shop"]
max_attempts = 1
on_dead = "hold"
[[routes]]
name = "crm"
kinds = ["nothing"]
worker = "external"
[[routes]]
name = "bot"
kinds = ["nothing"]
worker = "external"
"#;

#[test]
fn people_see_what_arrives_and_mend_what_died_with_and_without_a_script() {
    let made = Command::new(root().join("scripts/examples.sh")).output().unwrap();
    assert!(made.status.success(), "{}", Said::from(made).stderr);
    let stand = Stand::with(CONFIGURATION);
    let pictures = root().join("target/dashboard");
    std::fs::create_dir_all(&pictures).unwrap();
    let told = json!({
        "admin": format!("http://{}", stand.admin),
        "webhooks": format!("{}/webhooks/a", stand.server.url),
        "token": "operate-0123456789abcdef",
        "mended": stand.place.path("mended"),
        "pictures": pictures,
    });
    let script = root().join("target/examples/browser/use.js");
    let said = Said::from(Command::new("node").arg(script).arg(told.to_string()).output().unwrap());
    assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
}
