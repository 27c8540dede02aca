//! What the other side said, cut to what is kept with an attempt: one line, and not at length.

/// How much is kept, in characters.
const LIMIT: usize = 500;

/// The beginning of a text.
pub(super) fn first(text: &[u8]) -> String {
    line(text).chars().take(LIMIT).collect()
}

/// The end of a text.
pub(super) fn last(text: &[u8]) -> String {
    let line = line(text);
    let beyond = line.chars().count().saturating_sub(LIMIT);
    line.chars().skip(beyond).collect()
}

/// The words on one line.
fn line(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let words = text.split(|c: char| c.is_whitespace() || c.is_control());
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_quoted_on_one_line_and_not_at_length() {
        for quote in [first, last] {
            assert_eq!(quote(b"  no\r\n such\0 \xff user\n"), "no such \u{fffd} user");
            assert_eq!(quote(&[b'x'; 4096]).len(), LIMIT);
        }
        let long = [[b'a'; LIMIT], [b'z'; LIMIT]].concat();
        assert_eq!(first(&long), "a".repeat(LIMIT));
        assert_eq!(last(&long), "z".repeat(LIMIT));
    }
}
