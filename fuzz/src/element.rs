//! Cutting raw JSON: what must hold for any bytes, beside a parser that builds a tree.

use std::borrow::Cow;

use hookonce::element::{Json, pointer, readable};
use serde_json::Value;
use serde_json::value::RawValue;

/// So many values of a text are looked for by their pointers, each from its beginning.
const POINTERS: usize = 50;

/// The bytes may be a JSON text.
pub fn element(bytes: &[u8]) {
    let json = Json::read(bytes);
    let tree = serde_json::from_slice::<Value>(bytes);
    assert!(json.is_ok() || tree.is_err(), "{json:?}, and another parser reads it");
    if let Ok(json) = json {
        assert!(serde_json::from_slice::<&RawValue>(bytes).is_ok(), "it is no JSON");
        let mut walk = Walk { root: json, pointers: POINTERS };
        walk.value(json, tree.as_ref().ok(), &mut String::new());
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    check_readable(text, tree.ok());
    if let Ok(json) = json {
        let anywhere: String = "/".chars().chain(text.chars().take(32)).collect();
        assert_eq!(pointer(text, &anywhere), json.pointer(&anywhere).map(Json::raw));
    }
}

/// A way through every value of a text.
struct Walk<'a> {
    root: Json<'a>,
    pointers: usize,
}

impl<'a> Walk<'a> {
    /// Looks at a value, which is that of `tree` where another parser reads the text, too. It goes
    /// as deep as a text that is taken, which is not deep.
    fn value(&mut self, json: Json<'a>, tree: Option<&Value>, place: &mut String) {
        if self.pointers > 0 {
            self.pointers -= 1;
            let found = self.root.pointer(place);
            assert!(found.is_some_and(|found| same_slice(found, json)), "not at {place}");
        }
        let above = place.len();
        if let Some(object) = json.object() {
            assert!(json.is_object() && json.items().next().is_none());
            let tree = tree.map(|tree| tree.as_object().expect("it is an object"));
            assert!(tree.is_none_or(|tree| tree.len() == object.members().len()));
            for member in object.members() {
                let name = member.name();
                assert!(member.is(&name) && object.get(&name) == Some(member.value));
                let beside = tree.map(|tree| tree.get(&*name).expect("it has the member"));
                place.push('/');
                place.push_str(&name.replace('~', "~0").replace('/', "~1"));
                self.value(member.value, beside, place);
                place.truncate(above);
            }
        } else if json.is_array() {
            let items: Vec<_> = json.items().collect();
            let tree = tree.map(|tree| tree.as_array().expect("it is an array"));
            assert!(tree.is_none_or(|tree| tree.len() == items.len()));
            for (index, item) in items.into_iter().enumerate() {
                place.push('/');
                place.push_str(&index.to_string());
                self.value(item, tree.map(|tree| &tree[index]), place);
                place.truncate(above);
            }
        } else {
            check_leaf(json, tree);
        }
    }
}

fn same_slice(a: Json<'_>, b: Json<'_>) -> bool {
    std::ptr::eq(a.raw(), b.raw())
}

fn check_leaf(json: Json<'_>, tree: Option<&Value>) {
    let raw = json.raw();
    assert_eq!(json.is_null(), raw == "null");
    let Some(tree) = tree else { return };
    assert_eq!(serde_json::from_str::<Value>(raw).ok().as_ref(), Some(tree), "{raw}");
    match tree {
        Value::String(text) => assert_eq!(json.text().as_deref(), Some(&**text)),
        Value::Number(_) => assert_eq!(json.text().as_deref(), Some(raw)),
        _ => assert_eq!(json.text(), None),
    }
}

fn check_readable(text: &str, tree: Option<Value>) {
    let made = readable(text);
    if serde_json::from_str::<&RawValue>(text).is_err() {
        assert!(matches!(made, Cow::Borrowed(same) if same == text), "it is no JSON");
        return;
    }
    assert!(matches!(readable(&made), Cow::Borrowed(same) if *same == *made), "not at once");
    match serde_json::from_str::<Value>(&made) {
        // A text that needs no replacement says what it said.
        Ok(value) => {
            assert!(!has_nul(&value), "{made}");
            assert!(tree.is_none_or(|tree| has_nul(&tree) || tree == value), "{made}");
        }
        // Two things that PostgreSQL and SQLite take and this parser doesn't.
        Err(error) => {
            let why = error.to_string();
            let known = ["number out of range", "recursion limit exceeded"];
            assert!(known.iter().any(|known| why.starts_with(known)), "{why}: {made}");
        }
    }
}

fn has_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(items) => items.iter().any(has_nul),
        Value::Object(members) => {
            members.iter().any(|(name, value)| name.contains('\0') || has_nul(value))
        }
        _ => false,
    }
}
