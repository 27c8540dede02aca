//! HTTP: how a request may come, and what it is answered.

use std::time::{Duration, Instant};

use super::bot::{Bot, DONE, FAILED, Gate};
use super::case::Case;
use super::client::{request, signature, signed};
use super::stand::{Stand, envelope, memory, message, texts, until};
use crate::engine::{either, on_both};

on_both![
    http_01_one_trailing_slash_is_served_and_nothing_is_redirected,
    http_03_there_is_one_limit_of_the_body_however_its_length_is_told,
    http_04_a_chunked_body_is_a_body,
    http_06_a_deep_body_is_kept_and_kills_nothing,
    http_07_of_a_repeated_member_the_last_counts_everywhere,
    http_09_what_is_stored_is_answered_200_in_every_state,
    http_10_a_store_that_is_slow_is_answered_503_in_time_and_nothing_is_half_stored,
];

const PATH: &str = "/webhooks/meta";

fn http_01_one_trailing_slash_is_served_and_nothing_is_redirected() {
    let stand = Stand::ledger();
    assert_eq!(stand.send("HTTP-01").counts(), (1, 0));
    assert_eq!(stand.post(Case::of("HTTP-01").body()).counts(), (0, 1));
    let query = "hub.mode=subscribe&hub.verify_token=test-verify-0001&hub.challenge=1";
    assert_eq!(stand.get(&format!("{PATH}/?{query}")).body, "1");
    for path in ["/webhooks/meta//", "//webhooks/meta", "/webhooks", "/webhooks/meta/x"] {
        let status = stand.ask(request("POST", path, [("A", "b")], b"{}")).status;
        assert_eq!(status, 404, "{path}");
    }
}

/// A body of exactly so many bytes, signed.
fn sized(length: usize, chunked: bool) -> Vec<u8> {
    let id = format!("wamid.HTTP03.{length}.{chunked}");
    let mut body = texts([("15550100011", &*id)]).into_bytes();
    body.resize(length, b' ');
    let mut headers = vec![("X-Hub-Signature-256", signature(&body))];
    if chunked {
        headers.push(("Transfer-Encoding", "chunked".to_owned()));
    }
    request("POST", PATH, headers, &body)
}

fn http_03_there_is_one_limit_of_the_body_however_its_length_is_told() {
    const LIMIT: usize = 64 << 10;
    let stand = Stand::limited("body_limit = \"64KiB\"");
    for chunked in [false, true] {
        for length in [LIMIT - 1, LIMIT] {
            assert_eq!(stand.ask(sized(length, chunked)).counts(), (1, 0), "{length} {chunked}");
        }
        let answer = stand.ask(sized(LIMIT + 1, chunked));
        assert_eq!((answer.status, answer.header("connection")), (413, Some("close")));
    }
    // Endless ones, many at a time: each is answered at the limit and its connection closed.
    let before = memory(stand.server());
    let head = request("POST", PATH, [("Transfer-Encoding", "chunked")], b"x");
    let head = &head[..head.len() - "\r\n0\r\n\r\n".len()];
    let chunk = [b"\r\n1000\r\n", &[b'x'; 0x1000][..]].concat();
    let mut clients: Vec<_> = (0..50).map(|_| stand.connect()).collect();
    for client in &mut clients {
        client.send(head);
        for _ in 0..LIMIT / 0x1000 {
            client.send(&chunk);
        }
    }
    for mut client in clients {
        assert_eq!(client.answer().unwrap().status, 413);
        until("it is closed", || !client.try_send(&chunk));
    }
    let grown = memory(stand.server()) - before;
    assert!(grown < 32 << 10, "{grown} KiB for 50 bodies of 64");
    assert_eq!(stand.send("LOST-01").counts(), (3, 0));
}

fn http_04_a_chunked_body_is_a_body() {
    let stand = Stand::ledger();
    assert_eq!(stand.send("HTTP-04").counts(), (1, 0));
    let body = Case::of("HTTP-04").text();
    let head = format!(
        "POST {PATH} HTTP/1.1\r\nHost: x\r\nX-Hub-Signature-256: {}\r\n",
        signature(body.as_bytes())
    );
    let chunk = |c| format!("1;name=\"value\"\r\n{c}\r\n");
    let chunks = body.chars().map(chunk).collect::<Vec<_>>().concat();
    let end = "0\r\nX-Trailer: x\r\nX-Hub-Signature-256: sha256=00\r\n\r\n";
    let chunked = format!("{head}Transfer-Encoding: chunked\r\n\r\n{chunks}{end}");
    assert_eq!(stand.ask(chunked).counts(), (0, 1));
    let both = format!(
        "{head}Transfer-Encoding: chunked\r\nContent-Length: {}\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n",
        body.len(),
        body.len()
    );
    assert_eq!(stand.ask(both).status, 400);
    assert_eq!(stand.effects(), [message("wamid.TESTHTTP04")]);
}

