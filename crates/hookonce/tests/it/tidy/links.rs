//! No document points to a file or a heading that isn't there.

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
