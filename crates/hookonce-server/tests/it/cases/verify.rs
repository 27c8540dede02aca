//! VERIFY: the sender's question, by GET, whether we are who it thinks.

use super::stand::{LEDGER, Stand};

const PATH: &str = "/webhooks/meta?hub.mode=subscribe&hub.verify_token=test-verify-0001";

#[test]
fn verify_01_the_challenge_is_answered_as_plain_text_and_nothing_else() {
    let answer = Stand::ledger().send("VERIFY-01");
    assert_eq!((answer.status, &*answer.body), (200, "1158201444"));
    assert!(answer.header("content-type").unwrap().starts_with("text/plain"));
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
}

#[test]
fn verify_02_the_challenge_is_answered_whatever_is_in_it() {
    let stand = Stand::ledger();
    assert_eq!(stand.send("VERIFY-02").body, "187112876");
    for text in ["00123", "not-a-number", &"x".repeat(1024)] {
        assert_eq!(stand.get(&format!("{PATH}&hub.challenge={text}")).body, text);
    }
    assert_eq!(stand.get(&format!("{PATH}&hub.challenge={}", "x".repeat(1025))).status, 403);
}

/// The case's own query has `<` and `>` in it as they are, which no URL may.
#[test]
fn verify_04_another_token_or_mode_is_refused_and_nothing_is_reflected() {
    let stand = Stand::ledger();
    let raw = stand.send("VERIFY-04");
    assert!(matches!(raw.status, 400 | 403), "{raw:?}");
    assert!(!raw.body.contains("alert"));
    let script = "hub.challenge=%3Cscript%3Ealert(1)%3C/script%3E";
    for query in [
        "hub.mode=subscribe&hub.verify_token=wrong",
        "hub.mode=subscribe&hub.verify_token=test-verify-000",
        "hub.mode=subscribe&hub.verify_token=test-verify-00011",
        "hub.mode=subscribe",
        "hub.mode=unsubscribe&hub.verify_token=test-verify-0001",
        "hub.verify_token=test-verify-0001",
        "hub.mode=subscribe&hub.verify_token=wrong&hub.verify_token=test-verify-0001",
    ] {
        let answer = stand.get(&format!("/webhooks/meta?{query}&{script}"));
        assert_eq!(answer.status, 403, "{query}");
        assert!(!answer.body.contains("script"), "{query}");
    }
}

#[test]
fn verify_05_without_a_token_every_challenge_is_refused_and_the_start_warns() {
    let source = "[sources.meta]\nscheme = \"meta\"\nsecrets = [\"test-app-secret-0001\"]\n";
    let ledger = "[sinks.ledger]\ntype = \"sql\"\nstatement = \"select 1\"\n";
    let stand = Stand::configured("", &[source, ledger, LEDGER].concat());
    for query in ["&hub.verify_token=", "", "&hub.verify_token=null", "&hub.verify_token"] {
        let path = format!("/webhooks/meta?hub.mode=subscribe&hub.challenge=42{query}");
        let answer = stand.get(&path);
        assert_eq!((answer.status, answer.body.contains("42")), (403, false), "{query}");
    }
    assert_eq!(stand.send("VERIFY-05").status, 403);
    // `serve` warns before it listens, in the same words.
    let checked = stand.place.run(&["check"]);
    assert!(checked.stderr.contains("there is no `verify_token`"), "{}", checked.stderr);
    // One that is there is not matched by an empty one either.
    assert_eq!(Stand::ledger().send("VERIFY-05").status, 403);
}

#[test]
fn verify_07_no_rule_for_browsers_stands_before_a_webhook() {
    let stand = Stand::ledger();
    let path = format!("{PATH}&hub.challenge=77");
    for head in [
        "Host: evil.example.test",
        "Host: hooks.example.test\r\nOrigin: https://evil.example.test",
        "Host: x\r\nUser-Agent: facebookplatform/1.0\r\nSec-Fetch-Site: cross-site",
    ] {
        let answer = stand.ask(format!("GET {path} HTTP/1.1\r\n{head}\r\n\r\n"));
        assert_eq!((answer.status, &*answer.body), (200, "77"), "{head}");
    }
    assert_eq!(stand.send("VERIFY-07").body, "77");
    for path in ["/", "/api/events", "/api/counts", "/metrics", "/dashboard"] {
        assert_eq!(stand.get(path).status, 404, "{path}: the admin listener is another");
    }
}
