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
