//! A text for the JSON functions of databases, which refuse what JSON allows.
//!
//! Only for reading out of: what is stored and handed on is the text as received.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::{string_end, unescape};

/// Gives `text` in a form in which every database reads the same: `\u0000` and lone surrogates,
/// which PostgreSQL refuses, become U+FFFD; of repeated members, of which SQLite takes the first and
/// others the last, only the last is left. Borrows where nothing needs a change, and where `text` is
/// no JSON.
pub fn readable(text: &str) -> Cow<'_, str> {
    if serde_json::from_str::<&RawValue>(text).is_err() {
        return Cow::Borrowed(text);
    }
    // In this order: a replacement may make two names the same.
    match with_replacements(text) {
        Cow::Borrowed(text) => without_repetitions(text),
        Cow::Owned(text) => match without_repetitions(&text) {
            Cow::Owned(text) => Cow::Owned(text),
            Cow::Borrowed(_) => Cow::Owned(text),
        },
    }
}

/// Replaces the escapes that stand for no character a database takes. In valid JSON every backslash
/// is within a string, so that strings need no telling apart.
fn with_replacements(text: &str) -> Cow<'_, str> {
    let mut made = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(found) = text[at..].find('\\') {
        at += found;
        let Some(unit) = escaped_unit(text, at) else {
            // An escaped backslash is passed as a pair, so that what follows it isn't an escape.
            at += 2;
            continue;
        };
        let pair = (0xd800..0xdc00).contains(&unit)
            && escaped_unit(text, at + 6).is_some_and(|low| (0xdc00..0xe000).contains(&low));
        if pair {
            at += 12;
            continue;
        }
        if unit == 0 || (0xd800..0xe000).contains(&unit) {
            made.push_str(&text[copied..at]);
            made.push('\u{fffd}');
            copied = at + 6;
        }
        at += 6;
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    made.push_str(&text[copied..]);
    Cow::Owned(made)
}

/// The UTF-16 unit of the escape `\uXXXX` at `at`, if one stands there.
fn escaped_unit(text: &str, at: usize) -> Option<u32> {
    let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
    u32::from_str_radix(digits, 16).ok()
}

/// A member in the text: from its key to the key of the next one, if there is one.
struct Span<'a> {
    name: Cow<'a, str>,
    start: usize,
    end: usize,
}

/// Leaves out each member that a later one of the same object and name overrides.
fn without_repetitions(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    // The members so far of each container that is open; an array has none.
    let mut open: Vec<Vec<Span<'_>>> = Vec::new();
    let mut overridden = Vec::new();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'{' | b'[' => open.push(Vec::new()),
            b'}' | b']' => overridden.extend(overridden_of(open.pop().unwrap_or_default())),
            b'"' => {
                let start = at;
                at = string_end(bytes, at);
                if let (true, Some(members)) =
                    (text[at..].trim_start().starts_with(':'), open.last_mut())
                {
                    if let Some(last) = members.last_mut() {
                        last.end = start;
                    }
                    members.push(Span { name: unescape(&text[start..at]), start, end: start });
                }
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    if overridden.is_empty() {
        return Cow::Borrowed(text);
    }
    overridden.sort_unstable();
    let mut made = String::with_capacity(text.len());
    let mut copied = 0;
    for (start, end) in overridden {
        // One within another that is left out is left out already.
        if start >= copied {
            made.push_str(&text[copied..start]);
        }
        copied = copied.max(end);
    }
    made.push_str(&text[copied..]);
    Cow::Owned(made)
}

/// Where the members of one object are that a later one overrides. Each has a next member, so that
/// its end is known and the comma goes with it.
fn overridden_of(mut members: Vec<Span<'_>>) -> impl Iterator<Item = (usize, usize)> {
    // Stable, so that of one name the last stays last.
    members.sort_by(|a, b| a.name.cmp(&b.name));
    let mut members = members.into_iter().peekable();
    std::iter::from_fn(move || {
        loop {
            let member = members.next()?;
            if members.peek().is_some_and(|next| next.name == member.name) {
                return Some((member.start, member.end));
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_readable_text_borrows_unless_it_must_change() {
        for text in
            [r#"{"a":"\\u0000","b":["\ud83d\ude00",{"a":1}]}"#, "no \\u0000 JSON", "", "\\", "\"\\"]
        {
            assert!(matches!(readable(text), Cow::Borrowed(same) if same == text), "{text}");
        }
    }

    #[test]
    fn a_readable_text_has_neither_nul_nor_lone_surrogates_nor_repetitions() {
        for (text, right) in [
            (r#"["a\u0000b"]"#, "[\"a\u{fffd}b\"]"),
            (r#""\\\u0000\uD83D\uDE00""#, "\"\\\\\u{fffd}\\uD83D\\uDE00\""),
            (r#""\ud83d\ud83d\ude00\ude00\ud83dé""#, "\"\u{fffd}\\ud83d\\ude00\u{fffd}\u{fffd}é\""),
            (r#"{"id":"A", "id" : "B"}"#, r#"{"id" : "B"}"#),
            (
                r#"{"a":{"x":1,"x":2},"b":[{"y":1,"y":2}],"\u0061":{"z":":","z":3}}"#,
                r#"{"b":[{"y":2}],"\u0061":{"z":3}}"#,
            ),
            (r#"{"a\u0000":1,"a\ud800":2}"#, "{\"a\u{fffd}\":2}"),
            (r#"{"a":1,"b":"a","a":2,"a":3}"#, r#"{"b":"a","a":3}"#),
        ] {
            assert_eq!(readable(text), right);
            assert!(serde_json::from_str::<serde_json::Value>(&readable(text)).is_ok());
        }
        let deep = ["[".repeat(200_000), "]".repeat(200_000)].concat();
        assert_eq!(readable(&deep), deep);
    }
}
