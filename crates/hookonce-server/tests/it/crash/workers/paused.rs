//! Workers that stand still until another has taken their task over, and then go on.

use super::super::sender::{Message, Sender, body};
use super::super::wait_until;
use super::in_each_language;
use super::office::{Language, Office, pause};

in_each_language![
    a_worker_that_was_paused_in_its_transaction_rolls_back,
    a_worker_that_was_paused_in_a_long_step_writes_nothing,
];

const KEY: &str = "message:106540352242922:paused";

/// Fails when a handler calls `finish` after the commit of its effect.
fn a_worker_that_was_paused_in_its_transaction_rolls_back(language: Language) {
    let office = Office::new(language, 3, "perform pg_advisory_xact_lock_shared(4);", "echo");
    let server = office.serve();
    let mut sender = Sender::new(&server.url);
    let mut post = |id: &str| {
        assert_eq!(sender.post(&body(&[Message::new(id, 1)])).unwrap().status, 200);
    };
    office.sql.texts("select pg_advisory_lock(4)");
    let paused = office.work();
    post("paused");
    let waiting = "select count(*) from pg_locks
        where locktype = 'advisory' and not granted
        and database = (select oid from pg_database where datname = current_database())";
    wait_until("its entry waits", || office.sql.number(waiting) == 1);
    pause(&paused);
    // Its entry is now made, and waits for the commit.
    office.sql.texts("select pg_advisory_unlock(4)");
    let successor = office.work();
    office.wait_until_done();
    assert_eq!(office.attempts(KEY), ["1 lapsed", "2 completed"]);
    paused.send("CONT");
    paused.stderr_line("the claim was lost");
    assert_eq!(office.ledger(), [format!("{KEY}: booked")]);
    assert_eq!(office.attempts(KEY), ["1 lapsed", "2 completed"]);
    // It is as good as before.
    assert!(successor.terminate().success());
    post("later");
    office.wait_until_done();
    assert_eq!(office.ledger().len(), 2);
    assert!(paused.terminate().success());
}

fn a_worker_that_was_paused_in_a_long_step_writes_nothing(language: Language) {
    let command = "echo $1 >> begun; until [ -e go ]; do sleep 0.05; done; echo receipt";
    let office = Office::new(language, 3, "", command);
    let _server = office.serve();
    let paused = office.work();
    office.order("order");
    let begun = || office.lines("begun").len();
    wait_until("its command runs", || begun() == 1);
    pause(&paused);
    let successor = office.work();
    wait_until("the successor's command runs", || begun() == 2);
    office.touch("go");
    office.wait_until_done();
    paused.send("CONT");
    paused.stderr_line("the claim was lost");
    assert_eq!(office.ledger(), ["order: booked", "order: printed receipt"]);
    assert_eq!(office.attempts("order"), ["1 lapsed", "2 completed"]);
    for worker in [paused, successor] {
        assert!(worker.terminate().success());
    }
}
