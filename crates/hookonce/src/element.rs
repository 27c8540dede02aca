//! Cutting raw JSON: slices of a text, found without changing a byte of it.
//!
//! Builds no tree, converts no number and never recurses, so that neither a digit nor the stack is
//! lost to any input. Of a repeated member the last counts, as with most parsers.
//!
//! Long because its tests stand at its foot.

mod readable;

use std::borrow::Cow;

use serde_json::value::RawValue;

pub use readable::readable;

/// How deep arrays and objects may be nested in a text that we take. A parser downstream that
/// recurses is then safe too.
pub const DEPTH_LIMIT: usize = 128;

/// Up to so many members a repetition is looked for by comparing each with each; above, by sorting,
/// so that a hostile object doesn't take quadratic time.
const FEW_MEMBERS: usize = 24;

/// Why bytes can't be read as JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unreadable {
    /// They are no text.
    NotUtf8,
    /// They are text, but not one JSON value.
    NotJson,
    /// They are JSON, nested deeper than [`DEPTH_LIMIT`].
    TooDeep,
}

impl Unreadable {
    /// The reason in words, as it is stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotUtf8 => "not UTF-8",
            Self::NotJson => "not JSON",
            Self::TooDeep => "nested deeper than 128 levels",
        }
    }
}

/// One JSON value as it stands in a text that was found valid, without the white space around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Json<'a>(&'a str);

impl<'a> Json<'a> {
    /// Finds the one value that `bytes` are. Everything else here relies on its having been valid.
    pub fn read(bytes: &'a [u8]) -> Result<Self, Unreadable> {
        let text = std::str::from_utf8(bytes).map_err(|_| Unreadable::NotUtf8)?;
        // A `RawValue` is only skipped over: without recursion, and with lone surrogates and
        // numbers of any size let through.
        let raw = serde_json::from_str::<&RawValue>(text).map_err(|_| Unreadable::NotJson)?;
        if depth(raw.get()) > DEPTH_LIMIT {
            return Err(Unreadable::TooDeep);
        }
        Ok(Self(raw.get().trim_matches(is_space)))
    }

    /// The value, byte for byte.
    pub fn raw(self) -> &'a str {
        self.0
    }

    /// Whether it is an object.
    pub fn is_object(self) -> bool {
        self.0.starts_with('{')
    }

    /// Whether it is an array.
    pub fn is_array(self) -> bool {
        self.0.starts_with('[')
    }

    /// Whether it is `null`.
    pub fn is_null(self) -> bool {
        self.0 == "null"
    }

    /// Its items in order; none if it is no array.
    pub fn items(self) -> impl Iterator<Item = Json<'a>> {
        let mut at = if self.is_array() { 1 } else { self.0.len() };
        std::iter::from_fn(move || {
            let item = value_at(self.0, next_token(self.0, at)?);
            at = end_of(item, self.0);
            Some(item)
        })
    }

    /// Its members in order, repeated ones among them; none if it is no object.
    fn all_members(self) -> impl Iterator<Item = Member<'a>> {
        let mut at = if self.is_object() { 1 } else { self.0.len() };
        std::iter::from_fn(move || {
            let start = next_token(self.0, at)?;
            let key = &self.0[start..string_end(self.0.as_bytes(), start)];
            let value = value_at(self.0, next_token(self.0, start + key.len())?);
            at = end_of(value, self.0);
            Some(Member { key, value })
        })
    }

    /// Its members; `None` if it is no object.
    pub fn object(self) -> Option<Object<'a>> {
        self.is_object().then(|| {
            // One request has a handful of objects of about this size.
            let mut members = Vec::with_capacity(8);
            members.extend(self.all_members());
            Object(last_of_each(members))
        })
    }

    /// The value of its member `name`; `None` if there is none or it is no object.
    pub fn get(self, name: &str) -> Option<Json<'a>> {
        self.all_members().filter(|member| member.is(name)).last().map(|member| member.value)
    }

    /// The text of a string, unescaped, or a number's digits as they stand; `None` for all else. A
    /// string that is no Unicode text (a lone surrogate) gives its literal with the quotes, so that
    /// two different ones stay different.
    pub fn text(self) -> Option<Cow<'a, str>> {
        match self.0.as_bytes().first()? {
            b'"' => Some(unescape(self.0)),
            b'-' | b'0'..=b'9' => Some(Cow::Borrowed(self.0)),
            _ => None,
        }
    }

    /// The value that a JSON pointer (RFC 6901) leads to.
    pub fn pointer(self, pointer: &str) -> Option<Json<'a>> {
        let mut steps = pointer.split('/');
        if steps.next() != Some("") {
            return None;
        }
        steps.try_fold(self, |value, step| value.step(&step.replace("~1", "/").replace("~0", "~")))
    }

    /// One step of a JSON pointer: to the member of this name, or to the item of an array that has
    /// this number.
    pub(crate) fn step(self, name: &str) -> Option<Json<'a>> {
        if !self.is_array() {
            return self.get(name);
        }
        let canonical = name == "0" || !name.starts_with(['0', '+']);
        let index: usize = name.parse().ok().filter(|_| canonical)?;
        self.items().nth(index)
    }
}

