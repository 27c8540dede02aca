//! Every step of a store is one file, which says what it does and is used by the Rust beside it.

use std::collections::BTreeSet;

use super::source::{File, files, root, sources};

const STORES: &str = "crates/hookonce/src/store";

#[test]
fn a_step_opens_with_a_sentence() {
    for file in files(STORES, ".sql") {
        let mut comment = file.text.lines().take_while(|line| line.starts_with("--"));
        let first = comment.next().unwrap_or_default();
        let rest: Vec<&str> = comment.collect();
        let text = [first, &rest.join(" ")].join(" ");
        assert!(first.starts_with("-- "), "{} has no sentence in front", file.name);
        assert!(text.trim_end().ends_with(['.', ')']) || text.contains(". "), "{}", file.name);
    }
}

#[test]
fn a_step_is_used_by_the_rust_beside_it_and_by_no_other() {
    let used = used();
    for file in files(STORES, ".sql") {
        // The golden file is what the tests compare the migrations with.
        if file.name.ends_with("/schema.sql") {
            continue;
        }
        assert!(used.iter().any(|(_, step)| *step == file.name), "{} is not used", file.name);
    }
    for (user, step) in used {
        let store = store_of(&step);
        let beside = user.starts_with(&format!("{store}/")) || user == format!("{store}.rs");
        assert!(beside, "{user} uses {step}, which is another store's");
    }
}

#[test]
fn rust_holds_no_statement_of_a_store() {
    for file in files(STORES, ".rs") {
        // Its own table is there before any file of a migration can be run.
        if file.name.ends_with("/migrate.rs") {
            continue;
        }
        for verb in ["select", "insert", "update", "delete", "with"] {
            let start = format!("\"{verb} ");
            let found = file.code().lines().any(|line| line.contains(&start));
            assert!(!found, "{} has a statement that begins `{verb}`", file.name);
        }
    }
}

#[test]
fn every_write_after_a_claim_names_its_token() {
    let steps =
        ["extend", "finish", "finish_attempt", "finish_tasks", "record_step", "release", "holds"];
    let mut found = 0;
    for file in files(STORES, ".sql") {
        let name = file.name.rsplit('/').next().unwrap_or_default();
        if !steps.iter().any(|step| name == format!("{step}.sql")) {
            continue;
        }
        // A function that workers call asks a function that has the condition, as does the statement
        // that calls a function.
        let asks = ["hookonce.held(", "hookonce.finish_tasks("];
        let names = ["token = :token", "token = $3", "t.token is not distinct from g.token"];
        let names_it =
            |text: &str| text.contains("'claimed'") && names.iter().any(|n| text.contains(n));
        let is_safe = asks.iter().any(|ask| file.text.contains(ask)) || names_it(&file.text);
        assert!(is_safe, "{} writes without the claim's token", file.name);
        found += 1;
    }
    assert!(found >= steps.len(), "{found} steps: the check no longer finds them");
}

/// Pairs of a file of Rust and a step that it includes, as paths from the root.
fn used() -> BTreeSet<(String, String)> {
    let mut used = BTreeSet::new();
    for File { name, text } in sources() {
        for part in text.split("include_str!(\"").skip(1) {
            let path = part.split('"').next().unwrap_or_default();
            let path = root().join(&name).parent().unwrap().join(path).canonicalize().unwrap();
            if path.extension().is_none_or(|ending| ending != "sql") {
                continue;
            }
            let path = path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
            used.insert((name.clone(), path));
        }
    }
    used
}

/// The folder of the store that a step belongs to.
fn store_of(step: &str) -> &str {
    let rest = &step[STORES.len() + 1..];
    &step[..STORES.len() + 1 + rest.find('/').unwrap_or(rest.len())]
}
