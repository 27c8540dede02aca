//! What the examples are for: short events and long ones, each once.

use super::super::sender::{Message, Sender, body};
use super::super::wait_until;
use super::in_each_language;
use super::office::{Language, Office};

in_each_language![
    short_events_and_long_ones_are_handled_once_behind_a_pooler_too,
    what_is_being_done_at_sigterm_is_finished,
];

fn short_events_and_long_ones_are_handled_once_behind_a_pooler_too(language: Language) {
    // The first takes more than two leases; the second fails once, after its first step.
    let command = r#"
        echo "$IDEMPOTENCY_KEY" >> keys
        if [ "$(wc -l < keys)" = 1 ]; then sleep 2.5; fi
        if [ "$(wc -l < keys)" = 2 ]; then exit 7; fi
        echo "receipt $1""#;
    let office = Office::new(language, 3, "", command);
    let server = office.serve();
    let messages: Vec<_> =
        ["a", "b", "c"].into_iter().map(|id| Message::new(id, u64::from(id == "c"))).collect();
    assert_eq!(Sender::new(&server.url).post(&body(&messages)).unwrap().status, 200);
    let workers = [office.work_pooled(), office.work_pooled()];
    office.order("long");
    wait_until("its command runs", || office.sql.number("select count(*) from ledger") == 4);
    wait_until("it is completed", || office.attempts("long") == ["1 completed"]);
    office.order("again");
    office.wait_until_done();
    assert_eq!(office.attempts("again"), ["1 retry", "2 completed"]);
    let of = |key: &str| {
        let id = office.sql.texts(&format!("select id from hookonce_events where key = '{key}'"));
        format!("{key}: printed receipt {}", id[0])
    };
    let message = |id| format!("message:106540352242922:{id}: booked");
    let orders = ["again: booked".to_owned(), of("again"), "long: booked".to_owned(), of("long")];
    let expected = [&orders[..], &["a", "b", "c"].map(message)].concat();
    assert_eq!(office.ledger(), expected);
    let keys = office.lines("keys");
    assert!(keys.len() == 3 && keys[1] == keys[2] && keys[0] != keys[1], "{keys:?}");
    assert!(keys[0].ends_with("/receipts/print"), "{keys:?}");
    for worker in workers {
        assert!(worker.terminate().success());
    }
}

fn what_is_being_done_at_sigterm_is_finished(language: Language) {
    let office = Office::new(language, 3, "", "until [ -e go ]; do sleep 0.05; done; echo receipt");
    let _server = office.serve();
    let worker = office.work();
    office.order("first");
    wait_until("its command runs", || office.sql.number("select count(*) from ledger") == 1);
    office.order("second");
    worker.signal();
    office.touch("go");
    assert!(worker.ended().success());
    assert_eq!(office.ledger(), ["first: booked", "first: printed receipt"]);
    let states = [("completed".to_owned(), 1), ("pending".to_owned(), 1)];
    assert_eq!(office.states(), states);
}
