//! FALSE: real events taken for duplicates.

use super::stand::{Stand, envelope, message, status};

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
