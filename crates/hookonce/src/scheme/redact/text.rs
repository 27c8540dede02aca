//! Looks for members in texts that are JSON once more.
//!
//! Doesn't say where in them their values are, so that such a text can only be taken out whole.

use std::borrow::Cow;

use super::{char_at, end_of_name, separates, skip_space, string_end};

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

/// Whether there is a member of such a name in the JSON that stands, escaped, in the strings of this
/// text, or in those of that.
pub(super) fn has_member(text: &[u8], names: &[&str]) -> bool {
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

    const NAMES: [&str; 2] = ["sessionid", "qr"];

    #[test]
    fn a_text_that_is_json_tells_of_the_members_in_it() {
        let tells = |value: &str| {
            let body = format!(r#"{{"data":{value}}}"#);
            members(body.as_bytes()).next().unwrap().is_text_with(&NAMES)
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
}
