//! One part of a key, kind or lane: where in a request a text is taken from.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use axum::http::HeaderName;

use crate::element::Json;

use super::Misspelt;
use super::find::View;
use super::pointer::Pointer;

/// What stands between the places of which the first that has a text is taken.
const OR: &str = " or ";

/// Where a text is taken from. Written as `/pointer` from the element, `root:/pointer` from the body,
/// `header:NAME`, `literal:TEXT`, `digest` (SHA-256 of the element's content), or as several of
/// these with ` or ` between them, of which the first that has a text counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    text: String,
    places: Vec<Lookup>,
}

/// One place in a request.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Lookup {
    Element(Pointer),
    Root(Pointer),
    Header(HeaderName),
    Literal(Box<str>),
    Digest,
}

impl Part {
    /// Whether it is the same for every event.
    pub fn is_fixed(&self) -> bool {
        self.places.iter().all(|place| matches!(place, Lookup::Literal(_)))
    }

    /// The headers that it may be taken from.
    pub fn headers(&self) -> impl Iterator<Item = &str> {
        self.places.iter().filter_map(|place| match place {
            Lookup::Header(name) => Some(name.as_str()),
            _ => None,
        })
    }

    /// Whether it may be taken from the body.
    pub fn needs_body(&self) -> bool {
        let of_body = |place: &Lookup| !matches!(place, Lookup::Header(_) | Lookup::Literal(_));
        self.places.iter().any(of_body)
    }

    /// Its text for the element that `view` looks at: a string or a number's digits, not empty. What
    /// is neither identifies nothing.
    pub(super) fn text<'v>(&'v self, view: &View<'v, '_>) -> Option<Cow<'v, str>> {
        self.first(view, Json::text)
    }

    /// The same where a truth value is a word too: in kinds and conditions.
    pub(super) fn word<'v>(&'v self, view: &View<'v, '_>) -> Option<Cow<'v, str>> {
        self.first(view, |json| match json.raw() {
            "true" | "false" => Some(Cow::Borrowed(json.raw())),
            _ => json.text(),
        })
    }

    fn first<'v, 'a: 'v>(
        &'v self,
        view: &View<'v, 'a>,
        read: impl Fn(Json<'a>) -> Option<Cow<'a, str>>,
    ) -> Option<Cow<'v, str>> {
        let text = |place: &'v Lookup| -> Option<Cow<'v, str>> {
            match place {
                Lookup::Element(pointer) => pointer.find(view.element).and_then(&read),
                Lookup::Root(pointer) => view.root.find_once(pointer).and_then(&read),
                Lookup::Header(name) => header(view, name).map(Cow::Borrowed),
                Lookup::Literal(text) => Some(Cow::Borrowed(text)),
                Lookup::Digest => Some(Cow::Owned(view.digest())),
            }
        };
        self.places.iter().filter_map(text).find(|text| !text.is_empty())
    }
}

/// The value of a header. Of two, nobody can say which the sender meant.
fn header<'v>(view: &View<'v, '_>, name: &HeaderName) -> Option<&'v str> {
    let value = view.request.only_header(name.as_str()).ok()?;
    std::str::from_utf8(value.as_bytes()).ok()
}

impl FromStr for Part {
    type Err = Misspelt;

    fn from_str(text: &str) -> Result<Self, Misspelt> {
        // A literal goes to the end, whatever is in it.
        let (front, literal) = match text.find("literal:") {
            Some(at) if at == 0 || text[..at].ends_with(OR) => {
                (text[..at].strip_suffix(OR), Some(&text[at + "literal:".len()..]))
            }
            _ => (Some(text), None),
        };
        let front = front.into_iter().flat_map(|front| front.split(OR));
        let mut places = front.map(place).collect::<Result<Vec<_>, _>>()?;
        if let Some(literal) = literal {
            if literal.is_empty() {
                return Err(Misspelt::new("`literal:` has no text behind it"));
            }
            places.push(Lookup::Literal(literal.into()));
        }
        Ok(Self { text: text.to_owned(), places })
    }
}

fn place(text: &str) -> Result<Lookup, Misspelt> {
    if text == "digest" {
        return Ok(Lookup::Digest);
    }
    if text.ends_with(OR.trim_end()) {
        return Err(Misspelt::new(format!("`{text}` has nothing behind its last ` or`")));
    }
    if text.starts_with('/') {
        return text.parse().map(Lookup::Element);
    }
    if let Some(pointer) = text.strip_prefix("root:") {
        return pointer.parse().map(Lookup::Root);
    }
    if let Some(name) = text.strip_prefix("header:") {
        let name = name.parse::<HeaderName>();
        let wrong =
            |_| Misspelt::new(format!("`{text}` names no header: a name has no such letter"));
        return name.map(Lookup::Header).map_err(wrong);
    }
    Err(Misspelt::new(format!(
        "`{text}` is no place in a request; write `/{text}` for a member of the element, or \
         `root:/…`, `header:…`, `digest`, or `literal:{text}` for the word itself"
    )))
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_says_where_its_text_is() {
        for good in
            ["/a", "root:/a/b", "root:", "header:X-Id", "digest", "literal:a or b", "/a or /b"]
        {
            assert_eq!(good.parse::<Part>().unwrap().to_string(), good);
        }
        let literal: Part = "/a or literal:x or /y".parse().unwrap();
        assert_eq!(literal.places[1], Lookup::Literal("x or /y".into()));
        for wrong in
            ["", "id", "header:", "header:a b", "root:a", "literal:", "/a or", "/a or b", "/~"]
        {
            assert!(wrong.parse::<Part>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_fixed_tells_no_events_apart() {
        let part = |text: &str| text.parse::<Part>().unwrap();
        assert!(part("literal:a").is_fixed() && !part("/a or literal:a").is_fixed());
        assert!(part("digest").needs_body() && !part("header:a").needs_body());
        assert_eq!(part("header:A or /b or header:c").headers().collect::<Vec<_>>(), ["a", "c"]);
    }
}
