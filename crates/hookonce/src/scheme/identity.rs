//! What makes an element an event.

use crate::event::{Key, Kind, Lane, Priority};

/// What makes an element an event.
#[derive(Debug)]
pub(super) struct Identity {
    pub(super) kind: Kind,
    /// `None` where only a hash can tell it apart.
    pub(super) key: Option<Key>,
    pub(super) lane: Option<Lane>,
    pub(super) priority: Priority,
    pub(super) unreadable: Option<&'static str>,
    /// The same bytes may be another event a while later, for want of a time in them: its hash takes
    /// the minute of arrival in.
    pub(super) recurs: bool,
}

impl Identity {
    /// An event that is known by `key`, in no lane.
    pub(super) fn known(kind: Kind, key: Key) -> Self {
        Self { key: Some(key), ..Self::hashed(kind) }
    }

    /// An event that only a hash tells apart.
    pub(super) fn hashed(kind: Kind) -> Self {
        let (key, lane, priority) = (None, None, Priority::Normal);
        Self { kind, key, lane, priority, unreadable: None, recurs: false }
    }

    /// One that can't be handled, and why.
    pub(super) fn unreadable(reason: &'static str) -> Self {
        Self { unreadable: Some(reason), ..Self::hashed(Kind::unreadable()) }
    }

    /// The same, but one that can't be handled, for this reason, if it has no key: no hash is known
    /// to tell such events apart.
    pub(super) fn or_unreadable(self, reason: &'static str) -> Self {
        if self.key.is_some() { self } else { Self::unreadable(reason) }
    }
}
