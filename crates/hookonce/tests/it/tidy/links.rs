//! No document points to a file, a heading, a script or a benchmark that isn't there.

use std::path::Path;

use super::source::{files, root};

#[test]
fn no_relative_link_is_dead() {
    let mut dead = Vec::new();
    let mut links = 0;
    for file in files(".", ".md") {
        let here = root().join(&file.name);
        for link in links_of(&file.text) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            links += 1;
            let (path, heading) = link.split_once('#').unwrap_or((link, ""));
            let path =
                if path.is_empty() { here.clone() } else { here.parent().unwrap().join(path) };
            if !path.exists() || !(heading.is_empty() || has_heading(&path, heading)) {
                dead.push(format!("{} → {link}", file.name));
            }
        }
    }
    assert!(dead.is_empty(), "dead links: {dead:#?}");
    assert!(links > 20, "{links} links: the check no longer finds them");
}

#[test]
fn every_script_and_benchmark_that_is_named_is_there() {
    let root = root();
    let mut missing = Vec::new();
    let mut named = 0;
    for file in files(".", ".md") {
        for script in words_after(&file.text, "scripts/") {
            named += 1;
            if !root.join("scripts").join(script).is_file() {
                missing.push(format!("{}: scripts/{script}", file.name));
            }
        }
        for bench in words_after(&file.text, "--bench ") {
            named += 1;
            let benches = root.join("crates/hookonce/benches");
            let places = [format!("{bench}.rs"), format!("{bench}/main.rs")];
            if !places.iter().any(|place| benches.join(place).is_file()) {
                missing.push(format!("{}: --bench {bench}", file.name));
            }
        }
    }
    assert!(missing.is_empty(), "named and not there: {missing:#?}");
    assert!(named > 5, "{named} names: the check no longer finds them");
}

/// The names that come after `before`, wherever it stands.
fn words_after<'a>(text: &'a str, before: &str) -> Vec<&'a str> {
    let is_end = |c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'));
    let names = text.split(before).skip(1).filter_map(|rest| rest.split(is_end).next());
    names.map(|name| name.trim_end_matches('.')).filter(|name| !name.is_empty()).collect()
}

/// What stands in `](…)` outside of code.
fn links_of(text: &str) -> Vec<&str> {
    let mut in_code = false;
    let mut links = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        } else if !in_code {
            let parts = line.split("](").skip(1);
            links.extend(parts.filter_map(|part| part.split([')', ' ']).next()));
        }
    }
    links
}

fn has_heading(path: &Path, heading: &str) -> bool {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let headings = text.lines().filter(|line| line.starts_with('#'));
    headings.map(|line| anchor(line.trim_start_matches('#').trim())).any(|own| own == heading)
}

/// The name by which a heading is linked to: letters, digits, `-` and `_`, spaces made `-`.
fn anchor(heading: &str) -> String {
    let text = heading.to_lowercase().replace(' ', "-");
    text.chars().filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_')).collect()
}
