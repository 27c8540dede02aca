//! From a request's bytes to its events.
//!
//! In two passes: first every element is found and known for what it is, then each is copied with
//! what is around it. Nothing is copied of a request that turns out to be too much.

use std::cell::OnceCell;
use std::rc::Rc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use sha2::{Digest as _, Sha256};

use crate::element::{Json, Unreadable};
use crate::event::{BASE64, EventId, JSON, Key, NewEvent, PLAIN_TEXT, RequestHash};

use super::super::Origin;
use super::family::Identity;
use super::frame::Place;
use super::walk::cuts;

/// One element, found in its request and known for what it is, before anything of it is copied.
pub(super) struct Cut<'a> {
    pub(super) place: Place<'a>,
    pub(super) element: Json<'a>,
    /// The people it is about; shared, for many elements are about the same.
    pub(super) contacts: Rc<[Json<'a>]>,
    pub(super) sent_at: Option<Timestamp>,
    pub(super) identity: Identity,
}

impl<'a> Cut<'a> {
    /// An element at `place` with nobody beside it.
    pub(super) fn alone(place: Place<'a>, element: Json<'a>, identity: Identity) -> Self {
        Self { place, element, contacts: Rc::default(), sent_at: None, identity }
    }

    /// At most how many bytes its payload takes.
    pub(super) fn length(&self) -> usize {
        self.place.length(&self.contacts) + self.element.raw().len()
    }
}

/// Cuts a proven request into its events; one that can't be cut is one unreadable event.
pub(super) fn events(body: &[u8], origin: &Origin) -> Vec<NewEvent> {
    let request = Request { body, origin, hash: OnceCell::new() };
    match Json::read(body) {
        Ok(root) => match cuts(root) {
            Ok(cuts) => cuts.into_iter().map(|cut| request.event(cut)).collect(),
            Err(reason) => {
                let identity = Identity::unreadable(reason);
                vec![request.event(Cut::alone(Place::default(), root, identity))]
            }
        },
        Err(why) => vec![request.unreadable(why)],
    }
}

/// A request while events are made of it.
struct Request<'r> {
    body: &'r [u8],
    origin: &'r Origin,
    /// Computed only if an element needs it: most have an id.
    hash: OnceCell<RequestHash>,
}

impl Request<'_> {
    /// The event of one element.
    fn event(&self, cut: Cut<'_>) -> NewEvent {
        let mut payload = String::with_capacity(cut.length());
        cut.place.write(&mut payload, cut.element, &cut.contacts);
        let digest = Sha256::digest(cut.element.raw()).into();
        let event = self.event_of(cut.identity, &cut.place, (payload, JSON), digest);
        NewEvent { sent_at: cut.sent_at, ..event }
    }

    /// The one event of bytes that are no JSON we take.
    fn unreadable(&self, why: Unreadable) -> NewEvent {
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
        let Identity { kind, key, lane, priority, unreadable } = identity;
        let weak_key = key.is_none();
        let key = key.unwrap_or_else(|| {
            // The place in the request, not in the payload, where all are alike.
            let hash = self.hash.get_or_init(|| RequestHash::of(self.body));
            Key::hash(hash, &place.in_request())
        });
        NewEvent {
            id: EventId::of(&self.origin.scope, key.as_str()),
            source: self.origin.source.clone(),
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
