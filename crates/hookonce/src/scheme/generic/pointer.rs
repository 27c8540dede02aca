//! JSON pointers that are read once and followed often.

use std::fmt;
use std::str::FromStr;

use crate::element::Json;

use super::Misspelt;
use super::find::Tree;

/// A JSON pointer (RFC 6901). The empty one leads to where it starts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pointer {
    text: String,
    /// Its names, unescaped.
    pub(super) names: Vec<Box<str>>,
}

impl Pointer {
    /// Whether it leads to where it starts.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Whether `other` leads to here, or to something within.
    pub fn holds(&self, other: &Pointer) -> bool {
        other.names.starts_with(&self.names)
    }

    /// The value that it leads to from `tree`.
    pub(super) fn find<'a>(&self, tree: &Tree<'a>) -> Option<Json<'a>> {
        let [first, rest @ ..] = &self.names[..] else { return Some(tree.json) };
        let start = match &tree.object {
            Some(object) => object.get(first)?,
            None => tree.json.step(first)?,
        };
        rest.iter().try_fold(start, |value, name| value.step(name))
    }
}

impl FromStr for Pointer {
    type Err = Misspelt;

    fn from_str(text: &str) -> Result<Self, Misspelt> {
        let mut parts = text.split('/');
        if parts.next() != Some("") {
            return Err(Misspelt::new(format!(
                "`{text}` is no JSON pointer: it doesn't begin with `/`; write such as \"/messages\""
            )));
        }
        let names = parts.map(|part| unescape(text, part)).collect::<Result<_, _>>()?;
        Ok(Self { text: text.to_owned(), names })
    }
}

fn unescape(pointer: &str, part: &str) -> Result<Box<str>, Misspelt> {
    // `~` is only ever `~0` or `~1`.
    if part.split('~').skip(1).any(|after| !after.starts_with(['0', '1'])) {
        return Err(Misspelt::new(format!(
            "`{pointer}` is no JSON pointer: write `~0` for a `~` in a name, `~1` for a `/`"
        )));
    }
    Ok(part.replace("~1", "/").replace("~0", "~").into())
}

/// A name as it stands in a pointer.
pub(super) fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_leads_through_names_and_numbers() {
        let tree = Tree::of(Json::read(br#"{"a/b":[10,{"~":{"":1}}],"0":2}"#).unwrap());
        let at = |text: &str| text.parse::<Pointer>().unwrap().find(&tree).map(Json::raw);
        assert_eq!((at("/a~1b/1/~0/"), at("/0")), (Some("1"), Some("2")));
        assert_eq!(at(""), Some(tree.json.raw()));
        for nothing in ["/a~1b/2", "/a~1b/-", "/a~1b/01", "/a~1b/+1", "/x/y", "/0/0"] {
            assert_eq!(at(nothing), None, "{nothing}");
        }
        for wrong in ["a", "a/b", "/~", "/~2", "/a~"] {
            assert!(wrong.parse::<Pointer>().is_err(), "{wrong}");
        }
    }
}
