//! What may be kept of a body that can't be read: what stands before a name that tells of a secret.
//!
//! Such a body may be anything, such as a form or a line of a log, so that more escapes count than
//! JSON has.

use std::borrow::Cow;

use super::{REDACTED, char_at as json_char_at, escaped, letter_at, separates};

/// How many times an escape may be escaped that is looked through.
const LAYERS: usize = 4;

/// What is left of a body that can't be read, once [`redact`](super::redact) has done what it can:
/// where such a name still stands as a word before something else, nobody can say where its value
/// ends, and the body ends there.
pub(in crate::scheme) fn cut_off<'b>(body: &'b [u8], names: &[&str]) -> Cow<'b, [u8]> {
    for at in 0..body.len() {
        let goes_on = char_before(body, at).is_some_and(|c| c.is_ascii_alphanumeric());
        // Every name starts where its first letter stands, so that no run is gone through twice.
        if goes_on || char_at(body, at).is_none_or(|(first, _)| separates(first)) {
            continue;
        }
        let Some(end) = names.iter().find_map(|name| end_of_name(body, at, name)) else { continue };
        let between = |b: &u8| b"\"'\\:= \t\r\n".contains(b);
        let value = end + body[end..].iter().position(|b| !between(b)).unwrap_or_default();
        if !body[value..].starts_with(b"REDACTED\"") {
            return Cow::Owned([&body[..end], b"\":", REDACTED].concat());
        }
    }
    Cow::Borrowed(body)
}

/// Where the name ends that starts at `at` as a word, in any spelling.
pub(super) fn end_of_name(body: &[u8], at: usize, name: &str) -> Option<usize> {
    let mut end = at;
    for right in name.bytes() {
        let (letter, next) = letter_at(body, end, char_at)?;
        if letter != right {
            return None;
        }
        end = next;
    }
    let goes_on =
        letter_at(body, end, char_at).is_some_and(|(letter, _)| letter.is_ascii_alphanumeric());
    (!goes_on).then_some(end)
}

/// The character at `at`, unescaped in any of the ways in which bodies are, and where the next one is.
fn char_at(text: &[u8], at: usize) -> Option<(u8, usize)> {
    let digits = match (text.get(at)?, text.get(at + 1)) {
        (b'%', _) => {
            let layers = text[at + 1..].chunks_exact(2).take(LAYERS - 1);
            at + 1 + 2 * layers.take_while(|pair| pair == b"25").count()
        }
        (b'\\', Some(b'x')) => at + 2,
        _ => return json_char_at(text, at),
    };
    match byte_of(text, digits) {
        Some(byte) => Some((if byte.is_ascii() { byte } else { 0xff }, digits + 2)),
        None => json_char_at(text, at),
    }
}

/// The character before `at`, unescaped; `None` where it is a letter only by what stands for it.
fn char_before(text: &[u8], at: usize) -> Option<u8> {
    let escape = |length: usize| at.checked_sub(length).filter(|from| text[*from] == b'\\');
    if escape(2).is_some() || is_behind_code(text, at) {
        return None;
    }
    match escape(6).filter(|from| text[from + 1] == b'u') {
        Some(from) => Some(escaped(text, from + 2)),
        None => text.get(at.checked_sub(1)?).copied(),
    }
}

/// Whether the two digits before `at` stand for a character, as in `%22` or `\x22`.
fn is_behind_code(text: &[u8], at: usize) -> bool {
    let Some(digits) = at.checked_sub(2).filter(|digits| byte_of(text, *digits).is_some()) else {
        return false;
    };
    let mut before = &text[..digits];
    if before.ends_with(b"\\x") {
        return true;
    }
    for _ in 1..LAYERS {
        before = before.strip_suffix(b"25").unwrap_or(before);
    }
    before.ends_with(b"%")
}

/// The byte of which the two digits start at `at`.
fn byte_of(text: &[u8], at: usize) -> Option<u8> {
    let digits = text.get(at..at + 2).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))?;
    u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}
