//! FALSE: real events taken for duplicates.

use super::case::Case;
use super::client::request;
use super::stand::{LEDGER, Stand, envelope, message, status};

/// A ledger, and a source `generic` that anybody may post to, whose events have this key.
fn keyed(key: &str) -> Stand {
    let source = "[sources.generic]\nscheme = \"generic\"\nunverified = true\nscope = \"meta\"\n";
    Stand::with(&format!("{source}key = {key}\nkind = \"/event\"\n{LEDGER}"))
}

/// A POST of this body to it.
fn plain(body: &str) -> Vec<u8> {
    request("POST", "/webhooks/generic", [("Content-Type", "application/json")], body.as_bytes())
}

#[test]
fn false_01_the_same_short_text_twice_is_two_messages() {
    let stand = Stand::ledger();
    assert_eq!(stand.send("FALSE-01").counts(), (2, 0));
    assert_eq!(stand.effects(), ["A", "B"].map(|end| message(&format!("wamid.TESTFAL01{end}"))));
}

#[test]
fn false_04_no_key_of_one_kind_is_ever_that_of_another() {
    let stand = Stand::ledger();
    assert_eq!(stand.send("FALSE-04").counts(), (2, 0));
    let statuses = [
        ("a_b", "c"),
        ("a", "b_c"),
        ("a:b", "c"),
        ("a", "b:c"),
        ("a/b", "c"),
        ("a", "b/c"),
        ("a b", "c"),
        ("a", "b c"),
        ("a%3Ab", "c"),
        ("a", "b%3Ac"),
        ("a%b", "c"),
        ("message", "a"),
    ]
    .map(|(id, word)| format!(r#"{{"id":"{id}","status":"{word}","timestamp":"1760000000"}}"#));
    let messages = ["a_b:c", "a:b:c", "a", "status", "status:200000000000001:a:b", "a ", "A"]
        .map(|id| format!(r#"{{"id":"{id}","from":"15550100011","type":"text"}}"#));
    let body = envelope(&format!(
        r#""messages":[{}],"statuses":[{}]"#,
        messages.join(","),
        statuses.join(",")
    ));
    assert_eq!(stand.post(&body).counts(), (19, 0));
    assert_eq!(stand.post(&body).counts(), (0, 19));
    let effects = stand.effects();
    assert_eq!(effects.len(), 21);
    for key in [message("wamid.TESTFAL04"), status("wamid.TESTFAL04", "delivered")] {
        assert!(effects.contains(&key), "{key}");
    }
}

#[test]
fn false_07_the_same_id_on_two_of_our_numbers_is_two_messages() {
    let stand = Stand::ledger();
    assert_eq!(stand.send("FALSE-07").counts(), (2, 0));
    let mut effects = stand.effects();
    effects.sort();
    assert_eq!(effects, [1, 2].map(|n| format!("message:20000000000000{n}:wamid.TESTFAL07")));
}

#[test]
fn false_03_a_device_that_numbers_from_1_again_is_another_and_changed_content_is_seen() {
    let case = Case::of("FALSE-03").text();
    let before = case.replace("dev-2", "dev-1").replace("11:52", "00:00");
    let changed = case.replace("11:52", "12:00");
    assert!(before != case && changed != case);
    let stand = keyed(r#"["/deviceId", "/event", "/payload/messageId"]"#);
    assert_eq!(stand.ask(plain(&before)).counts(), (1, 0));
    assert_eq!(stand.send("FALSE-03").counts(), (1, 0));
    assert_eq!(stand.send("FALSE-03").counts(), (0, 1));
    // The same id with other content: not handled, and plain to see.
    assert_eq!(stand.ask(plain(&changed)).counts(), (0, 1));
    let shown = stand.show("dev-2:mms%3Adownloaded:17");
    assert_eq!((&shown["copies"], &shown["mismatches"]), (&3.into(), &1.into()));
    assert_eq!(stand.effects().len(), 2);
    // By setting, other content is another event.
    let stand = keyed(r#"["/deviceId", "/event", "/payload/messageId", "digest"]"#);
    for (body, counts) in [(&case, (1, 0)), (&changed, (1, 0)), (&case, (0, 1)), (&changed, (0, 1))]
    {
        assert_eq!(stand.ask(plain(body)).counts(), counts);
    }
    assert_eq!(stand.effects().len(), 2);
}

#[test]
fn false_06_a_number_keeps_every_digit_in_key_and_payload() {
    let stand = keyed(r#"["/event", "/message_id"]"#);
    let case = Case::of("FALSE-06").text();
    assert_eq!(stand.send("FALSE-06").counts(), (1, 0));
    let numbers = [
        "9007199254740992",
        "123456789012345678901234567890",
        "1",
        "1.0",
        "1e0",
        "-1",
        "18446744073709551616",
    ];
    for number in numbers {
        let body = case.replace("9007199254740993", number);
        assert_eq!(stand.ask(plain(&body)).counts(), (1, 0), "{number}");
        assert_eq!(stand.ask(plain(&body)).counts(), (0, 1), "{number}");
        let shown = stand.show(&format!("message:{number}"));
        assert_eq!(shown["payload"], body);
    }
    assert_eq!(stand.effects().len(), 8);
    assert_eq!(stand.show("message:9007199254740993")["payload"], case);
}
