//! The program with an `exec` sink: what of its configuration is refused, and what its commands see.

use super::crash::wait_until;
use super::program::{Place, Server};

/// A configuration whose one step is a command with these keys.
fn config(keys: &str) -> String {
    format!(
        r#"
[server]
listen = "127.0.0.1:0"
[worker]
poll = "100ms"
grace = "1m"
[sources.whatsapp]
scheme = "meta"
secrets = ["env:APP_SECRET"]
verify_token = "t"
[[routes]]
name = "books"
kinds = ["message.*"]
steps = ["script"]
[sinks.script]
type = "exec"
{keys}
"#
    )
}

const MESSAGE: &str = r#"{"object":"whatsapp_business_account","entry":[{"id":"1","changes":[{"field":"messages","value":{"messaging_product":"whatsapp","metadata":{"phone_number_id":"2"},"messages":[{"from":"3","id":"wamid.1","timestamp":"1749416383","type":"text","text":{"body":"é \u0000"}}]}}]}]}"#;

/// Serves the configuration in `etc`, from the directory above it.
fn serve(place: &Place, keys: &str) -> Server {
    std::fs::create_dir(place.path("etc")).unwrap();
    place.write("etc/hookonce.toml", &config(keys));
    place.write("message.json", MESSAGE);
    let mut serve = place.command(&["serve", "--config", "etc/hookonce.toml"]);
    let path = std::env::var_os("PATH").unwrap();
    Server::listening(serve.env("APP_SECRET", "s3cret").env("PATH", path).env("HOME", "/nowhere"))
}

/// Sends the message, signed.
fn send(place: &Place, server: &Server) -> String {
    let arguments = ["sign", "--config", "etc/hookonce.toml", "--source", "whatsapp"];
    let mut sign = place.command(&arguments);
    sign.args(["--url", &server.url, "message.json"]).env("APP_SECRET", "s3cret");
    let line = String::from_utf8(sign.output().unwrap().stdout).unwrap();
    place.shell(&line).ok()
}

#[test]
fn an_event_is_one_run_of_the_command_beside_the_configuration() {
    let place = Place::new();
    let server = serve(&place, r#"command = ["sh", "-c", "cat >> effects; echo >> effects"]"#);
    assert_eq!(send(&place, &server), r#"{"new":1,"duplicates":0}"#);
    wait_until("the task is completed", || stats(&place)["completed"] == 1);
    assert_eq!(send(&place, &server), r#"{"new":0,"duplicates":1}"#);
    assert!(server.terminate().success());
    assert_eq!(place.read("etc/effects"), format!("{MESSAGE}\n"));
}

#[test]
fn a_command_gets_the_programs_path_and_home_and_none_of_its_secrets() {
    let place = Place::new();
    let server = serve(&place, r#"command = ["cp", "/proc/self/environ", "environment"]"#);
    send(&place, &server);
    wait_until("the task is completed", || stats(&place)["completed"] == 1);
    let text = place.read("etc/environment");
    let names: Vec<_> = text.split_terminator('\0').map(|v| v.split('=').next().unwrap()).collect();
    let is_attribute = |name: &&str| name.starts_with("CE_");
    let (attributes, mut others): (Vec<&str>, Vec<&str>) =
        names.into_iter().partition(is_attribute);
    others.sort_unstable();
    assert_eq!(others, ["CONTENT_TYPE", "HOME", "IDEMPOTENCY_KEY", "PATH"]);
    assert_eq!(attributes.len(), 10, "{attributes:?}");
    assert!(text.contains("HOME=/nowhere\0") && text.contains("CE_TYPE=message.text\0"));
}

/// Fails with `shutdown_background` for `shutdown_timeout` in `main`: on one processor every other
/// time, on several seldom.
#[test]
fn told_twice_to_stop_it_leaves_no_command_running() {
    let place = Place::new();
    let command = "echo $$ > new; mv new child; exec sleep 1000";
    let server = serve(&place, &format!(r#"command = ["sh", "-c", "{command}"]"#));
    send(&place, &server);
    wait_until("the command runs", || place.path("etc/child").exists());
    server.signal();
    server.stderr_line("stopping");
    server.signal();
    assert!(!server.ended().success());
    let child = place.read("etc/child");
    wait_until("the command is gone", || {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.trim()));
        // A process that nobody has reaped yet is gone.
        stat.map_or(true, |stat| stat.contains(") Z "))
    });
}

fn stats(place: &Place) -> serde_json::Value {
    let stats = place.run(&["stats", "--config", "etc/hookonce.toml", "--json"]).ok();
    serde_json::from_str(&stats).unwrap()
}

#[test]
fn a_configuration_that_can_run_nothing_is_refused() {
    let sh = r#"command = ["sh"]"#;
    let wrong = [
        ("", "sinks.script: `command` is missing"),
        ("command = []", "sinks.script.command: there is no program; write one and its"),
        (r#"command = [" ", "x"]"#, "sinks.script.command: there is no program; write one"),
        (
            r#"command = ["sh", "a\u0000"]"#,
            "sinks.script.command[1]: no program can be given a NUL",
        ),
        (r#"command = "sh""#, "sinks.script.command: invalid type: string \"sh\", expected a seq"),
        (&format!("{sh}\ncomand = 1"), "sinks.script.comand: there is no key `comand`; did you"),
        (&format!("{sh}\nurl = 1"), "sinks.script.url: there is no key `url` here; it belongs"),
        (&format!("{sh}\ntimeout = \"0s\""), "sinks.script.timeout: it can't be 0"),
        (&format!("{sh}\nconcurrency = 0"), "sinks.script.concurrency: write a number from 1"),
        (
            &format!("{sh}\non_unknown = \"halt\""),
            "sinks.script.on_unknown: unknown variant `halt`",
        ),
    ];
    for (keys, message) in wrong {
        let said = check(keys);
        assert_eq!(said.code, 1, "{keys}");
        assert!(said.stderr.contains(message), "{message}\n{}", said.stderr);
    }
}

#[test]
fn a_program_that_is_not_there_is_a_warning() {
    for (program, warning) in [
        ("no-such-program", Some("there is no program `no-such-program` in PATH; install it")),
        ("./hookonce.toml", Some("there is no program `./hookonce.toml` there; install it")),
        ("sh", None),
        ("/bin/sh", None),
        ("./script", None),
    ] {
        let said = check(&format!("timeout = \"1s\"\nconcurrency = 1\ncommand = [\"{program}\"]"));
        match warning {
            Some(warning) => assert!(said.stderr.contains(warning), "{}", said.stderr),
            None => assert_eq!(said.stderr, "", "{program}"),
        }
        said.ok();
    }
}

fn check(keys: &str) -> super::program::Said {
    let place = Place::new();
    place.write("hookonce.toml", &config(keys));
    place.shell("printf '#!/bin/sh\\n' > script && chmod +x script").ok();
    let mut command = place.command(&["check"]);
    command.env("APP_SECRET", "x").output().unwrap().into()
}
