//! What makes an element an event: its key, kind, lane, time and priority.

use std::borrow::Cow;

use jiff::Timestamp;

use crate::event::{Key, Kind, Lane, Priority};

use super::super::identity::Identity;
use super::super::instant;
use super::find::View;
use super::part::Part;
use super::pointer::Pointer;

/// A word of a [`Condition`] that stands for any text.
const ANY: &str = "*";

/// What makes an element an event that this rule takes. The default one takes all, and knows
/// nothing: a kind `unknown`, a hash for a key.
#[derive(Debug, Clone)]
pub struct Rule {
    /// The places it is for, of those where elements are; all where it is none.
    pub events: Option<Vec<Pointer>>,
    /// What must hold of an element, all of it.
    pub when: Vec<Condition>,
    /// The parts of the key. Where one has no text, and where there are none, the key is a hash.
    pub key: Vec<Part>,
    /// The words of the kind. Those that have no text are left out; a kind of which only literals
    /// are left ends in `unknown`.
    pub kind: Vec<Part>,
    /// The parts of the lane. Where one has no text, and where there are none, there is no lane.
    pub lane: Vec<Part>,
    /// The sender's time.
    pub time: Option<Part>,
    /// How urgent the event is.
    pub priority: Priority,
    /// What of the element is the same in every copy, if not all of it.
    pub content: Option<Pointer>,
}

/// What may hold of an element.
#[derive(Debug, Clone)]
pub struct Condition {
    /// Whose text is looked at.
    pub part: Part,
    /// The texts that it may be; `*` is any.
    pub texts: Vec<String>,
}

impl Default for Rule {
    fn default() -> Self {
        let (when, key, kind, lane) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let (events, time, content, priority) = (None, None, None, Priority::Normal);
        Self { events, when, key, kind, lane, time, priority, content }
    }
}

impl Condition {
    /// Whether it holds of the element that `view` looks at. Of what isn't there, nothing holds.
    pub(super) fn holds(&self, view: &View<'_, '_>) -> bool {
        let word = self.part.word(view);
        word.is_some_and(|word| self.texts.iter().any(|text| text == ANY || *text == word))
    }
}

impl Rule {
    /// Whether it takes the element that `view` looks at, found at `place`.
    pub(super) fn takes(&self, place: &Pointer, view: &View<'_, '_>) -> bool {
        self.events.as_ref().is_none_or(|events| events.contains(place))
            && self.when.iter().all(|condition| condition.holds(view))
    }

    /// The identity of an element that it takes.
    pub(super) fn identify(&self, view: &View<'_, '_>) -> Identity {
        Identity {
            key: all(&self.key, view).map(|parts| Key::of(&borrowed(&parts))),
            lane: all(&self.lane, view).map(|parts| Lane::of(&borrowed(&parts))),
            priority: self.priority,
            ..Identity::hashed(self.kind(view))
        }
    }

    fn kind(&self, view: &View<'_, '_>) -> Kind {
        let parts = self.kind.iter().filter_map(|part| Some((part, part.word(view)?)));
        let parts: Vec<_> = parts.collect();
        let named = parts.iter().any(|(part, _)| !part.is_fixed())
            || self.kind.iter().all(Part::is_fixed) && !parts.is_empty();
        let words: Vec<_> = parts.iter().map(|(_, word)| &**word).collect();
        match words.join(".") {
            words if named => Kind::of("", Some(&words)),
            words if words.is_empty() => Kind::of("", None),
            words => Kind::of("", Some(&[&*words, ".unknown"].concat())),
        }
    }

    /// The sender's time of an element.
    pub(super) fn time(&self, view: &View<'_, '_>) -> Option<Timestamp> {
        instant::of_text(&self.time.as_ref()?.text(view)?)
    }

    /// The parts of its key that an element lacks.
    pub(super) fn missing(&self, view: &View<'_, '_>) -> Vec<String> {
        let lacks = |part: &&Part| part.text(view).is_none();
        self.key.iter().filter(lacks).map(ToString::to_string).collect()
    }

    /// The headers that its key is taken from.
    pub(super) fn key_headers(&self) -> impl Iterator<Item = &str> {
        self.key.iter().flat_map(Part::headers)
    }
}

/// The texts of all parts; `None` where one has none, or there is no part.
fn all<'v>(parts: &'v [Part], view: &View<'v, '_>) -> Option<Vec<Cow<'v, str>>> {
    let texts: Option<Vec<_>> = parts.iter().map(|part| part.text(view)).collect();
    texts.filter(|texts| !texts.is_empty())
}

fn borrowed<'t>(texts: &'t [Cow<'_, str>]) -> Vec<&'t str> {
    texts.iter().map(|text| &**text).collect()
}