/// The raw text at a JSON pointer within `text`; `None` where `text` is no JSON or has no such
/// value.
pub fn pointer<'a>(text: &'a str, pointer: &str) -> Option<&'a str> {
    Json::read(text.as_bytes()).ok()?.pointer(pointer).map(Json::raw)
}

/// The members of an object in order, of repeated ones only the last.
#[derive(Debug, Clone)]
pub struct Object<'a>(Vec<Member<'a>>);

impl<'a> Object<'a> {
    /// The members.
    pub fn members(&self) -> &[Member<'a>] {
        &self.0
    }

    /// The member `name`.
    pub fn member(&self, name: &str) -> Option<&Member<'a>> {
        self.0.iter().find(|member| member.is(name))
    }

    /// The value of the member `name`.
    pub fn get(&self, name: &str) -> Option<Json<'a>> {
        self.member(name).map(|member| member.value)
    }

    /// The text of the member `name`, see [`Json::text`]; `None` also where it is empty.
    pub fn text(&self, name: &str) -> Option<Cow<'a, str>> {
        self.get(name)?.text().filter(|text| !text.is_empty())
    }
}

/// One member of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member<'a> {
    /// Its name as it stands in the text, in quotes and escaped.
    pub key: &'a str,
    /// Its value.
    pub value: Json<'a>,
}

impl<'a> Member<'a> {
    /// Its name, unescaped.
    pub fn name(&self) -> Cow<'a, str> {
        unescape(self.key)
    }

    /// Whether this is its name, however it is escaped.
    pub fn is(&self, name: &str) -> bool {
        let inner = &self.key[1..self.key.len() - 1];
        // Nearly every other name is told apart by how it begins. One that is no Unicode text is
        // known by its literal.
        let may_be = |inner: &str| {
            inner.as_bytes().first() == name.as_bytes().first()
                || inner.starts_with('\\')
                || name.starts_with('"')
        };
        inner == name || (may_be(inner) && is_escaped(inner) && self.name() == name)
    }
}

/// Leaves of members with one name only the last.
fn last_of_each(mut members: Vec<Member<'_>>) -> Vec<Member<'_>> {
    if members.len() <= FEW_MEMBERS {
        let any_escaped = members.iter().any(|member| is_escaped(member.key));
        let same = |a: &Member<'_>, b: &Member<'_>| {
            a.key == b.key || (any_escaped && a.name() == b.name())
        };
        for at in (0..members.len().saturating_sub(1)).rev() {
            if members[at + 1..].iter().any(|later| same(&members[at], later)) {
                members.remove(at);
            }
        }
        return members;
    }
    let mut order: Vec<_> = members.iter().map(Member::name).zip(0..).collect();
    order.sort_unstable();
    let mut kept = vec![true; members.len()];
    for pair in order.windows(2) {
        kept[pair[0].1] = pair[0].0 != pair[1].0;
    }
    let mut kept = kept.into_iter();
    members.retain(|_| kept.next().unwrap_or(true));
    members
}

/// The text of a string literal; the literal itself where that is no Unicode text.
fn unescape(literal: &str) -> Cow<'_, str> {
    if is_escaped(literal) {
        serde_json::from_str(literal).map_or(Cow::Borrowed(literal), Cow::Owned)
    } else {
        Cow::Borrowed(&literal[1..literal.len() - 1])
    }
}

/// Whether there is an escape in it.
#[expect(clippy::needless_bitwise_bool, reason = "without a way out it looks at many at a time")]
fn is_escaped(literal: &str) -> bool {
    literal.bytes().fold(false, |so_far, byte| so_far | (byte == b'\\'))
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r')
}

