//! From a request's bytes to its events.
//!
//! In two passes: first a scheme finds every element and says what it is, then each is copied with
//! what is around it. Nothing is copied of a request that turns out to be too much. Knows no sender.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::fmt::Write as _;
use std::rc::Rc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use sha2::{Digest as _, Sha256};

use crate::element::{Json, Unreadable};
use crate::event::{BASE64, EventId, JSON, Key, Kind, NewEvent, PLAIN_TEXT, RequestHash};

use super::Origin;
use super::identity::Identity;
use super::place::Place;

/// The most elements a request may have. Meta promises at most 1000, history aside.
const ELEMENT_LIMIT: usize = 20_000;
/// The most bytes that a request's payloads may take together: what stands around many elements is
/// in the payload of each.
const EXPANDED_LIMIT: usize = 64 << 20;

/// Why a request, or an element, can't be read.
pub(super) type Reason = &'static str;

/// One element, found in its request and known for what it is, before anything of it is copied.
pub(super) struct Cut<'a> {
    pub(super) place: Place<'a>,
    pub(super) element: Json<'a>,
    /// What is the same in every copy of the event; copies may differ in the rest. The element, where
    /// its sender announces it in one way only.
    pub(super) content: Json<'a>,
    /// The digest of the content, where that is no one part of the element.
    pub(super) digest: Option<[u8; 32]>,
    /// The people it is about; shared, for many elements are about the same.
    pub(super) contacts: Rc<[Json<'a>]>,
    pub(super) sent_at: Option<Timestamp>,
    pub(super) identity: Identity,
}

impl<'a> Cut<'a> {
    /// An element at `place` with nobody beside it.
    pub(super) fn alone(place: Place<'a>, element: Json<'a>, identity: Identity) -> Self {
        let (contacts, content) = (Rc::default(), element);
        Self { place, element, content, digest: None, contacts, sent_at: None, identity }
    }

    /// At most how many bytes its payload takes.
    fn length(&self) -> usize {
        self.place.length(&self.contacts) + self.element.raw().len()
    }
}

/// The digest of what is said in several parts of an element, any of which may be missing.
pub(super) fn digest<'a>(parts: impl IntoIterator<Item = Option<Json<'a>>>) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in parts {
        let raw = part.filter(|part| !part.is_null()).map_or("", Json::raw);
        hash.update(raw.len().to_be_bytes());
        hash.update(raw);
    }
    hash.finalize().into()
}

/// The elements found in one request so far, each exactly once, in the order of their events.
#[derive(Default)]
pub(super) struct Cuts<'a> {
    found: Vec<Cut<'a>>,
    length: usize,
}

impl<'a> Cuts<'a> {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.found.len()
    }

    /// Keeps what was found, unless it is too much. Stops at the first that is, so that looking is
    /// bounded too.
    pub(super) fn push(&mut self, cut: Cut<'a>) -> Result<(), Reason> {
        self.length = self.length.saturating_add(cut.length());
        self.found.push(cut);
        if self.found.len() > ELEMENT_LIMIT {
            return Err("more than 20000 elements");
        }
        // A single element doesn't expand, whatever its size.
        if self.found.len() > 1 && self.length > EXPANDED_LIMIT {
            return Err("more than 64 MiB when expanded");
        }
        Ok(())
    }
}

/// Cuts a proven JSON request into its events, as `find` finds them. One in which nothing is found is
/// one event of an unknown kind, one that can't be cut is one that can't be read.
pub(super) fn events<'b>(
    body: &'b [u8],
    origin: &Origin,
    find: impl FnOnce(Json<'b>, &mut Cuts<'b>) -> Result<(), Reason>,
) -> Vec<NewEvent> {
    events_by(&Parts::default(), body, origin, find)
}

/// The same by parts of the body, where not all of it counts.
pub(super) fn events_by<'b>(
    parts: &Parts,
    body: &'b [u8],
    origin: &Origin,
    find: impl FnOnce(Json<'b>, &mut Cuts<'b>) -> Result<(), Reason>,
) -> Vec<NewEvent> {
    let request = Whole { alike: parts.alike, ..Whole::new(body, origin) };
    let root = match Json::read(body) {
        Ok(root) => root,
        Err(why) => {
            let body = (parts.unreadable)(body);
            // What is left may be worse to read, and is no better for being less.
            let why = Json::read(&body).err().unwrap_or(why);
            return vec![Whole { body: &body, hash: OnceCell::new(), ..request }.unreadable(why)];
        }
    };
    let mut cuts = Cuts::default();
    let whole = match find(root, &mut cuts) {
        Ok(()) if cuts.len() > 0 => {
            return cuts.found.into_iter().map(|cut| request.event(cut)).collect();
        }
        Ok(()) => Identity::hashed(Kind::of("unknown", Some("request"))),
        Err(reason) => Identity::unreadable(reason),
    };
    vec![request.event(Cut::alone(Place::default(), root, whole))]
}

