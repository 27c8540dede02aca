//! One element with what is told of it: its own members, its `key`, and the request around it.

use std::borrow::Cow;

use jiff::Timestamp;
use sha2::{Digest as _, Sha256};

use crate::element::{Json, Object};

use super::super::{gateway, instant};

/// Where an id stands, if not in `key`.
pub(super) const IDS: [&str; 2] = ["id", "messageId"];

/// The request that elements are in.
#[derive(Clone, Copy)]
pub(super) struct Request<'e, 'a> {
    pub(super) root: Json<'a>,
    pub(super) object: &'e Object<'a>,
}

/// An element that is an object.
pub(super) struct Element<'e, 'a> {
    pub(super) value: Json<'a>,
    pub(super) object: &'e Object<'a>,
    /// Its `key`: which message it is about.
    key: Option<Object<'a>>,
    request: Request<'e, 'a>,
    /// It is the only one of its request, so that an id beside `data` is its own.
    is_alone: bool,
}

impl<'e, 'a> Element<'e, 'a> {
    pub(super) fn new(
        (value, object): (Json<'a>, &'e Object<'a>),
        request: Request<'e, 'a>,
        is_alone: bool,
    ) -> Self {
        let key = object.get("key").and_then(Json::object);
        Self { value, object, key, request, is_alone }
    }

    /// The request is the element: the gateway's flat form.
    pub(super) fn is_flat(&self) -> bool {
        std::ptr::eq(self.value.raw(), self.request.root.raw())
    }

    /// The id of the message, call or poll that it is about, wherever that stands.
    pub(super) fn id(&self) -> Option<Cow<'a, str>> {
        let says = |id: &Cow<'a, str>| !id.trim().is_empty();
        let in_key = self.key.as_ref().and_then(|key| key.text("id")).filter(says);
        let of =
            |object: &Object<'a>| IDS.into_iter().filter_map(|name| object.text(name)).find(says);
        let around = || self.is_alone.then(|| of(self.request.object)).flatten();
        in_key.or_else(|| of(self.object)).or_else(around)
    }

    /// Whether its `key` is something that can't name a message.
    pub(super) fn has_broken_key(&self) -> bool {
        self.key.is_none() && said(self.object, "key").is_some()
    }

    /// What its `key` or else the element itself says under this name.
    pub(super) fn fact(&self, name: &str) -> Option<Cow<'a, str>> {
        let in_key = self.key.as_ref().and_then(|key| key.text(name));
        in_key.or_else(|| self.object.text(name))
    }

    /// Whether the account itself wrote the message that it is about.
    pub(super) fn is_own(&self) -> bool {
        let in_key = self.key.as_ref().and_then(|key| key.get("fromMe"));
        in_key.or_else(|| self.object.get("fromMe")).is_some_and(gateway::is_yes)
    }

    /// The element's own time, else the one that the request was sent at.
    pub(super) fn sent_at(&self) -> Option<Timestamp> {
        let own = ["messageTimestamp", "timestamp"].into_iter();
        let own = own.filter_map(|name| self.object.get(name));
        own.chain(self.request.object.get("timestamp")).find_map(time)
    }
}

/// A time; also one that is written as the halves of a number, as some libraries do.
pub(super) fn time(value: Json<'_>) -> Option<Timestamp> {
    instant::of(value).or_else(|| instant::of(value.get("low")?))
}

/// The SHA-256 of a value's bytes, for a key.
pub(super) fn hash(value: Json<'_>) -> String {
    hex::encode(Sha256::digest(value.raw()))
}

/// A member of an object that says something.
pub(super) fn said<'a>(object: &Object<'a>, name: &str) -> Option<Json<'a>> {
    object.get(name).filter(|value| !value.is_null())
}
