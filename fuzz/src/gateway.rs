//! How many elements there are in what gateways send: an event's name with one thing or several.

use serde_json::Value;

/// How many events a request gives whose elements the member `name` holds; `None` where another
/// parser doesn't read it.
pub fn elements(body: &[u8], name: &str) -> Option<usize> {
    let request: Value = serde_json::from_slice(body).ok()?;
    let is_named = match request.get("event") {
        Some(Value::String(event)) => !event.is_empty(),
        other => other.is_some_and(Value::is_number),
    };
    let items = request.get(name).and_then(Value::as_array);
    Some(items.filter(|_| is_named).map_or(1, |items| items.len().max(1)))
}

/// Whether a body may be one of which nothing is looked at, for all that is said in it may be a
/// code's, or a text in it may be JSON once more with a credential in it.
pub fn may_be_hidden(body: &[u8]) -> bool {
    let text = String::from_utf8_lossy(body).to_ascii_lowercase();
    let letters: String = text.chars().filter(char::is_ascii_alphanumeric).collect();
    ["qr", "passkey"].iter().any(|word| letters.contains(word))
        || ["\\u", "\\\""].iter().any(|escape| text.contains(escape))
}