/// Gives what counts of a body.
pub(super) type Part = fn(&[u8]) -> Cow<'_, [u8]>;

/// Which parts of a body count, where not all of it does.
pub(super) struct Parts {
    /// What is the same in each copy of a request.
    pub(super) alike: Part,
    /// What may be kept of a body that can't be read.
    pub(super) unreadable: Part,
}

impl Default for Parts {
    fn default() -> Self {
        Self { alike: |body| Cow::Borrowed(body), unreadable: |body| Cow::Borrowed(body) }
    }
}

/// A request while events are made of it.
pub(super) struct Whole<'r> {
    body: &'r [u8],
    origin: &'r Origin,
    /// What of the body is the same in each copy of the request.
    alike: Part,
    /// Computed only if an element needs it: most have an id.
    hash: OnceCell<RequestHash>,
}

impl<'r> Whole<'r> {
    /// A request with this body.
    pub(super) fn new(body: &'r [u8], origin: &'r Origin) -> Self {
        Self { body, origin, alike: Parts::default().alike, hash: OnceCell::new() }
    }

    /// The event of one element.
    fn event(&self, cut: Cut<'_>) -> NewEvent {
        let mut payload = String::with_capacity(cut.length());
        cut.place.write(&mut payload, cut.element, &cut.contacts);
        let digest = cut.digest.unwrap_or_else(|| Sha256::digest(cut.content.raw()).into());
        let event = self.event_of(cut.identity, &cut.place, (payload, JSON), digest);
        NewEvent { sent_at: cut.sent_at, ..event }
    }

    /// The one event of a request that is no JSON, but text of another form. The digest is that of
    /// the text, unless one is given.
    pub(super) fn of_text(
        &self,
        text: &str,
        form: &'static str,
        (identity, digest): (Identity, Option<[u8; 32]>),
    ) -> NewEvent {
        let digest = digest.unwrap_or_else(|| Sha256::digest(text).into());
        self.event_of(identity, &Place::default(), (text.to_owned(), form), digest)
    }

    /// The one event of bytes that are nothing we take.
    pub(super) fn unreadable(&self, why: Unreadable) -> NewEvent {
        // A raw NUL is in no JSON, and PostgreSQL takes it in no text.
        let text = std::str::from_utf8(self.body).ok().filter(|text| !text.contains('\0'));
        let payload = match text {
            Some(text) if why == Unreadable::TooDeep => (text.to_owned(), JSON),
            Some(text) => (text.to_owned(), PLAIN_TEXT),
            None => (STANDARD.encode(self.body), BASE64),
        };
        let identity = Identity::unreadable(why.as_str());
        self.event_of(identity, &Place::default(), payload, Sha256::digest(self.body).into())
    }

    /// The event of this identity and payload, whose element is at `place`.
    fn event_of(
        &self,
        identity: Identity,
        place: &Place<'_>,
        (payload, content_type): (String, &'static str),
        digest: [u8; 32],
    ) -> NewEvent {
        let Identity { kind, key, lane, priority, unreadable, recurs } = identity;
        let weak_key = key.is_none();
        let key = key.unwrap_or_else(|| {
            // The place in the request, not in the payload, where all are alike.
            let mut place = place.in_request();
            if recurs {
                let minute = self.origin.received_at.as_second().div_euclid(60);
                // Writing to a string can't fail.
                let _ = write!(place, "@{minute}");
            }
            let hash = || RequestHash::of(&(self.alike)(self.body));
            Key::hash(self.hash.get_or_init(hash), &place)
        });
        NewEvent {
            id: EventId::of(&self.origin.scope, key.as_str()),
            source: self.origin.source.clone(),
            scope: self.origin.scope.clone(),
            key,
            kind,
            lane,
            priority,
            payload,
            content_type,
            element: place.in_payload(),
            digest,
            weak_key,
            sent_at: None,
            received_at: self.origin.received_at,
            unreadable,
            tasks: Vec::new(),
        }
    }
}
