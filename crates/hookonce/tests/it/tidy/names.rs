//! Every metric and every key of the configuration is known to the reference.

use std::collections::BTreeSet;

use hookonce::telemetry::METRICS;

use super::source::{files, root, sources};

#[test]
fn every_metric_is_emitted_and_every_emitted_one_declared() {
    let emitted = emitted();
    let declared: BTreeSet<String> = METRICS.iter().map(|metric| metric.name.to_owned()).collect();
    assert_eq!(emitted, declared, "left: emitted by the code, right: declared in METRICS");
}

#[test]
fn every_metric_is_in_the_reference() {
    let page = std::fs::read_to_string(root().join("docs/reference/metrics.md")).unwrap();
    for metric in METRICS {
        assert!(page.contains(&format!("| `{}` |", metric.name)), "{}", metric.name);
    }
}

#[test]
fn every_key_of_the_configuration_is_in_the_reference() {
    let page = std::fs::read_to_string(root().join("docs/reference/configuration.md")).unwrap();
    let sections = files("crates/hookonce-server/src/config", ".rs");
    let sections: String = sections.iter().map(|file| file.code() + "\n").collect();
    let mut keys = 0;
    for section in sections.split("pub(crate) struct ").skip(1) {
        let (name, fields) = section.split_once(" {\n").unwrap_or_default();
        if !name.ends_with("Config") {
            continue;
        }
        let fields = fields.split("\n}").next().unwrap_or_default();
        // What is skipped is no key: it is read by other means.
        let (mut is_skipped, mut names) = (false, Vec::new());
        for line in fields.lines().map(str::trim) {
            match line.strip_prefix("pub(crate) ") {
                Some(field) => names.extend(field.split(':').next().filter(|_| !is_skipped)),
                None => is_skipped |= line == "#[serde(skip)]",
            }
            is_skipped &= line.starts_with('#');
        }
        for key in names {
            assert!(page.contains(&format!("| `{key}` |")), "`{key}` of `{name}` is not there");
            keys += 1;
        }
    }
    assert!(keys > 20, "{keys} keys: the check no longer finds them");
}

/// The names that counters, gauges and histograms are asked for by.
fn emitted() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for file in sources() {
        let code = file.code();
        for call in ["counter!(", "gauge!(", "histogram!("] {
            for part in code.split(call).skip(1) {
                let Some(literal) = part.trim_start().strip_prefix('"') else { continue };
                names.insert(literal.split('"').next().unwrap_or_default().to_owned());
            }
        }
    }
    names
}
