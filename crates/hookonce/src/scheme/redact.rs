//! Takes credentials out of a body before anything else is done with it.
//!
//! Looks at bytes only, so that a body which is broken, or no text, is no way round it. Doesn't know
//! which names are secret, and never recurses.

mod broken;
mod text;

use std::borrow::Cow;

use crate::element::string_end;

pub(super) use broken::cut_off;
pub(super) use text::has_member;

/// What stands in place of a value.
const REDACTED: &[u8] = b"\"REDACTED\"";

/// The body with the value of every member of these names, at any depth, replaced by `"REDACTED"`;
/// one that doesn't end as a value must, to the end of the body. Names are in lower case, and mean every spelling:
/// case, `_`, `-` and escapes make no difference. Nothing is copied where there is none.
pub(super) fn redact<'b>(body: &'b [u8], names: &[&str]) -> Cow<'b, [u8]> {
    redact_where(body, |member| member.is_any(names))
}

/// The same for the members that `is_secret` says, which sees each but those within one that is.
pub(super) fn redact_where<'b>(
    body: &'b [u8],
    mut is_secret: impl FnMut(&Member<'b>) -> bool,
) -> Cow<'b, [u8]> {
    let mut members = members(body);
    let (mut copied, mut copy) = (0, Vec::new());
    while let Some(member) = members.next() {
        if is_secret(&member) {
            if copy.is_empty() {
                copy.reserve(body.len() + REDACTED.len());
            }
            copy.extend_from_slice(&body[copied..member.value_at]);
            copy.extend_from_slice(REDACTED);
            copied = member.value_end();
            members.at = copied;
        }
    }
    if copied == 0 {
        return Cow::Borrowed(body);
    }
    copy.extend_from_slice(&body[copied..]);
    Cow::Owned(copy)
}

/// A member of an object, wherever that stands: a string with a colon behind it.
pub(super) struct Member<'b> {
    body: &'b [u8],
    name: &'b [u8],
    value_at: usize,
    /// How many objects it is in.
    objects: usize,
}

impl<'b> Member<'b> {
    /// Whether this is its name in any spelling.
    pub(super) fn is(&self, name: &str) -> bool {
        // An escape makes a name longer.
        self.name.len() >= name.len() && letters(self.name).eq(name.bytes())
    }

    /// Whether its name is one of these.
    pub(super) fn is_any(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.is(name))
    }

    /// Whether its object is in no other.
    pub(super) fn is_outermost(&self) -> bool {
        self.objects == 1
    }

    /// Its value if that is a string, in its quotes and escapes, as far as it goes.
    pub(super) fn string(&self) -> Option<&'b [u8]> {
        let rest = &self.body[self.value_at..];
        rest.starts_with(b"\"").then(|| &rest[..string_end(rest, 0)])
    }

    /// Whether it is a text, or a list that begins with texts, and this holds for them: what is in
    /// there is redacted with all of it.
    pub(super) fn begins_with_text(&self, is_secret: impl Fn(&[u8]) -> bool) -> bool {
        is_secret(text::leading(&self.body[self.value_at..]))
    }

    /// Whether this holds for a text that it is, or that is in a list there and in no object. To be
    /// asked of outermost members alone, so that no byte is looked at for many.
    pub(super) fn has_text(&self, is_secret: impl Fn(&[u8]) -> bool) -> bool {
        text::texts(&self.body[self.value_at..]).any(is_secret)
    }

    /// Where its value ends; where the body does, if what comes behind it says that the value goes
    /// on, or was none.
    fn value_end(&self) -> usize {
        let end = self.value_at + value_end(&self.body[self.value_at..]);
        let next = self.body.get(skip_space(self.body, end));
        if next.is_none_or(|b| matches!(b, b',' | b'}' | b']')) { end } else { self.body.len() }
    }
}

/// Whether one of these words stands in `text`, in whatever spelling and escapes.
pub(super) fn tells_of(text: &[u8], words: &[&[u8]]) -> bool {
    let letters: Vec<u8> = letters(text).filter(u8::is_ascii_alphanumeric).collect();
    words.iter().any(|word| letters.windows(word.len()).any(|part| part == *word))
}

/// The letters of a name, in lower case and unescaped, without what only separates them.
pub(super) fn letters(name: &[u8]) -> impl Iterator<Item = u8> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let (letter, next) = letter_at(name, at, char_at)?;
        at = next;
        Some(letter)
    })
}

