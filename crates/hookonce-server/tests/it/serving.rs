//! The server from outside: development mode, the first event, the shutdown.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;

use super::program::{Place, Server};

#[test]
fn the_line_that_development_mode_prints_brings_an_event_which_is_printed() {
    let place = Place::new();
    let server = place.serve(&["--listen", "127.0.0.1:0"]);
    let line = server.stderr_line("curl ");
    assert_eq!(place.shell(&line).ok(), r#"{"new":1,"duplicates":0}"#);
    let printed = server.stdout_line("message.text");
    let printed: serde_json::Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(place.shell(&line).ok(), r#"{"new":0,"duplicates":1}"#);

    let listed = place.run(&["list", "--json", "--kind", "message.*"]).ok();
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(listed["events"][0]["id"], printed["id"]);
    let id = printed["id"].as_str().unwrap();
    let shown = place.run(&["show", id]).ok();
    assert!(shown.contains("Hello, once") && shown.contains("message.text"), "{shown}");
    assert!(place.run(&["list"]).ok().contains(id));
    assert!(server.terminate().success());
}

#[test]
fn a_signed_file_is_taken_and_a_changed_one_is_not() {
    let place = Place::new();
    let server = place.serve(&["--listen", "127.0.0.1:0"]);
    place.write("it's a body.json", r#"{"object":"x","entry":[]}"#);
    let sign = ["sign", "--url", &server.url, "--source", "meta", "it's a body.json"];
    let line = place.run(&sign).ok();
    let answer = |line: &str| {
        let line = line.trim_end().replacen("curl ", "curl -o /dev/null -w '%{http_code}' ", 1);
        place.shell(&line).ok()
    };
    assert_eq!(answer(&line), "200");
    place.write("it's a body.json", r#"{"object":"y","entry":[]}"#);
    assert_eq!(answer(&line), "401");
}

#[test]
fn a_statement_that_the_database_refuses_is_named_by_check() {
    let place = Place::new();
    place.write(
        "hookonce.toml",
        "[sources.a]\nscheme = \"meta\"\nsecrets = [\"x\"]\nverify_token = \"y\"\n\
         [sinks.ledger]\ntype = \"sql\"\nstatement = \"insert into nowhere values (:id)\"\n\
         [[routes]]\nname = \"r\"\nsteps = [\"ledger\"]\n",
    );
    let said = place.run(&["check"]);
    assert_eq!(said.code, 1);
    let start = "hookonce.toml:7: sinks.ledger.statement: the store refuses it: ";
    assert!(said.stderr.starts_with(start), "{}", said.stderr);
    assert!(said.stderr.contains("nowhere"), "{}", said.stderr);
}

#[test]
fn a_backup_is_a_store_of_its_own() {
    let place = Place::new();
    let server = place.serve(&["--listen", "127.0.0.1:0"]);
    let line = server.stderr_line("curl ");
    place.shell(&line).ok();
    place.run(&["backup", "copy.db"]).ok();
    assert_eq!(place.run(&["backup", "copy.db"]).code, 1);
    let mut list = place.command(&["list", "--json"]);
    let listed = list.env("HOOKONCE_STORE", "sqlite:copy.db").output().unwrap();
    assert!(String::from_utf8(listed.stdout).unwrap().contains("message.text"));
}

#[test]
fn development_mode_keeps_its_secrets_for_the_next_start() {
    let place = Place::new();
    assert!(place.serve(&["--listen", "127.0.0.1:0"]).terminate().success());
    let mode = std::fs::metadata(place.path("hookonce.dev.toml")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let kept = place.read("hookonce.dev.toml");
    let server = place.serve(&["--listen", "127.0.0.1:0"]);
    server.stderr_line(&format!(" {}/webhooks/meta", server.url));
    assert_eq!(place.read("hookonce.dev.toml"), kept);
    place.run(&["check"]).ok();
    place.run(&["stats"]).ok();
}

#[test]
fn a_port_that_is_taken_is_named_with_the_way_to_another() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = taken.local_addr().unwrap().to_string();
    let said = Place::new().run(&["serve", "--listen", &at]);
    assert_eq!(said.code, 1);
    assert!(said.stderr.contains(&format!("cannot listen on {at}")), "{}", said.stderr);
    assert!(said.stderr.contains("--listen HOST:PORT"), "{}", said.stderr);
}

#[test]
fn where_it_listens_can_be_read_by_a_program() {
    let place = Place::new();
    place.run(&["init"]).ok();
    let text = place.read("hookonce.toml").replace("127.0.0.1:8080", "[::1]:0");
    place.write("hookonce.toml", &text);
    let server = place.serve_json();
    let said: serde_json::Value = serde_json::from_str(&server.url).unwrap();
    let url = said["webhooks"]["whatsapp"].as_str().unwrap();
    assert!(url.starts_with("http://[::1]:") && url.ends_with("/webhooks/whatsapp"), "{url}");
}

#[test]
fn an_unverified_source_is_warned_of_whatever_is_logged() {
    let place = Place::new();
    place.write(
        "hookonce.toml",
        "[server]\nlisten = \"127.0.0.1:0\"\n[sources.a]\nscheme = \"meta\"\nunverified = true\n",
    );
    let warning = "hookonce.toml:5: sources.a.unverified: UNVERIFIED";
    let mut command = place.command(&["serve"]);
    let server = Server::start(command.env("HOOKONCE_LOG", "off"));
    server.stderr_line(&format!("warning: {warning}"));
    drop(server);
    let mut command = place.command(&["serve", "--log-format", "json"]);
    let server = Server::start(command.env("HOOKONCE_LOG", "error"));
    let line: serde_json::Value = serde_json::from_str(&server.stderr_line(warning)).unwrap();
    assert_eq!(line["level"], "WARN");
    assert!(line["fields"]["message"].as_str().unwrap().starts_with(warning));
}

#[test]
fn a_filter_that_is_none_is_named() {
    let place = Place::new();
    place.run(&["init"]).ok();
    let output = place.command(&["serve"]).env("HOOKONCE_LOG", "hookonce=loud").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stderr).unwrap().contains("`HOOKONCE_LOG` is no filter"));
}

/// A server whose one step waits for an answer that only the test gives.
fn server_that_waits_for(place: &Place, sink: &TcpListener) -> (Server, TcpStream) {
    let config = format!(
        "[server]\nlisten = \"127.0.0.1:0\"\n\
         [sources.a]\nscheme = \"meta\"\nsecrets = [\"x\"]\nverify_token = \"y\"\n\
         [sinks.bot]\ntype = \"http\"\nurl = \"http://{}/\"\n\
         [[routes]]\nname = \"r\"\nsteps = [\"bot\"]\n",
        sink.local_addr().unwrap()
    );
    place.write("hookonce.toml", &config);
    let server = place.serve(&[]);
    place.write(
        "body",
        r#"{"object":"x","entry":[{"id":"1","changes":[{"field":"f","value":1}]}]}"#,
    );
    let line = place.run(&["sign", "--url", &server.url, "--source", "a", "body"]).ok();
    place.shell(&line).ok();
    let (mut connection, _) = sink.accept().unwrap();
    // An answer before its request is none.
    let mut request = Vec::new();
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        let mut part = [0; 4096];
        let n = connection.read(&mut part).unwrap();
        assert!(n > 0, "the request came whole");
        request.extend_from_slice(&part[..n]);
    }
    (server, connection)
}

#[test]
fn a_step_that_runs_at_shutdown_is_finished() {
    let place = Place::new();
    let sink = TcpListener::bind("127.0.0.1:0").unwrap();
    let (server, mut connection) = server_that_waits_for(&place, &sink);
    server.signal();
    server.stderr_line("stopping");
    connection.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").unwrap();
    assert!(server.ended().success());
    let listed = place.run(&["list", "--json", "--state", "completed"]).ok();
    assert!(listed.contains("\"kind\":\"f\""), "{listed}");
}

#[test]
fn a_second_signal_stops_at_once() {
    let place = Place::new();
    let sink = TcpListener::bind("127.0.0.1:0").unwrap();
    let (server, _connection) = server_that_waits_for(&place, &sink);
    server.signal();
    server.stderr_line("stopping");
    server.signal();
    server.stderr_line("told twice to stop");
    assert_eq!(server.ended().code(), Some(1));
}
