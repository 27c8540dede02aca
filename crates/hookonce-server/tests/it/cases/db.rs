//! DB: what a database refuses, forgets or waits for.

use std::collections::BTreeSet;
use std::os::unix::fs::FileExt as _;
use std::time::{Duration, Instant};

use super::bot::{Bot, DONE, Gate};
use super::case::Case;
use super::client::signed;
use super::stand::{LEDGER, Stand, ask_at_once, bot_route, message, texts, until};
use crate::engine::{either, member, on_both};

on_both![
    db_01_a_nul_is_stored_and_handed_over_as_it_was_sent,
    db_03_the_same_key_twice_in_one_request_is_stored_once,
    db_04_overlapping_requests_in_any_order_never_hinder_each_other,
    db_06_only_what_is_new_is_handled,
    db_07_long_ids_that_differ_at_their_end_are_different,
    db_09_many_senders_and_two_processes_never_see_a_locked_database,
    db_13_slow_handlers_hold_no_connection_and_no_transaction,
];

fn db_01_a_nul_is_stored_and_handed_over_as_it_was_sent() {
    let bot = Bot::start(|_| DONE);
    let stand = Stand::with(&[&bot_route(&bot, ""), LEDGER].concat());
    let case = Case::of("DB-01").text();
    assert_eq!(stand.send("DB-01").counts(), (1, 0));
    let in_id = case.replace("TESTDB01", "TEST\\u0000DB01");
    let in_name = case.replace("TESTDB01", "TESTDB01N").replace("\"body\":", "\"b\\u0000y\":");
    let typed = case.replace("TESTDB01", "TESTDB01T").replace("\\u0000", "\\\\u0000");
    for body in [&in_id, &in_name, &typed] {
        assert_eq!(stand.post(body).counts(), (1, 0));
        assert_eq!(stand.post(body).counts(), (0, 1));
    }
    stand.settle();
    assert_eq!(stand.each("state"), ["completed"; 4]);
    let mut bodies: Vec<_> = bot.calls().into_iter().map(|call| call.body).collect();
    bodies.sort();
    let mut sent = [case, in_id, in_name, typed];
    sent.sort();
    assert_eq!(bodies, sent);
    // The database's own JSON functions can read what a statement is given.
    let body = member("element", &["text", "body"]);
    let texts = stand.texts(&format!("select coalesce({body}, '-') from ledger order by n"));
    assert!(texts.contains(&"linea\u{fffd}fin".to_owned()), "{texts:?}");
    assert!(texts.contains(&"linea\\u0000fin".to_owned()), "{texts:?}");
}

fn db_03_the_same_key_twice_in_one_request_is_stored_once() {
    let stand = Stand::ledger();
    assert_eq!(stand.send("DB-03").counts(), (2, 1));
    assert_eq!(stand.effects(), ["", "B"].map(|end| message(&format!("wamid.TESTDB03{end}"))));
}

fn db_04_overlapping_requests_in_any_order_never_hinder_each_other() {
    let stand = Stand::ledger();
    let mut random = fastrand::Rng::with_seed(4);
    let mut ids = ["A", "B", "C", "D"].map(|end| format!("wamid.TESTDB04{end}"));
    for _ in 0..4 {
        let requests: Vec<_> = (0..25)
            .map(|n| {
                if n % 5 == 0 {
                    return signed(Case::of("DB-04").body());
                }
                random.shuffle(&mut ids);
                signed(texts(ids.iter().map(|id| ("15550100011", id.as_str()))))
            })
            .collect();
        for answer in stand.ask_at_once(requests) {
            assert_eq!(answer.status, 200);
        }
    }
    let effects = stand.effects();
    assert_eq!((effects.len(), effects.iter().collect::<BTreeSet<_>>().len()), (4, 4));
    let copies: i64 = stand.events().iter().map(|event| event["copies"].as_i64().unwrap()).sum();
    assert_eq!(copies, 400);
}

fn db_06_only_what_is_new_is_handled() {
    let stand = Stand::ledger();
    assert_eq!(stand.post(texts([("15550100011", "wamid.TESTDB06OLD")])).counts(), (1, 0));
    stand.settle();
    assert_eq!(stand.send("DB-06").counts(), (1, 1));
    assert_eq!(stand.effects(), ["OLD", "NEW"].map(|end| message(&format!("wamid.TESTDB06{end}"))));
}

