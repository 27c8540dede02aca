//! How many elements a request has, counted in a tree: what the page on the scheme says, and no more.

use serde_json::{Map, Value};

use super::super::gateway::may_be_hidden;

/// Members by which a request without `data` is an element itself.
const FLAT: [&str; 6] = ["id", "messageId", "key", "from", "message", "success"];

/// How many events a request must give; `None` where that is not known: of what another parser
/// doesn't read, and of what may hide a credential, of which nothing is looked at.
pub fn elements(body: &[u8]) -> Option<usize> {
    if may_be_hidden(body) {
        return None;
    }
    let request: Value = serde_json::from_slice(body).ok()?;
    let name = match request.get("event") {
        Some(Value::String(name)) if !name.is_empty() => &**name,
        Some(Value::Number(_)) => "0",
        _ => return Some(1),
    };
    let sort = Sort::of(&words(name));
    let data = request.get("data").filter(|data| !is_blank(data));
    let counted = match (data, request.as_object()) {
        (Some(Value::Array(items)), _) => items.iter().map(|item| sort.within(item)).sum(),
        (Some(data), _) => sort.within(data),
        (None, Some(object)) => {
            let mut names = FLAT.iter().chain(sort.lists);
            let says = names.any(|name| object.get(*name).is_some_and(|value| !is_blank(value)));
            if says || !sort.has_ids { sort.within(&request) } else { 0 }
        }
        (None, None) => 0,
    };
    Some(counted.max(1))
}

/// What an event's name says of where its elements are.
struct Sort {
    has_ids: bool,
    has_receipts: bool,
    /// Members that hold elements, where the element is in one.
    lists: &'static [&'static str],
    /// A list of these is an array, and nothing else.
    only_arrays: bool,
}

impl Sort {
    fn of(words: &[String]) -> Self {
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        let (first, rest) = words.split_first().unwrap_or((&"", &[]));
        let singular = first.strip_suffix('s').unwrap_or(first);
        let known: Option<&'static [&'static str]> = match (singular, rest) {
            ("message", ["upsert" | "received"]) => Some(&["messages", "message"]),
            ("message", ["personal" | "group" | "newsletter", "received"]) => {
                Some(&["messages", "message"])
            }
            ("message", ["sent"]) => Some(&["message"]),
            ("message", ["update"]) => Some(&["messages", "updates", "message"]),
            ("message", ["receipt", "update"]) => Some(&["messages", "receipts", "message"]),
            ("message", ["reaction"]) => Some(&["messages", "reactions", "message"]),
            ("message", ["delete"]) => Some(&["keys", "messages", "message"]),
            ("poll", ["results"]) => Some(&["polls", "message"]),
            ("call", [] | ["received"]) => Some(&["calls", "call"]),
            _ => None,
        };
        let has_receipts = singular == "message" && rest == ["receipt", "update"];
        if let Some(lists) = known {
            return Self { has_ids: true, has_receipts, lists, only_arrays: false };
        }
        let lists: &[_] = match singular {
            "chat" => &["chats"],
            "contact" => &["contacts"],
            "group" => &["groups"],
            _ => &[],
        };
        Self { has_ids: false, has_receipts, lists, only_arrays: true }
    }

    /// The elements of what is one, or holds some, or both.
    fn within(&self, holder: &Value) -> usize {
        let Some(object) = holder.as_object() else { return self.of_element(holder) };
        let is_element = object.get("key").is_some_and(Value::is_object);
        let has_id = ["id", "messageId"].iter().any(|name| has_text(object, name));
        let named = self.lists.iter().filter_map(|name| Some((*name, object.get(*name)?)));
        let lists: Vec<_> = named
            .clone()
            .filter(|(name, list)| !is_blank(list) && self.is_list(name, list, is_element, has_id))
            .collect();
        let of_list = |list: &Value| match list {
            Value::Array(items) => items.iter().map(|item| self.of_element(item)).sum(),
            other => self.of_element(other),
        };
        let in_lists: usize = lists.iter().map(|(_, list)| of_list(list)).sum();
        let holds_none =
            !has_id && named.into_iter().any(|(name, list)| name != "message" && is_blank(list));
        let is_one = is_element || (lists.is_empty() && !holds_none);
        in_lists + if is_one { self.of_element(holder) } else { 0 }
    }

    fn is_list(&self, name: &str, list: &Value, is_element: bool, has_id: bool) -> bool {
        if name == "message" {
            let has_key = list.get("key").is_some_and(Value::is_object);
            !is_element && (list.is_array() || has_key)
        } else if self.only_arrays {
            list.is_array()
        } else {
            list.is_array() || list.is_object() || !(is_element || has_id)
        }
    }

    /// One, or as many as it tells receipts of.
    fn of_element(&self, element: &Value) -> usize {
        let receipts = element.get("receipt").and_then(Value::as_array);
        let receipts = receipts.filter(|_| self.has_receipts).map_or(0, Vec::len);
        receipts.max(1)
    }
}

fn has_text(object: &Map<String, Value>, name: &str) -> bool {
    object.get(name).is_some_and(|value| match value {
        Value::String(text) => !text.is_empty(),
        other => other.is_number(),
    })
}

fn is_blank(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => false,
    }
}

/// The words of a name, in lower case.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars() {
        if !c.is_alphanumeric() || (was_lower && c.is_uppercase()) {
            words.push(String::new());
        }
        was_lower = c.is_alphanumeric() && c.is_lowercase();
        if c.is_alphanumeric() {
            words.last_mut().expect("it is never empty").extend(c.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}
