//! How many elements a request of Meta has, counted in a tree that another parser made.

use serde_json::{Map, Value};

/// The arrays of a change whose items are elements.
const LISTS: [&str; 11] = [
    "messages",
    "statuses",
    "calls",
    "message_echoes",
    "automatic_events",
    "user_preferences",
    "user_actions",
    "groups",
    "state_sync",
    "user_id_update",
    "errors",
];

/// Counts the elements. What holds none, but may, is one itself.
pub fn elements(request: &Value) -> usize {
    let entries = request.get("entry").and_then(Value::as_array);
    entries.into_iter().flatten().map(of_entry).sum::<usize>().max(1)
}

fn of_entry(entry: &Value) -> usize {
    let changes = entry.get("changes").and_then(Value::as_array);
    changes.into_iter().flatten().map(of_change).sum::<usize>().max(1)
}

fn of_change(change: &Value) -> usize {
    let is_about_flow = change.get("field").is_some_and(|field| field == "flows");
    let value = change.get("value").and_then(Value::as_object);
    value.map_or(0, |value| of_lists(value, is_about_flow, false)).max(1)
}

fn of_lists(value: &Map<String, Value>, is_about_flow: bool, is_standby: bool) -> usize {
    let filled = value.iter().filter(|(_, list)| is_filled(list));
    let count = |(name, list): (&String, &Value)| match &**name {
        "errors" if is_about_flow => 0,
        "history" if !is_standby => of_items(list, of_chunk),
        "standby" if !is_standby => {
            list.as_object().map_or(1, |standby| of_lists(standby, is_about_flow, true))
        }
        name if LISTS.contains(&name) => of_items(list, |_| 1),
        _ => 0,
    };
    filled.map(count).sum()
}

fn of_chunk(chunk: &Value) -> usize {
    let list = |name| chunk.get(name).filter(|list| is_filled(list));
    let threads = list("threads").map_or(0, |threads| of_items(threads, of_thread));
    (threads + list("errors").map_or(0, |errors| of_items(errors, |_| 1))).max(1)
}

fn of_thread(thread: &Value) -> usize {
    let messages = thread.get("messages").filter(|list| is_filled(list));
    messages.map_or(1, |messages| of_items(messages, |_| 1))
}

/// What should be an array and isn't is one that can't be read.
fn of_items(list: &Value, count: impl Fn(&Value) -> usize) -> usize {
    list.as_array().map_or(1, |items| items.iter().map(count).sum())
}

fn is_filled(list: &Value) -> bool {
    !list.is_null() && list.as_array().is_none_or(|items| !items.is_empty())
}