fn db_07_long_ids_that_differ_at_their_end_are_different() {
    let stand = Stand::ledger();
    let case = Case::of("DB-07").text();
    let id: String =
        case.split("\"id\":\"wamid.").nth(1).unwrap().split('"').next().unwrap().into();
    assert!(id.len() > 2700, "{}", id.len());
    let other = format!("{}{}", &id[..id.len() - 1], if id.ends_with('Z') { "Y" } else { "Z" });
    let other = case.replace(&id, &other);
    assert_eq!(stand.send("DB-07").counts(), (1, 0));
    assert_eq!(stand.post(&other).counts(), (1, 0));
    assert_eq!((stand.send("DB-07").counts(), stand.post(&other).counts()), ((0, 1), (0, 1)));
    let effects = stand.effects();
    assert_eq!(effects.len(), 2);
    assert!(effects.iter().all(|key| key.starts_with("sha256:") && key.len() < 512));
}

/// Two processes on one file, each with its worker and janitor, and a third that looks.
fn db_09_many_senders_and_two_processes_never_see_a_locked_database() {
    let stand = Stand::ledger();
    let second = stand.another();
    for round in 0..8 {
        let requests = (0..32).map(|n| {
            let server = if n % 2 == 0 { stand.server() } else { &second };
            let [first, second] = ["", "B"].map(|end| format!("wamid.TESTDB09.{round}.{n}{end}"));
            let other = format!("1555{n}");
            (server, signed(texts([("15550100011", &*first), (&*other, &*second)])))
        });
        for answer in ask_at_once(requests) {
            assert_eq!(answer.counts(), (2, 0));
        }
        stand.place.run(&["stats"]).ok();
    }
    assert_eq!(stand.send("DB-09").counts(), (1, 0));
    let effects = stand.effects();
    let distinct: BTreeSet<_> = effects.iter().collect();
    assert_eq!((effects.len(), distinct.len()), (513, 513));
}

/// A file system without shared memory can't be had in a test: WAL that does not take effect is
/// refused in one line of `session.rs`. Damage is made here.
#[test]
fn db_10_a_damaged_file_is_never_answered_200_and_turns_readiness_red() {
    let mut stand = Stand::ledger();
    assert_eq!(stand.send("LOST-01").counts(), (3, 0));
    stand.settle();
    assert!(stand.take().terminate().success());
    let page = "select rootpage from sqlite_master where name = 'hookonce_events_id'";
    let page: u64 = stand.database().query_row(page, (), |row| row.get(0)).unwrap();
    let path = stand.place.path("hookonce.db");
    let file = std::fs::File::options().read(true).write(true).open(path).unwrap();
    let mut good = [0; 4096];
    file.read_exact_at(&mut good, (page - 1) * 4096).unwrap();
    file.write_all_at(&[0xa5; 4096], (page - 1) * 4096).unwrap();

    stand.start();
    for _ in 0..20 {
        let answer = stand.send("DB-09");
        assert_eq!((answer.status, answer.header("retry-after")), (503, Some("5")));
    }
    assert_eq!(stand.get("/readyz").status, 503);
    let said = stand.take().into_stderr();
    assert!(said.contains("the database file is damaged"), "{said}");
    assert!(said.lines().count() < 20, "{said}");

    file.write_all_at(&good, (page - 1) * 4096).unwrap();
    stand.start();
    assert_eq!(stand.get("/readyz").status, 200);
    assert_eq!(stand.send("LOST-01").counts(), (0, 3));
}

fn db_13_slow_handlers_hold_no_connection_and_no_transaction() {
    let gate = Gate::default();
    let held = gate.clone();
    let bot = Bot::start(move |_| {
        held.pass();
        DONE
    });
    let stand = Stand::bot(&bot, "lease = \"4s\"\norder = \"none\"\n");
    let ids: Vec<_> = (0..50).map(|n| format!("wamid.TESTDB13.{n}")).collect();
    let all = texts(ids.iter().map(|id| ("15550100011", id.as_str())));
    assert_eq!(stand.post(all).counts(), (50, 0));
    bot.called(50);
    let mut took = Vec::new();
    let mut client = stand.connect();
    for n in 0..100 {
        let id = format!("wamid.TESTDB13.more.{n}");
        let began = Instant::now();
        let answer = client.ask(signed(texts([("15550100012", &*id)])));
        took.push(began.elapsed());
        assert_eq!(answer.counts(), (1, 0));
    }
    took.sort();
    assert!(took[90] < Duration::from_secs(1), "{took:?}");
    // All this outlasts the leases, each of which is extended.
    let span = either("8000", "interval '8 s'");
    let short =
        format!("hookonce_tasks where state = 'claimed' and lease_until < claimed_at + {span}");
    until("the leases are kept", || stand.count(&short) == 0);
    gate.open();
    stand.settle();
    let keys = bot.keys();
    let distinct: BTreeSet<_> = keys.iter().collect();
    assert_eq!((keys.len(), distinct.len()), (150, 150), "none was started twice");
}
