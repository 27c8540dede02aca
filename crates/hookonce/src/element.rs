//! A stand-in until the element cutter comes.

use std::borrow::Cow;

/// The raw text at a JSON pointer.
pub fn pointer<'a>(json_text: &'a str, pointer: &str) -> Option<&'a str> {
    use serde_json::value::RawValue;
    let mut text = json_text;
    for part in pointer.split('/').skip(1) {
        text = match part.parse::<usize>() {
            Ok(n) => serde_json::from_str::<Vec<&'a RawValue>>(text).ok()?.get(n)?.get(),
            Err(_) => {
                let members: std::collections::HashMap<Cow<'a, str>, &'a RawValue> =
                    serde_json::from_str(text).ok()?;
                members.get(part)?.get()
            }
        };
    }
    Some(text)
}

/// The text with what a database can't read replaced.
pub fn readable(text: &str) -> Cow<'_, str> {
    if text.contains("\\u0000") { text.replace("\\u0000", "\u{fffd}").into() } else { text.into() }
}
