//! How many elements a request has, counted in a tree.

use serde_json::Value;

/// How many events a body gives whose elements are at `places`, each the names on the way. The body
/// itself counts only where nothing is at any other.
pub fn elements(body: &Value, places: &[Vec<String>]) -> usize {
    let at = |place: &&Vec<String>| {
        place.iter().try_fold(body, |value, name| value.as_object()?.get(name))
    };
    let found = places.iter().filter(|place| !place.is_empty()).filter_map(|place| at(&place));
    let counted: usize = found.map(items).sum();
    let is_own = counted == 0 && places.iter().any(Vec::is_empty);
    let own = match body {
        Value::Array(items) if is_own => items.len(),
        _ => 0,
    };
    (counted + own).max(1)
}

fn items(value: &Value) -> usize {
    match value {
        Value::Null => 0,
        Value::Array(items) => items.len(),
        _ => 1,
    }
}
