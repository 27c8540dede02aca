//! The first minutes: `init`, `check`, and looking at a store.

use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;

use super::program::{Place, Said};

#[test]
fn what_init_writes_check_accepts() {
    let place = Place::new();
    assert!(place.run(&["init"]).ok().contains("hookonce check"));
    let mode = std::fs::metadata(place.path("hookonce.toml")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let checked = place.run(&["check"]);
    assert_eq!(checked.stderr, "");
    let fine = "hookonce.toml is fine: 1 source, 1 route, 1 sink, store `hookonce.db`\n";
    assert_eq!(checked.ok(), fine);
}

#[test]
fn the_examples_that_init_comments_out_are_accepted_too() {
    let place = Place::new();
    place.run(&["init"]).ok();
    let mut in_example = false;
    let written = place.read("hookonce.toml");
    let uncommented = written.lines().map(|line| {
        in_example |= line.starts_with("# [");
        in_example &= !line.is_empty();
        if in_example { line.trim_start_matches("# ").to_owned() } else { line.to_owned() }
    });
    let text = uncommented.collect::<Vec<_>>().join("\n") + "\n";
    assert!(text.contains("\n[sinks.ledger]\n") && text.contains("\n[retention]\n"), "{text}");
    let text =
        text.replace(r#"steps = ["stdout"]"#, r#"steps = ["stdout", "bot", "script", "ledger"]"#);
    place.write("hookonce.toml", &text);
    let database = rusqlite::Connection::open(place.path("hookonce.db")).unwrap();
    database
        .execute_batch("create table ledger (event_id text primary key, sender, note)")
        .unwrap();
    let checked = place.run(&["check"]);
    assert_eq!(checked.stderr, "");
    checked.ok();
}

#[test]
fn init_overwrites_only_when_it_is_forced_to() {
    let place = Place::new();
    place.write("mine.toml", "mine");
    let said = place.run(&["init", "--config", "mine.toml"]);
    assert_eq!((said.code, place.read("mine.toml").as_str()), (1, "mine"));
    assert!(said.stderr.contains("--force"), "{}", said.stderr);
    place.run(&["init", "--config", "mine.toml", "--force"]).ok();
    place.run(&["check", "--config", "mine.toml"]).ok();
}

#[test]
fn two_inits_make_different_secrets() {
    let (a, b) = (Place::new(), Place::new());
    a.run(&["init"]).ok();
    b.run(&["init"]).ok();
    assert_ne!(a.read("hookonce.toml"), b.read("hookonce.toml"));
}

#[test]
fn a_store_that_is_not_there_is_not_made_by_looking_at_it() {
    let place = Place::new();
    place.run(&["init"]).ok();
    for arguments in [&["list"][..], &["stats"], &["backup", "copy.db"]] {
        let said = place.run(arguments);
        assert_eq!(said.code, 1, "{arguments:?}");
        assert!(said.stderr.contains("there is no store `hookonce.db` yet"), "{}", said.stderr);
    }
    assert!(!place.path("hookonce.db").exists());
}

#[test]
fn a_copy_whose_name_is_not_utf8_is_refused() {
    let place = Place::new();
    place.run(&["init"]).ok();
    place.run(&["check"]).ok();
    let name = std::ffi::OsStr::from_bytes(b"copy\xff.db");
    let said = Said::from(place.command(&["backup"]).arg(name).output().unwrap());
    assert_eq!(said.code, 1);
    assert!(said.stderr.contains("is not UTF-8"), "{}", said.stderr);
    assert!(!place.path("").join(name).exists());
}

#[test]
fn an_empty_store_has_no_events() {
    let place = Place::new();
    place.run(&["init"]).ok();
    place.run(&["check"]).ok();
    assert_eq!(place.run(&["list", "--json"]).ok(), "{\"events\":[],\"next\":null}\n");
    let said = place.run(&["list", "--source", "nope"]);
    assert_eq!(said.stderr, "no events: there is no source `nope`; there are: whatsapp\n");
    let counts: serde_json::Value =
        serde_json::from_str(&place.run(&["stats", "--json"]).ok()).unwrap();
    assert_eq!(counts["events"], 0);
    let said = place.run(&["show", "c0fa7022-8b40-85d9-86c1-3f71bb80f8c7"]);
    assert!(said.code == 1 && said.stderr.contains("there is no event"), "{}", said.stderr);
    let said = place.run(&["show", "7"]);
    assert!(said.code == 1 && said.stderr.contains("no event id"), "{}", said.stderr);
}

#[test]
fn a_store_can_be_looked_at_without_the_secrets() {
    let place = Place::new();
    place.run(&["init"]).ok();
    place.run(&["check"]).ok();
    let text = place.read("hookonce.toml");
    let text: Vec<_> = text
        .lines()
        .map(|line| if line.starts_with("secrets") { "secrets = [\"env:UNSET\"]" } else { line })
        .collect();
    place.write("hookonce.toml", &(text.join("\n") + "\n"));
    place.run(&["list"]).ok();
    assert_eq!(place.run(&["check"]).code, 1);
}

#[test]
fn a_result_that_cannot_be_written_is_a_failure() {
    let place = Place::new();
    place.run(&["init"]).ok();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = place.command(&["completions", "bash"]);
    let output = command.stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stderr).unwrap().contains("cannot write to standard output"));
}
