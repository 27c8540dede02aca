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
    // What a person does, a copy and a prune: no worker's.
    let others = [
        "/copy/write_steps.sql",
        "/prune_event.sql",
        "/prune_steps.sql",
        "/replay.sql",
        "/replay_steps.sql",
        "/reroute.sql",
        "/reroute_steps.sql",
    ];
    let mut found = BTreeSet::new();
    for file in files(STORES, ".sql") {
        let is_other = others.iter().any(|other| file.name.ends_with(other));
        let is_of_a_schema =
            file.name.contains("/migrations/") || file.name.ends_with("/schema.sql");
        if is_other || is_of_a_schema || !is_written_after_a_claim(&file.text) {
            continue;
        }
        assert!(names_the_token(&file), "{} writes without the claim's token", file.name);
        found.insert(file.name.rsplit('/').next().unwrap_or_default().to_owned());
    }
    for step in ["extend", "finish", "finish_tasks", "record_step", "release", "retry", "bury"] {
        let step = format!("{step}.sql");
        assert!(found.contains(&step), "{step}: the check no longer finds it");
    }
}

/// Functions that are given a task by whoever holds its claim.
const OF_A_HELD_TASK: [&str; 3] = ["end_attempt", "fail_attempt", "forget_begun"];

/// Whether it ends or extends a claim or writes steps, or has one of our functions do so.
fn is_written_after_a_claim(text: &str) -> bool {
    let text = text.replace("hookonce_", "hookonce.");
    let steps =
        ["insert into", "update", "delete from"].map(|verb| format!("{verb} hookonce.steps"));
    let asks = OF_A_HELD_TASK.map(|function| format!("perform hookonce.{function}("));
    let sets = ["token = null", "set lease_until"].map(str::to_owned);
    steps.iter().chain(&asks).chain(&sets).any(|part| text.contains(part))
}

fn names_the_token(File { name, text }: &File) -> bool {
    // A function that workers call asks a function that has the condition, as does the statement that
    // calls a function.
    let asks = ["hookonce.held(", "hookonce.finish_tasks("];
    let tokens = ["token = :token", "token = $3", "t.token is not distinct from g.token"];
    // What has lapsed is nobody's claim any more, and its row is locked.
    let lapsed = ["lease_until <= (select hookonce.clock())", "for update skip locked"];
    let is_given = OF_A_HELD_TASK.iter().any(|f| name.ends_with(&format!("functions/{f}.sql")));
    asks.iter().any(|ask| text.contains(ask))
        || text.contains("'claimed'")
            && (tokens.iter().any(|token| text.contains(token))
                || lapsed.iter().all(|part| text.contains(part)))
        || is_given && text.contains("task hookonce.tasks")
        // The Rust runs it only once a write of the same transaction has named the token.
        || name.ends_with("sqlite/forget_steps.sql")
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