fn http_06_a_deep_body_is_kept_and_kills_nothing() {
    let stand = Stand::ledger();
    let nested = |n: usize| {
        format!(
            r#"{{"object":"whatsapp_business_account","entry":[{{"id":"1","changes":[{{"field":"messages","value":{}{}}}]}}]}}"#,
            "[".repeat(n),
            "]".repeat(n)
        )
    };
    // Around it are seven levels: the body itself, a list, an object, and so on.
    for (n, kind) in [(100, "messages"), (127, "unreadable"), (128, "unreadable")]
        .into_iter()
        .chain([(1000, "unreadable"), (100_000, "unreadable")])
    {
        let body = nested(n);
        assert_eq!(stand.ask(request("POST", PATH, [("A", "b")], body.as_bytes())).status, 401);
        assert_eq!(stand.post(&body).counts(), (1, 0), "{n}");
        assert_eq!(stand.each("kind").last().unwrap(), kind, "{n}");
        let key = stand.each("key").pop().unwrap();
        if kind == "unreadable" {
            assert_eq!(stand.show(&key)["payload"], body);
        }
    }
    let deep = format!("{}1{}", r#"{"a":"#.repeat(100), "}".repeat(100));
    let text = format!(r#""messages":[{{"id":"DEEP","from":"1","type":"text","text":{deep}}}]"#);
    assert_eq!(stand.post(envelope(&text)).counts(), (1, 0));
    assert!(stand.effects().contains(&message("DEEP")));
}

fn http_07_of_a_repeated_member_the_last_counts_everywhere() {
    let bot = Bot::start(|_| DONE);
    let stand = Stand::bot(&bot, "");
    assert_eq!(stand.send("HTTP-07").counts(), (1, 0));
    stand.settle();
    assert_eq!(bot.keys(), [message("wamid.TESTHTTP07B")]);
    // What the handler is given is read by the same rule.
    let body: serde_json::Value = serde_json::from_str(&bot.calls()[0].body).unwrap();
    let id = body.pointer("/entry/0/changes/0/value/messages/0/id").unwrap();
    assert_eq!(id, "wamid.TESTHTTP07B");
    let only = Case::of("HTTP-07").text().replace(r#""id":"wamid.TESTHTTP07A","#, "");
    assert_eq!(stand.post(only).counts(), (0, 1));
}

fn http_09_what_is_stored_is_answered_200_in_every_state() {
    let gate = Gate::default();
    let held = gate.clone();
    let bot = Bot::start(move |call| {
        held.pass();
        if call.key().ends_with("DEAD") { FAILED } else { DONE }
    });
    let stand = Stand::bot(&bot, "max_attempts = 1");
    let behind = texts([("15550100011", "BEHIND")]);
    let dead = texts([("15550100012", "DEAD")]);
    assert_eq!(stand.send("HTTP-09").counts(), (1, 0));
    assert_eq!((stand.post(&behind).counts(), stand.post(&dead).counts()), ((1, 0), (1, 0)));
    bot.called(2);
    let each = |states: [&str; 3]| {
        assert_eq!(stand.each("state"), states);
        assert_eq!(stand.send("HTTP-09").counts(), (0, 1));
        assert_eq!((stand.post(&behind).counts(), stand.post(&dead).counts()), ((0, 1), (0, 1)));
    };
    each(["claimed", "pending", "claimed"]);
    gate.open();
    stand.settle();
    each(["completed", "completed", "dead"]);
    assert_eq!(bot.calls().len(), 3);
}

fn http_10_a_store_that_is_slow_is_answered_503_in_time_and_nothing_is_half_stored() {
    let stand = Stand::limited("ack_timeout = \"500ms\"");
    assert_eq!(stand.post(texts([("1", "BEFORE")])).counts(), (1, 0));
    stand.settle();
    let lock = stand.place.sql();
    lock.run(either("begin immediate", "begin; lock table hookonce_events in exclusive mode"));
    // A sender that gives up before it is answered.
    let abandoned: Vec<_> = (0..100).map(|n| format!("GONE{n}")).collect();
    let abandoned = signed(texts(abandoned.iter().map(|id| ("1", id.as_str()))));
    let mut gone = stand.connect();
    gone.send(&abandoned);
    drop(gone);
    let began = Instant::now();
    let late: Vec<_> = (0..200).map(|n| signed(texts([("1", &*format!("LATE{n}"))]))).collect();
    let requests = std::iter::once(signed(Case::of("HTTP-10").body())).chain(late);
    for answer in stand.ask_at_once(requests) {
        assert_eq!((answer.status, answer.header("retry-after")), (503, Some("5")));
    }
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    lock.run("rollback");
    until("it works again", || stand.send("HTTP-10").status == 200);
    stand.settle();
    let stored = stand.count("hookonce_events where key like '%GONE%'");
    assert!(stored == 0 || stored == 100, "{stored}");
    assert_eq!(stand.ask(abandoned).status, 200);
    assert_eq!(stand.count("hookonce_events where key like '%GONE%'"), 100);
    let effects = stand.effects();
    assert_eq!(effects.iter().filter(|key| key.ends_with("TESTHTTP10")).count(), 1);
}