/// Where the next key or value of a container starts, after what separates it from the last one;
/// `None` at the container's end.
fn next_token(text: &str, from: usize) -> Option<usize> {
    let rest = text.as_bytes().get(from..)?;
    let skipped =
        rest.iter().position(|b| !matches!(b, b' ' | b'\t' | b'\n' | b'\r' | b',' | b':'))?;
    (!matches!(rest[skipped], b'}' | b']')).then_some(from + skipped)
}

/// Where `part`, a slice of `text`, ends in it.
fn end_of(part: Json<'_>, text: &str) -> usize {
    part.0.as_ptr().addr() - text.as_ptr().addr() + part.0.len()
}

/// The value that starts at `start`.
fn value_at(text: &str, start: usize) -> Json<'_> {
    let bytes = text.as_bytes();
    let end = match bytes.get(start) {
        Some(b'"') => string_end(bytes, start),
        Some(b'{' | b'[') => container_end(bytes, start),
        _ => {
            let ends = |b: &u8| matches!(b, b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r');
            bytes[start..].iter().position(ends).map_or(bytes.len(), |length| start + length)
        }
    };
    Json(&text[start..end])
}

/// Where the array or object ends that starts at `start`.
fn container_end(bytes: &[u8], start: usize) -> usize {
    let (mut at, mut open) = (start, 0_usize);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                at = string_end(bytes, at);
                continue;
            }
            b'{' | b'[' => open += 1,
            b'}' | b']' if open <= 1 => return at + 1,
            b'}' | b']' => open -= 1,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

/// Where the string ends that starts with the quote at `start`; all of `bytes`, if it doesn't.
pub(crate) fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(rest) = bytes.get(at..) {
        at += plain_bytes(rest);
        match bytes.get(at) {
            Some(b'"') => return at + 1,
            Some(_) => at += 2,
            None => break,
        }
    }
    bytes.len()
}

/// How many bytes there are before one that ends a string or escapes in it. Looks at eight at a time:
/// nearly all of a request is strings, and each is passed once for every level that it is nested.
fn plain_bytes(bytes: &[u8]) -> usize {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGHS: u64 = u64::from_ne_bytes([0x80; 8]);
    // The lowest bit that is left is that of the first byte which is zero; above it there may be some
    // too many.
    let zeros = |word: u64| word.wrapping_sub(ONES) & !word & HIGHS;
    let mut passed = 0;
    while let Some(eight) = bytes[passed..].first_chunk() {
        let word = u64::from_le_bytes(*eight);
        let found =
            zeros(word ^ (ONES * u64::from(b'"'))) | zeros(word ^ (ONES * u64::from(b'\\')));
        if found != 0 {
            return passed + (found.trailing_zeros() / 8) as usize;
        }
        passed += 8;
    }
    let rest = &bytes[passed..];
    passed + rest.iter().position(|byte| matches!(byte, b'"' | b'\\')).unwrap_or(rest.len())
}

