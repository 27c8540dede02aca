//! Pages and filters.

use std::collections::BTreeSet;

use serde_json::Value;

use super::stand::Stand;
use crate::engine::on_both;

on_both![pages_show_each_event_once_newest_first, a_state_matches_an_event_with_any_task_in_it,];

fn pages_show_each_event_once_newest_first() {
    let stand = Stand::new();
    let texts: Vec<String> = (0..250).map(|n| format!("t{n}")).collect();
    stand.say(&texts.iter().map(String::as_str).collect::<Vec<_>>());
    for (query, n) in [("", 250), ("limit=7&", 250), ("limit=1000&", 250), ("kind=message.*&", 250)]
    {
        let (mut seqs, mut after, mut pages) = (vec![], String::new(), 0);
        loop {
            let path = format!("/api/events?{query}after={after}");
            let page = stand.get("viewer", &path).expect(200).json();
            seqs.extend(
                page["events"].as_array().unwrap().iter().map(|e| e["seq"].as_i64().unwrap()),
            );
            pages += 1;
            match &page["next"] {
                Value::Null => break,
                next => next.as_str().unwrap().clone_into(&mut after),
            }
        }
        assert_eq!(seqs.len(), n, "{query}");
        assert_eq!(seqs.iter().collect::<BTreeSet<_>>().len(), n, "{query}");
        assert!(seqs.is_sorted_by(|a, b| a > b), "{query}");
        assert!(pages <= 250 / 7 + 2, "{pages}");
    }
    let first = stand.get("viewer", "/api/events").expect(200).json();
    assert_eq!(first["events"].as_array().unwrap().len(), 100, "unless it is said");
}

fn a_state_matches_an_event_with_any_task_in_it() {
    let stand = Stand::new();
    stand.say(&["yes", "no"]);
    stand
        .receive(r#"{"metadata":{"phone_number_id":"2"},"statuses":[{"id":"w","status":"read"}]}"#);
    stand.wait_for("state=dead", 1);
    stand.wait_for("state=completed&route=books", 1);
    let count = |query: &str| {
        let page = stand.get("viewer", &format!("/api/events?{query}")).expect(200).json();
        page["events"].as_array().unwrap().len()
    };
    for (query, n) in [
        ("", 3),
        ("state=recorded", 1),
        ("state=recorded&route=crm", 0),
        ("state=pending", 2),
        ("state=pending&route=crm", 2),
        ("state=pending&route=books", 0),
        ("state=dead&route=crm", 0),
        ("state=claimed", 0),
        ("kind=status.*", 1),
        ("kind=*.read&source=a", 1),
        ("source=b", 0),
        ("lane=2:15550001", 1),
        ("lane=2%3A15550001", 1),
        ("key=message:2:wamid.0.yes", 1),
        ("key=message:2:wamid.0", 0),
    ] {
        assert_eq!(count(query), n, "{query}");
    }
    let dead = stand.get("viewer", "/api/events?state=dead").expect(200).json();
    assert_eq!(dead["events"][0]["state"], "dead", "before pending");
    let counts = stand.get("viewer", "/api/counts").expect(200).json();
    let number = |name: &str| counts[name].as_u64().unwrap();
    assert_eq!((number("events"), number("unrouted"), number("dead")), (3, 1, 1));
    assert_eq!((number("pending"), number("completed"), number("claimed")), (4, 1, 0));
    // What the command line prints as JSON is what the call of that name answers.
    let said = stand.place.run(&["stats", "--json"]).ok();
    assert_eq!(serde_json::from_str::<Value>(&said).unwrap(), counts);
    let id = dead["events"][0]["id"].as_str().unwrap();
    let said = stand.place.run(&["show", "--json", id]).ok();
    assert_eq!(serde_json::from_str::<Value>(&said).unwrap(), stand.show(id));
    let said = stand.place.run(&["list", "--json", "--state", "dead"]).ok();
    assert_eq!(serde_json::from_str::<Value>(&said).unwrap(), dead);
}
