//! The example for `psql` does what it says.

use std::path::Path;
use std::process::Command;

use super::worker::{Place, claim};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn psql_alone_handles_short_events_and_long_ones() {
    let place = Place::make().await;
    place.worker.run(
        "drop table ledger; create table ledger (event_id uuid, entry text, note text, \
         primary key (event_id, entry))",
    );
    for key in ["a", "b", "c"] {
        place.receive(key, "l");
    }
    // Of one of the long ones an earlier attempt has done the first step.
    place.receive_kind("resumed", "free.x", "");
    let earlier = claim(&place.worker, "free", 1).remove(0);
    place.worker.run(&earlier.call("record_step", ", 'book', null"));
    place.worker.run(&earlier.call("retry", ", 'it broke off', '0'"));
    place.receive_kind("fresh", "free.x", "");
    assert_eq!(work(&place), 5);
    let ledger = place.rows(
        "select concat_ws(' ', e.key, l.entry, l.note) from ledger l \
         join hookonce.events e on e.id = l.event_id order by 1",
    );
    let booked = |key| format!(r#"{key} booked {{"key":"{key}"}}"#);
    let expected = [
        booked("a"),
        booked("b"),
        booked("c"),
        booked("fresh"),
        "fresh confirmed ".to_owned(),
        "resumed confirmed ".to_owned(),
    ];
    assert_eq!(ledger, expected);
    assert_eq!(place.bed.store.counts().await.unwrap().completed, 5);
    assert_eq!(work(&place), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_that_the_database_refuses_says_so_and_fails() {
    let place = Place::make().await;
    place.receive("a", "l");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/psql/worker.sh");
    let mut worker = Command::new(script);
    let done = worker.args([&place.database.url, "own", "free"]).output().unwrap();
    assert_eq!(done.status.code(), Some(1), "{done:?}");
    assert!(String::from_utf8_lossy(&done.stderr).contains("not left to workers outside"));
}

/// Runs the example until nothing is due; says how many events it handled.
fn work(place: &Place) -> usize {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/psql/worker.sh");
    let mut worker = Command::new(script);
    let done = worker.args([&place.database.url, "r", "free"]).output().unwrap();
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    let complaint = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success() && complaint.is_empty(), "{said}{complaint}");
    said.lines().count()
}
