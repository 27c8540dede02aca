//! `/metrics`.

use hookonce::telemetry::METRICS;
use serde_json::json;

use super::client::Ask;
use super::stand::Stand;
use crate::engine::on_both;

on_both![
    metrics_are_the_declared_ones_and_tell_where_tasks_stand,
    tasks_of_a_route_that_is_gone_are_shown_until_they_are_moved,
];

/// The value of each series.
fn series(stand: &Stand) -> Vec<(String, f64)> {
    let answer = stand.send(&Ask::new("GET", "/metrics")).expect(200);
    assert!(answer.header("content-type").unwrap().starts_with("text/plain; version=0.0.4"));
    let mut found = vec![];
    for line in answer.body.lines().filter(|line| !line.is_empty()) {
        if let Some(about) = line.strip_prefix("# ") {
            let mut words = about.split(' ');
            assert!(matches!(words.next(), Some("HELP" | "TYPE")), "{line}");
            assert!(
                METRICS.iter().any(|metric| Some(metric.name) == words.clone().next()),
                "{line}"
            );
            continue;
        }
        let (name, value) = line.rsplit_once(' ').unwrap();
        found.push((name.to_owned(), value.parse().unwrap_or_else(|_| panic!("{line}"))));
    }
    found
}

fn value(series: &[(String, f64)], name: &str) -> Option<f64> {
    series.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
}

fn metrics_are_the_declared_ones_and_tell_where_tasks_stand() {
    let stand = Stand::new();
    stand.say(&["yes", "no"]);
    stand.wait_for("state=dead", 1);
    stand.wait_for("state=completed&route=books", 1);
    stand.claim("crm");
    let is = |name: &str, expected: f64| {
        crate::crash::wait_until(name, || value(&series(&stand), name) == Some(expected));
    };
    is(r#"hookonce_tasks{route="books",state="dead"}"#, 1.0);
    is(r#"hookonce_tasks{route="crm",state="pending"}"#, 1.0);
    is(r#"hookonce_tasks{route="crm",state="claimed"}"#, 1.0);
    is(r#"hookonce_tasks{route="bot",state="dead"}"#, 0.0);
    is(r#"hookonce_events_total{source="a",arrival="new"}"#, 2.0);
    let all = series(&stand);
    for (name, value) in &all {
        let bare = name.split('{').next().unwrap();
        let parts = ["_bucket", "_sum", "_count"];
        let bare = parts.iter().find_map(|part| bare.strip_suffix(part)).unwrap_or(bare);
        assert!(METRICS.iter().any(|metric| metric.name == bare), "{name} is not declared");
        assert!(value.is_finite() && *value >= 0.0, "{name} {value}");
    }
    for le in ["0.001", "0.25", "1", "10", "+Inf"] {
        let name = format!(r#"hookonce_ack_seconds_bucket{{source="a",le="{le}"}}"#);
        assert!(value(&all, &name).is_some(), "{name}");
    }
    assert!(value(&all, "hookonce_oldest_due_seconds").unwrap() > 0.0);
    assert!(value(&all, "hookonce_oldest_key_seconds").unwrap() > 0.0);
    let is_counted = |name: &str| assert!(value(&all, name) > Some(0.0), "{name}");
    for operation in ["insert", "claim", "write"] {
        is_counted(&format!(r#"hookonce_store_seconds_count{{operation="{operation}"}}"#));
    }
    is_counted(r#"hookonce_request_events_count{source="a"}"#);
    // Their sender gives no time.
    let lags = r#"hookonce_sender_lag_seconds_count{source="a"}"#;
    assert_eq!(value(&all, lags), Some(0.0));
}

fn tasks_of_a_route_that_is_gone_are_shown_until_they_are_moved() {
    let stand = Stand::new();
    stand.say(&["no"]);
    stand.wait_for("state=dead", 1);
    let text = stand.place.read("hookonce.toml");
    let Stand { place, server, .. } = stand;
    assert!(server.terminate().success());
    place.write("hookonce.toml", &text.replace("name = \"books\"", "name = \"ledger\""));
    let server = place.serve(&[]);
    let line = server.stderr_line("admin API");
    let admin = line.split("http://").nth(1).unwrap().trim_end_matches("/api").to_owned();
    let stand = Stand { place, server, admin };
    let name = r#"hookonce_orphaned_tasks{route="books"}"#;
    let is = |expected| {
        crate::crash::wait_until(name, || value(&series(&stand), name) == Some(expected));
    };
    is(1.0);
    let body = json!({ "route": "books", "to_route": "ledger" });
    let moved = stand.post("ops", "/api/replay", &body).expect(200).json();
    assert_eq!(moved, json!({ "replayed": 1, "left": 0 }));
    is(0.0);
}