/// The members of a body, those within the value of another among them.
pub(super) fn members(body: &[u8]) -> Members<'_> {
    Members { body, at: 0, objects: 0 }
}

/// A way through the members of a body.
pub(super) struct Members<'b> {
    body: &'b [u8],
    at: usize,
    /// How many objects are open there.
    objects: usize,
}

impl<'b> Iterator for Members<'b> {
    type Item = Member<'b>;

    fn next(&mut self) -> Option<Member<'b>> {
        let Self { body, .. } = *self;
        loop {
            match body.get(self.at)? {
                b'"' => {
                    let start = self.at;
                    let end = string_end(body, start);
                    self.at = skip_space(body, end);
                    if body.get(self.at) == Some(&b':') {
                        self.at = skip_space(body, self.at + 1);
                        let (name, objects) = (&body[start + 1..end - 1], self.objects);
                        return Some(Member { body, name, value_at: self.at, objects });
                    }
                    continue;
                }
                b'{' => self.objects += 1,
                b'}' => self.objects = self.objects.saturating_sub(1),
                _ => {}
            }
            self.at += 1;
        }
    }
}

fn skip_space(body: &[u8], from: usize) -> usize {
    let space = |b: &u8| matches!(b, b' ' | b'\t' | b'\n' | b'\r');
    from + body[from..].iter().position(|b| !space(b)).unwrap_or(body.len() - from)
}

/// How long the value is that `rest` begins with.
fn value_end(rest: &[u8]) -> usize {
    let (mut at, mut open) = (0, 0_usize);
    while let Some(byte) = rest.get(at) {
        match byte {
            b'"' => at = string_end(rest, at) - 1,
            b'{' | b'[' => open += 1,
            b'}' | b']' if open > 0 => open -= 1,
            _ if open > 0 => {}
            _ => return word_end(rest),
        }
        at += 1;
        if open == 0 {
            return at;
        }
    }
    rest.len()
}

