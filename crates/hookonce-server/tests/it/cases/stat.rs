//! STAT: statuses of messages that we sent.

use super::bot::{Bot, DONE};
use super::case::Case;
use super::stand::{LEDGER, Stand, envelope, status};
use crate::engine::{member, on_both};

on_both![
    stat_01_statuses_are_no_messages_and_start_no_handler_of_messages,
    stat_03_a_late_sent_is_kept_and_takes_no_state_back,
    stat_04_delivered_after_read_and_twice_is_two_events_and_a_duplicate,
    stat_06_a_handler_may_ask_for_time_until_its_own_record_is_there,
    stat_07_why_a_message_failed_reaches_the_handler_unchanged,
    stat_09_errors_alone_are_an_event_under_a_hash,
    stat_10_an_unknown_word_is_a_status_like_any_other,
];

fn stat_01_statuses_are_no_messages_and_start_no_handler_of_messages() {
    let bot = Bot::start(|_| DONE);
    let stand = Stand::bot(&bot, "kinds = [\"message.*\"]");
    assert_eq!(stand.send("STAT-01").counts(), (3, 0));
    assert_eq!(stand.each("kind"), ["status.sent", "status.delivered", "status.read"]);
    // What no route wants is recorded, and nothing else.
    assert_eq!(stand.each("state"), ["recorded"; 3]);
    assert!(bot.calls().is_empty());
}

/// A projection of the consumer's own. hookonce offers none: it keeps and handles every status, in
/// any order, with the sender's time, so that a state can be let move forward only.
const PROJECTION: &str = r#"
[sinks.state]
type = "sql"
statement = """
insert into state (id, status, at) values
  (ID, STATUS, cast(TIMESTAMP as integer))
on conflict (id) do update set status = excluded.status, at = excluded.at
where excluded.at > state.at"""
[[routes]]
name = "state"
steps = ["state"]
"#;

fn projection() -> Stand {
    let mut projection = PROJECTION.to_owned();
    for name in ["id", "status", "timestamp"] {
        projection = projection.replace(&name.to_uppercase(), &member(":element", &[name]));
    }
    let stand = Stand::with(&format!("{projection}{LEDGER}"));
    let table = "create table state (id text primary key, status text, at integer)";
    stand.sql.run(table);
    stand
}

/// No projection is offered (see [`PROJECTION`]): both events are stored and handled, and the
/// consumer decides by the sender's time.
fn stat_03_a_late_sent_is_kept_and_takes_no_state_back() {
    let stand = projection();
    let delivered = Case::of("STAT-03").text().replace("\"sent\"", "\"delivered\"");
    let delivered = delivered.replace("1760000000", "1760000002");
    assert_eq!(stand.post(delivered).counts(), (1, 0));
    stand.settle();
    assert_eq!(stand.send("STAT-03").counts(), (1, 0));
    let backwards: Vec<_> = [("read", 2), ("delivered", 1), ("sent", 0)]
        .map(|(word, at)| {
            format!(r#"{{"id":"wamid.ARRAY","status":"{word}","timestamp":"176000000{at}"}}"#)
        })
        .into();
    let body = envelope(&format!(r#""statuses":[{}]"#, backwards.join(",")));
    assert_eq!(stand.post(body).counts(), (3, 0));
    assert_eq!(stand.effects().len(), 5);
    let states = "select id || ' ' || status from state order by id";
    assert_eq!(stand.texts(states), ["wamid.ARRAY read", "wamid.TESTSTAT03 delivered"]);
    let sent_at = ["2025-10-09T08:53:22Z", "2025-10-09T08:53:20Z"];
    assert_eq!(stand.each("sent_at")[..2], sent_at);
}

/// No projection is offered (see [`PROJECTION`]).
fn stat_04_delivered_after_read_and_twice_is_two_events_and_a_duplicate() {
    let stand = projection();
    assert_eq!(stand.send("STAT-04").counts(), (2, 1));
    let mut effects = stand.effects();
    effects.sort();
    assert_eq!(effects, ["delivered", "read"].map(|word| status("wamid.TESTSTAT04", word)));
    assert_eq!(stand.texts("select status from state"), ["read"]);
    assert_eq!(stand.each("sent_at"), ["2025-10-09T08:53:22Z", "2025-10-09T08:53:21Z"]);
}

fn stat_06_a_handler_may_ask_for_time_until_its_own_record_is_there() {
    const NOT_YET: &str = "HTTP/1.1 425 Too Early\r\nRetry-After: 1\r\nContent-Length: 0\r\n\
                           Connection: close\r\n\r\n";
    let bot = Bot::start(|call| if call.n < 3 { NOT_YET } else { DONE });
    let stand = Stand::bot(&bot, "max_attempts = 1");
    assert_eq!(stand.send("STAT-06").counts(), (1, 0));
    stand.settle();
    let shown = stand.show(&status("wamid.TESTSTAT06", "sent"));
    let task = &shown["tasks"][0];
    assert_eq!((&task["state"], &task["attempt"]), (&"completed".into(), &1.into()));
    assert_eq!(bot.calls().len(), 3);
}

fn stat_07_why_a_message_failed_reaches_the_handler_unchanged() {
    let bot = Bot::start(|_| DONE);
    let stand = Stand::bot(&bot, "");
    assert_eq!(stand.send("STAT-07").counts(), (1, 0));
    stand.settle();
    assert_eq!(bot.calls()[0].body, Case::of("STAT-07").text());
    assert_eq!(stand.show(&status("wamid.TESTSTAT07", "failed"))["payload"], bot.calls()[0].body);
}

fn stat_09_errors_alone_are_an_event_under_a_hash() {
    let stand = Stand::ledger();
    assert_eq!(stand.send("STAT-09").counts(), (1, 0));
    assert_eq!(stand.send("STAT-09").counts(), (0, 1));
    assert_eq!(stand.elements(), [r#"{"code":0,"title":"auth problem"}"#]);
    let event = &stand.events()[0];
    assert_eq!((&event["kind"], &event["state"]), (&"error".into(), &"completed".into()));
    assert_eq!(event["weak_key"], true);
    assert!(event["key"].as_str().unwrap().starts_with("hash:"));
}

fn stat_10_an_unknown_word_is_a_status_like_any_other() {
    let stand = Stand::ledger();
    assert_eq!(stand.send("STAT-10").counts(), (2, 0));
    let mut effects = stand.effects();
    effects.sort();
    let keys = [("wamid.TESTSTAT10", "played"), ("wamid.TESTSTAT10B", "delivered")];
    assert_eq!(effects, keys.map(|(id, word)| status(id, word)));
    assert_eq!(stand.each("kind"), ["status.played", "status.delivered"]);
}
