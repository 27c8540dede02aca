//! Who imports whom, what each layer stays away from, and how long things are.

use super::source::{File, files, sources};

/// The library's modules, and what each may name of the others. Whoever adds an arrow here changes
/// the architecture: say why in the commit.
const LAYERS: [(&str, &[&str]); 18] = [
    ("element", &[]),
    ("event", &[]),
    ("task", &["event"]),
    ("store", &["event", "task", "element"]),
    ("step", &["task", "store", "element"]),
    ("retry", &["task", "step"]),
    ("scheme", &["event", "element"]),
    ("breaker", &["event"]),
    ("gate", &["event", "step", "breaker", "telemetry"]),
    ("route", &["event", "task", "gate", "retry"]),
    ("telemetry", &["event", "task", "store"]),
    ("redis_link", &["scheme"]),
    ("sink", &["event", "task", "element", "store", "step", "scheme", "redis_link"]),
    ("receiver", &["event", "store", "scheme", "route", "telemetry"]),
    ("worker", &["event", "task", "store", "step", "gate", "retry", "route", "telemetry"]),
    ("janitor", &["task", "store", "step", "retry", "route", "telemetry"]),
    ("steer", &["event", "task", "store", "route"]),
    ("listener", &["telemetry"]),
];

/// What stands for the clock and for I/O in code.
const IMPURE: [&str; 9] = [
    "Clock",
    "Instant",
    "SystemTime",
    "Timestamp::now",
    "tokio",
    "std::fs",
    "std::io",
    "std::net",
    "async fn",
];

/// How long a file and a function may be, in lines.
const FILE_LIMIT: usize = 400;
const FUNCTION_LIMIT: usize = 70;

#[test]
fn a_module_imports_only_layers_below_it() {
    for file in files("crates/hookonce/src", ".rs") {
        let Some(layer) = file.module().first().map(|layer| (*layer).to_owned()) else { continue };
        let allowed = LAYERS.iter().find(|(name, _)| *name == layer);
        let (_, allowed) = allowed.unwrap_or_else(|| panic!("`{layer}` has no place in LAYERS"));
        for import in file.imports() {
            let fine = import == layer || allowed.contains(&&*import);
            assert!(fine, "{}: `{layer}` may not import `{import}`", file.name);
        }
    }
}

#[test]
fn only_the_library_is_imported_across_crates() {
    for file in files("crates/hookonce/src", ".rs") {
        assert!(!file.code().contains("hookonce_server"), "{}", file.name);
    }
}

#[test]
fn scheme_retry_event_and_task_do_no_io_and_never_ask_for_the_time() {
    for file in files("crates/hookonce/src", ".rs") {
        let pure = ["scheme", "retry", "event", "task", "element", "route"];
        if !file.module().first().is_some_and(|layer| pure.contains(layer)) {
            continue;
        }
        for word in IMPURE {
            assert!(!file.code().contains(word), "{} names `{word}`", file.name);
        }
    }
}

#[test]
fn only_the_configuration_reads_the_environment() {
    for file in sources() {
        let is_door = file.name == "crates/hookonce-server/src/config.rs";
        assert!(is_door || !file.code().contains("std::env"), "{} reads it", file.name);
    }
}

#[test]
fn only_a_store_touches_files_in_the_library() {
    for file in files("crates/hookonce/src", ".rs") {
        let is_store = file.module().first() == Some(&"store");
        assert!(is_store || !file.code().contains("std::fs"), "{} does", file.name);
    }
}

#[test]
fn a_file_is_short_unless_its_header_says_why() {
    for file in files("crates", ".rs") {
        let long = file.text.lines().count() > FILE_LIMIT;
        let says_why = file.header().contains("Long because");
        assert!(!long || says_why, "{} is longer than {FILE_LIMIT} lines", file.name);
        assert!(long || !says_why, "{} is short now: its header needs no excuse", file.name);
    }
}

#[test]
fn a_function_fits_on_a_screen() {
    for file in files("crates", ".rs") {
        for (name, lines) in functions(&file) {
            assert!(lines <= FUNCTION_LIMIT, "{}: `{name}` has {lines} lines", file.name);
        }
    }
}

/// Every function with its length: the formatter closes it where its line began.
fn functions(file: &File) -> Vec<(&str, usize)> {
    let lines: Vec<&str> = file.text.lines().collect();
    let mut found = Vec::new();
    for (n, line) in lines.iter().enumerate() {
        let text = line.trim_start();
        let head = text.split_once("fn ").filter(|(before, _)| {
            let words = before.split_whitespace();
            words.into_iter().all(|w| w.starts_with("pub") || matches!(w, "const" | "async"))
        });
        let Some((_, name)) = head else { continue };
        let Some(opens) = lines[n..].iter().position(|line| line.ends_with(['{', '}', ';'])) else {
            continue;
        };
        let end = [&line[..line.len() - text.len()], "}"].concat();
        let body = lines[n + opens].ends_with('{');
        let closes = lines[n..].iter().position(|line| body && **line == end).unwrap_or(opens);
        found.push((name.split(['(', '<']).next().unwrap_or(name), closes + 1));
    }
    found
}

#[test]
fn nothing_is_left_to_do_later() {
    // Put together, so that this file doesn't find itself.
    let words = ["TO", "FIX", "to"];
    let ends = ["DO", "ME", "do!("];
    for ending in [".rs", ".sql", ".md", ".toml"] {
        for file in files(".", ending) {
            for word in words.iter().zip(ends).map(|(word, end)| [word, end].concat()) {
                assert!(!file.text.contains(&word), "{} has `{word}`", file.name);
            }
        }
    }
}