/// How long the number or word is that `rest` begins with; all of it, if it is neither: who knows
/// where such a thing ends.
fn word_end(rest: &[u8]) -> usize {
    let end = |b: &u8| matches!(b, b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r');
    let word = &rest[..rest.iter().position(end).unwrap_or(rest.len())];
    let is_number = |b: &u8| b.is_ascii_digit() || b"+-.eE".contains(b);
    let is_number = word.iter().any(u8::is_ascii_digit) && word.iter().all(is_number);
    let known = is_number || matches!(word, b"true" | b"false" | b"null");
    if known { word.len() } else { rest.len() }
}

/// The character at a place, by the escapes that may stand there, and where the next one is.
type CharAt = fn(&[u8], usize) -> Option<(u8, usize)>;

/// The letter at `at` or behind the separators there, in lower case, and where the next one is.
fn letter_at(text: &[u8], mut at: usize, char_at: CharAt) -> Option<(u8, usize)> {
    loop {
        let (letter, next) = char_at(text, at)?;
        if !separates(letter) {
            return Some((letter.to_ascii_lowercase(), next));
        }
        at = next;
    }
}

/// Whether a character only separates a name's words. A NUL does: text in UTF-16 is then read as well.
fn separates(c: u8) -> bool {
    matches!(c, b'_' | b'-' | 0)
}

/// The character at `at`, unescaped, and where the next one is. What isn't ASCII is 0xff.
fn char_at(text: &[u8], at: usize) -> Option<(u8, usize)> {
    Some(match (text.get(at)?, text.get(at + 1)) {
        (b'\\', Some(b'u')) => (escaped(text, at + 2), (at + 6).min(text.len())),
        (b'\\', Some(other)) => (*other, at + 2),
        (c, _) => (*c, at + 1),
    })
}

/// The character of which the four digits start at `at`.
fn escaped(text: &[u8], at: usize) -> u8 {
    let digits = text.get(at..at + 4).and_then(|digits| std::str::from_utf8(digits).ok());
    let code = digits.and_then(|digits| u16::from_str_radix(digits, 16).ok());
    code.and_then(|code| u8::try_from(code).ok()).filter(u8::is_ascii).unwrap_or(0xff)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 2] = ["sessionid", "qr"];

    fn redacted(body: &str) -> String {
        String::from_utf8(redact(body.as_bytes(), &NAMES).into_owned()).unwrap()
    }

    #[test]
    fn a_member_is_redacted_whatever_its_spelling_place_and_value() {
        for name in
            ["sessionId", "session_id", "SESSION-ID", r"session\u0049d", r"\u0053ession\u005FId"]
        {
            for value in
                ["\"k\"", r#""a\"b\\""#, "7", "-1.5e3", "null", "{\"a\":[\"}\"]}", "[[],{}]"]
            {
                let body = format!(r#"{{"a":[{{"{name}" : {value} ,"b":1}}]}}"#);
                let right = format!(r#"{{"a":[{{"{name}" : "REDACTED" ,"b":1}}]}}"#);
                assert_eq!(redacted(&body), right);
            }
        }
        let twice = redacted(r#"{"sessionId":"a","x":{"sessionId":"b"},"sessionId":{"qr":"c"}}"#);
        let right =
            r#"{"sessionId":"REDACTED","x":{"sessionId":"REDACTED"},"sessionId":"REDACTED"}"#;
        assert_eq!(twice, right);
    }

    #[test]
    fn what_only_looks_like_it_stays_and_is_not_copied() {
        for body in [
            "",
            "{}",
            r#"{"text":"sessionId\":\"x","sessionIds":1,"session":"a","\u0100sessionId":1}"#,
            r#"["sessionId","qr"]"#,
            r#"{"a":"sessionId"}"#,
        ] {
            assert!(matches!(redact(body.as_bytes(), &NAMES), Cow::Borrowed(_)), "{body}");
        }
    }

    #[test]
    fn a_value_that_does_not_end_is_redacted_to_the_end() {
        let right = r#"{"a":1,"sessionId":"REDACTED""#;
        for value in [
            "\"k\"k",
            "\"k\" k",
            "\"sessionId\" : \"k\"",
            "{}k",
            "[]\"k\"",
            "\"k",
            "\"k\\",
            "\"",
            "{\"k\":1",
            "[\"k\",",
            "",
            "kk, k",
            "'k,k'",
            "12",
            "12",
            ",\"k\",\"b\":1}",
            "}\"k\"",
            "]\"k\"}",
            "-,\"k\"",
        ] {
            assert_eq!(redacted(&format!(r#"{{"a":1,"sessionId":{value}"#)), right, "{value}");
        }
        let bytes = redact(b"\xff{\"sessionId\":\"\xfe\",\"b\":\"\xfd\"}", &NAMES);
        assert_eq!(&*bytes, b"\xff{\"sessionId\":\"REDACTED\",\"b\":\"\xfd\"}");
    }

    #[test]
    fn of_what_cant_be_read_nothing_is_left_behind_a_name() {
        let cut = |body: &[u8]| cut_off(&redact(body, &NAMES), &NAMES).into_owned();
        for body in [
            &br#"{"a":"b"c","sessionId":"k"}"#[..],
            b"{sessionId:'k'}",
            b"a=1&sessionId=k",
            b"<session-id>k</session-id>",
            br#"{"a":"{\"sessionId\":\"k\"}"#,
            br#"{"a":"b"c","session\u0049d":"k"}"#,
            b"s\0e\0s\0s\0i\0o\0n\0I\0d\0\"\0:\0\"\0k\0",
            b"{'qr': 'k'}",
            br#"{"a":"b"c"d"_sessionId":"k"}"#,
            br#"{"a":"b"c"d"\u002DsessionId":"k"}"#,
            br#"{"a":"{\u0022sessionId\u0022:\u0022k\u0022}"#,
            br#"{"a":"b\nsessionId: k"#,
            b"payload=%7B%22sessionId%22%3A%22k%22%7D",
            b"payload=%257B%2522sessionId%2522%253A%2522k%2522%257D",
            b"data%5BsessionId%5D=k",
            b"a%3D1%26session%5Fid=k",
            b"%73ession%49d=k",
            br"\x22sessionId\x22:\x22k\x22",
            br"\\x22session\x49d\\x22:k",
        ] {
            let left = cut(body);
            assert!(!left.contains(&b'k'), "{}", String::from_utf8_lossy(&left));
            assert!(left.ends_with(b"\":\"REDACTED\""));
        }
        for body in [
            &b"{\"sessionId\":\"k\",\"z\":1"[..],
            b"[sessionIds, qrs, aqr]",
            br"[\u0061qr, \u00C4qrs]",
            b"\xff",
        ] {
            assert_eq!(cut(body), &*redact(body, &NAMES));
        }
    }
}
