//! Looks for members in texts that are JSON once more.
//!
//! Doesn't say where in them their values are, so that such a text can only be taken out whole.

use std::borrow::Cow;

use super::broken::end_of_name;
use super::{char_at, separates, skip_space, string_end};

/// How many times a text may be JSON within JSON before nobody looks into it any more, and it is
/// taken for one that holds anything.
const LAYERS: usize = 8;

/// The strings that `rest` begins with: one, or those at the start of a list. No further than that,
/// so that no byte is in those of many members.
pub(super) fn leading(rest: &[u8]) -> &[u8] {
    let opens = |b: &u8| matches!(b, b'[' | b' ' | b'\t' | b'\n' | b'\r');
    let start = rest.iter().position(|b| !opens(b)).unwrap_or(rest.len());
    let mut at = start;
    while rest.get(at) == Some(&b'"') {
        at = skip_space(rest, string_end(rest, at));
        if rest.get(at) == Some(&b',') {
            at = skip_space(rest, at + 1);
        }
    }
    &rest[start..at]
}

/// Each string of the value that `rest` begins with that is in no object. Ends where the value does,
/// and where it can be none.
pub(super) fn texts(rest: &[u8]) -> impl Iterator<Item = &[u8]> {
    let (mut at, mut lists, mut objects) = (0, 0_usize, 0_usize);
    let next = move || {
        loop {
            let start = at;
            at += 1;
            match rest.get(start)? {
                b'"' => {
                    at = string_end(rest, start);
                    if objects == 0 {
                        return Some(&rest[start..at]);
                    }
                }
                b'{' if lists == 0 => return None,
                b'{' => objects += 1,
                b'}' => objects = objects.checked_sub(1)?,
                _ if objects > 0 => {}
                b'[' => lists += 1,
                b']' => lists = lists.checked_sub(1)?,
                b':' => return None,
                b',' if lists == 0 => return None,
                _ => {}
            }
        }
    };
    std::iter::from_fn(next)
}

/// Whether there is a member of such a name in the JSON that stands, escaped, in the strings of this
/// text, or in those of that.
pub(in crate::scheme) fn has_member(text: &[u8], names: &[&str]) -> bool {
    let mut text = Cow::Borrowed(text);
    for _ in 0..LAYERS {
        if !text.contains(&b'\\') {
            return false;
        }
        text = Cow::Owned(unescaped(&text));
        let quotes = text.iter().enumerate().filter(|(_, b)| **b == b'"');
        let is_member = |at| {
            let mut ends = names.iter().filter_map(|name| end_of_name(&text, at, name));
            ends.any(|end| is_before_colon(&text, end))
        };
        if quotes.map(|(at, _)| at + 1).any(is_member) {
            return true;
        }
    }
    true
}

/// Whether a name that ends here is a member's: the quote follows, and a colon.
fn is_before_colon(text: &[u8], end: usize) -> bool {
    let between = |b: &u8| *b == b'\\' || separates(*b);
    let end = end + text[end..].iter().position(|b| !between(b)).unwrap_or_default();
    text.get(end) == Some(&b'"') && text.get(skip_space(text, end + 1)) == Some(&b':')
}

/// The text with each escape replaced by what it stands for.
fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut at = 0;
    let next = || {
        let (c, next) = char_at(text, at)?;
        at = next;
        Some(c)
    };
    std::iter::from_fn(next).collect()
}

#[cfg(test)]
mod tests {
    use super::super::members;
    use super::{has_member, texts};

    const NAMES: [&str; 2] = ["sessionid", "qr"];

    #[test]
    fn a_text_that_is_json_tells_of_the_members_in_it() {
        let tells = |value: &str| {
            let body = format!(r#"{{"data":{value}}}"#);
            members(body.as_bytes())
                .next()
                .unwrap()
                .begins_with_text(|text| has_member(text, &NAMES))
        };
        let mut text = r#"{"a":[{"session_id" : "k"}]}"#.to_owned();
        for _ in 0..4 {
            text = serde_json::to_string(&text).unwrap();
            assert!(tells(&text) && tells(&format!("[ {text}]")), "{text}");
        }
        assert!(tells(r#""{\"session\\u0049d\":1}""#) && tells(r#""\u0022qr\u0022:1""#));
        for other in [r#""{\"sessionIds\":1}""#, r#""say \"qr\", or qr: x""#, "\"x\"", "7", "{}"] {
            assert!(!tells(other), "{other}");
        }
    }

    #[test]
    fn the_texts_of_a_value_are_those_in_no_object() {
        let of = |value: &str| -> Vec<String> {
            let text = |text: &[u8]| String::from_utf8_lossy(text).into_owned();
            texts(value.as_bytes()).map(text).collect()
        };
        assert_eq!(of(r#""a","b""#), [r#""a""#]);
        assert_eq!(of(r#"[1,"a",{"x":["y"]},[["b"]]],"c""#), [r#""a""#, r#""b""#]);
        assert_eq!(of(r#"["a":"b"]"#), [r#""a""#], "it can be no value");
        for none in ["", "7,\"a\"", "{}\"a\"", "]\"a\"", "}\"a\"", "null"] {
            assert!(of(none).is_empty(), "{none}");
        }
    }
}
