//! Takes credentials out of a body before anything else looks at it.
//!
//! Lexical, so that it works on what is no JSON and no text, too: a body that can't be read is kept
//! as well.

use std::borrow::Cow;

/// What stands in the place of a value that was taken out.
const REDACTED: &[u8] = b"\"REDACTED\"";

/// Replaces the value of every member that has one of `names`, in any case, at any depth and however
/// its letters are escaped. A value that doesn't end is taken out to the end of the body. Copies
/// nothing where there is no such member.
pub(super) fn redact<'b>(body: &'b [u8], names: &[&str]) -> Cow<'b, [u8]> {
    let mut made = Vec::new();
    let (mut at, mut copied) = (0, 0);
    while let Some(quote) = find(body, at, |byte| byte == b'"') {
        // Each quote may begin a name: in what is no JSON, nothing tells which ones do.
        at = quote + 1;
        let Some(start) = value_of(body, at, names) else { continue };
        made.extend_from_slice(&body[copied..start]);
        made.extend_from_slice(REDACTED);
        copied = value_end(body, start);
        at = copied;
    }
    if copied == 0 {
        return Cow::Borrowed(body);
    }
    made.extend_from_slice(&body[copied..]);
    Cow::Owned(made)
}

/// Where the value starts of the member whose name begins at `start`, if it is one of `names`.
fn value_of(body: &[u8], start: usize, names: &[&str]) -> Option<usize> {
    let first = body.get(start)?;
    let may_be =
        |name: &&str| name.as_bytes().first().is_some_and(|n| n.eq_ignore_ascii_case(first));
    if *first != b'\\' && !names.iter().any(may_be) {
        return None;
    }
    // Of six bytes at most for each letter; no longer, so that a text full of quotes takes no
    // quadratic time.
    let longest = names.iter().map(|name| 6 * name.len()).max()?;
    let within = &body[start..body.len().min(start + longest + 1)];
    let end = string_end(within, 0)?;
    let literal = str::from_utf8(&body[start - 1..=start + end]).ok()?;
    let name: Cow<'_, str> = if literal.contains('\\') {
        Cow::Owned(serde_json::from_str(literal).ok()?)
    } else {
        Cow::Borrowed(&literal[1..literal.len() - 1])
    };
    names.iter().find(|one| one.eq_ignore_ascii_case(&name))?;
    let colon = find(body, start + end + 1, |byte| !is_space(byte))?;
    (body[colon] == b':').then_some(())?;
    Some(find(body, colon + 1, |byte| !is_space(byte)).unwrap_or(body.len()))
}

/// Where the value ends that starts at `start`.
fn value_end(body: &[u8], start: usize) -> usize {
    let mut open = 0_usize;
    let mut at = start;
    while let Some(byte) = body.get(at) {
        match byte {
            b'"' => at = string_end(body, at + 1).unwrap_or(body.len()),
            b'{' | b'[' => open += 1,
            b'}' | b']' if open > 0 => open -= 1,
            _ if open > 0 => {}
            _ => {
                // The rest of a number or word.
                let ends = |byte| matches!(byte, b',' | b'}' | b']') || is_space(byte);
                return find(body, at, ends).unwrap_or(body.len());
            }
        }
        at += 1;
        if open == 0 {
            break;
        }
    }
    at.min(body.len())
}

/// Where the quote stands that ends the string whose first character is at `from`.
fn string_end(body: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        at = find(body, at, |byte| matches!(byte, b'"' | b'\\'))?;
        if body[at] == b'"' {
            return Some(at);
        }
        at += 2;
    }
}

fn find(body: &[u8], from: usize, is: impl Fn(u8) -> bool) -> Option<usize> {
    Some(from + body.get(from..)?.iter().position(|byte| is(*byte))?)
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> String {
        String::from_utf8(redact(text.as_bytes(), &["apikey", "qr"]).into_owned()).unwrap()
    }

    #[test]
    fn a_value_is_taken_out_wherever_it_stands() {
        for (text, right) in [
            (r#"{"apikey":"S"}"#, r#"{"apikey":"REDACTED"}"#),
            (
                r#"{"a":[{"ApiKey" : "S\"S" , "b":1}]}"#,
                r#"{"a":[{"ApiKey" : "REDACTED" , "b":1}]}"#,
            ),
            (r#"{"api\u006bey":7,"qr":null}"#, r#"{"api\u006bey":"REDACTED","qr":"REDACTED"}"#),
            (
                r#"{"\u0071\u0072":{"x":["}",{}]},"b":"c"}"#,
                r#"{"\u0071\u0072":"REDACTED","b":"c"}"#,
            ),
            (r#"{"qr":"1","qr":"2"}"#, r#"{"qr":"REDACTED","qr":"REDACTED"}"#),
            // What is no JSON.
            (r#"{"apikey":"S"#, r#"{"apikey":"REDACTED""#),
            (r#"{"apikey":"S\"#, r#"{"apikey":"REDACTED""#),
            (r#"{"apikey":{"a":["S"]"#, r#"{"apikey":"REDACTED""#),
            (r#"{"apikey":"#, r#"{"apikey":"REDACTED""#),
            (r#"x" {"apikey":"S"}"#, r#"x" {"apikey":"REDACTED"}"#),
        ] {
            assert_eq!(of(text), right);
        }
        let broken = redact(b"\xff{\"apikey\":\"S\xff\"}\xff", &["apikey"]);
        assert_eq!(&*broken, b"\xff{\"apikey\":\"REDACTED\"}\xff");
    }

    #[test]
    fn what_has_no_such_member_is_borrowed() {
        for text in [
            "",
            "\"",
            r#"{"a":"apikey","apikeys":1,"b":"\"apikey\": \"x\""}"#,
            r#"["apikey","qr"]"#,
            r#"{"apikey"}"#,
            r#"{"api\u00"#,
        ] {
            assert!(
                matches!(redact(text.as_bytes(), &["apikey", "qr"]), Cow::Borrowed(_)),
                "{text}"
            );
        }
    }

    #[test]
    fn a_text_full_of_quotes_takes_no_quadratic_time() {
        let text = ["\"a\\\"".repeat(1_000_000), "\"qr\":1".to_owned()].concat();
        assert!(of(&text).ends_with("\"qr\":\"REDACTED\""));
    }
}