/// How deep arrays and objects are nested.
fn depth(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut at, mut open, mut deepest) = (0, 0_usize, 0);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => at = string_end(bytes, at) - 1,
            b'{' | b'[' => {
                open += 1;
                deepest = deepest.max(open);
            }
            b'}' | b']' => open = open.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Json<'_> {
        Json::read(text.as_bytes()).unwrap()
    }

    #[test]
    fn a_string_ends_at_its_quote_wherever_in_a_word_that_is() {
        for length in 0..20 {
            let plain = "é".repeat(length);
            for escape in ["", "\\\"", "\\\\", "\\u0022"] {
                for text in [[&plain, escape].concat(), [escape, &plain].concat()] {
                    let array = format!("[\"{text}\",\"{plain}\"]");
                    let items: Vec<_> = Json::read(array.as_bytes()).unwrap().items().collect();
                    let raw: Vec<_> = items.into_iter().map(Json::raw).collect();
                    assert_eq!(raw, [format!("\"{text}\""), format!("\"{plain}\"")]);
                }
            }
        }
    }

    #[test]
    fn what_is_not_one_json_value_is_refused() {
        for text in [
            "",
            " ",
            "{",
            "[1,]",
            "{\"a\":1,}",
            "01",
            "1 2",
            "\"\u{1}\"",
            "nul",
            "\u{feff}1",
            "[1}",
        ] {
            assert_eq!(Json::read(text.as_bytes()), Err(Unreadable::NotJson), "{text:?}");
        }
        assert_eq!(Json::read(b"\"\xff\""), Err(Unreadable::NotUtf8));
    }

    #[test]
    fn depth_counts_brackets_outside_strings_only() {
        let nested = |n| ["[".repeat(n), "]".repeat(n)].concat();
        assert!(Json::read(nested(128).as_bytes()).is_ok());
        assert_eq!(Json::read(nested(129).as_bytes()), Err(Unreadable::TooDeep));
        assert_eq!(Json::read(nested(1_000_000).as_bytes()), Err(Unreadable::TooDeep));
        assert!(Json::read(format!("[\"\\\"{}\\\\\"]", "[".repeat(500)).as_bytes()).is_ok());
        assert!(Json::read("[[],".repeat(60).as_bytes()).is_err());
    }

    #[test]
    fn values_are_slices_of_the_text() {
        let json = read(
            "\r\n{ \"a\" : [ 1 , -2.5e+3,\"x ,]\\\"\" , {} ,[ ], true ] ,\t\"b\":null , \"c\" : 9007199254740993 } ",
        );
        let items: Vec<_> = json.get("a").unwrap().items().map(Json::raw).collect();
        assert_eq!(items, ["1", "-2.5e+3", "\"x ,]\\\"\"", "{}", "[ ]", "true"]);
        assert!(json.get("b").unwrap().is_null());
        assert_eq!(json.get("c").unwrap().text().unwrap(), "9007199254740993");
        assert_eq!(json.object().unwrap().members().len(), 3);
        assert_eq!(json.get("a").unwrap().get("b"), None);
        assert_eq!(read("7").raw(), "7");
        assert_eq!(read("{}").items().count() + read("[]").items().count(), 0);
    }

    #[test]
    fn of_a_repeated_member_the_last_counts() {
        let few = read(r#"{"id":"A","x":0,"id":"B","\u0069d":"C"}"#);
        assert_eq!(few.get("id").unwrap().text().unwrap(), "C");
        let keys: Vec<_> =
            few.object().unwrap().members().iter().map(|member| member.key).collect();
        assert_eq!(keys, [r#""x""#, r#""\u0069d""#]);
        let many: Vec<_> = (0..100).map(|n| format!("\"{}\":{n}", n % 50)).collect();
        let many = format!("{{{}}}", many.join(","));
        let values: Vec<_> = read(&many)
            .object()
            .unwrap()
            .members()
            .iter()
            .map(|member| member.value.raw().to_owned())
            .collect();
        assert_eq!(values, (50..100).map(|n| n.to_string()).collect::<Vec<_>>());
    }

    #[test]
    fn a_text_that_is_no_unicode_stays_its_literal() {
        let text = |literal| read(literal).text().unwrap().into_owned();
        assert_eq!(text(r#""a\u00e9\ud83d\ude00\/\n""#), "aé😀/\n");
        assert_eq!(text(r#""a\u0000b""#), "a\0b");
        assert_eq!(text(r#""\ud83d""#), r#""\ud83d""#);
        assert_ne!(text(r#""\ud83d""#), text(r#""\ud83e""#));
        assert_eq!(read("true").text(), None);
        let object = read(r#"{"\ud83d":1,"a\u0000":2,"":3}"#).object().unwrap();
        assert_eq!(object.get("a\0").unwrap().raw(), "2");
        assert_eq!(object.get("").unwrap().raw(), "3");
        assert_eq!(object.get(r#""\ud83d""#).unwrap().raw(), "1");
    }

    #[test]
    fn a_pointer_leads_through_names_and_numbers() {
        let json = read(r#"{"a/b":[10,{"~":{"":1}}],"0":2}"#);
        assert_eq!(json.pointer("/a~1b/1/~0/").unwrap().raw(), "1");
        assert_eq!(json.pointer("").unwrap(), json);
        assert_eq!(json.pointer("/0").unwrap().raw(), "2");
        for nothing in ["a", "/a~1b/2", "/a~1b/-", "/a~1b/01", "/a~1b/+1", "/x/y"] {
            assert_eq!(json.pointer(nothing), None, "{nothing}");
        }
    }
}
