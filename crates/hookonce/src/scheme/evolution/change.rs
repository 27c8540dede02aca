//! What became of a message that was there already: it says something else now, or was taken back.
//!
//! Evolution API tells it as a message, as an update, or as the bare `protocolMessage`, which also
//! tells clients other things. Makes no keys.

use std::borrow::Cow;

use crate::element::{Json, Object};

use super::super::gateway::{self, Edit};

/// What became of a message.
pub(super) enum Change<'a> {
    /// What it says now.
    Edited(Edit<'a>),
    /// It was taken back; the id of the message, where that isn't the element's own.
    Revoked(Option<Cow<'a, str>>),
}

/// Where an element may tell of a change.
pub(super) struct Telling<'a> {
    element: Json<'a>,
    update: Option<Json<'a>>,
    /// What the element has for a message, and what its update has.
    contents: [Option<Json<'a>>; 2],
}

impl<'a> Telling<'a> {
    pub(super) fn of(element: Json<'a>, object: &Object<'a>) -> Self {
        let update = object.get("update").filter(|update| update.is_object());
        let content = |of: Json<'a>| of.get("message").filter(|content| content.is_object());
        Self { element, update, contents: [content(element), update.and_then(content)] }
    }

    /// Whether the element itself is the `protocolMessage`, in which everything is told from the side
    /// of whoever sent it.
    pub(super) fn is_bare(&self) -> bool {
        let is_around = self.update.is_some() || self.contents[0].is_some();
        !is_around && self.element.get("key").is_some_and(Json::is_object)
    }

    /// The edit that comes as a message.
    pub(super) fn of_message(&self) -> Option<Change<'a>> {
        self.contents[0].and_then(gateway::edited).map(Change::Edited)
    }

    /// The edit, wherever it is told, else the taking back: new content that is not wrapped as an
    /// edit counts as well, if it says anything.
    pub(super) fn of_update(&self, has_status: bool) -> Option<Change<'a>> {
        let contents = || self.contents.into_iter().flatten();
        let told = contents().chain([self.element]).chain(self.update);
        if let Some(edit) = told.into_iter().find_map(gateway::edited) {
            return Some(Change::Edited(edit));
        }
        // With a status it is one of a message that comes along.
        if has_status {
            return None;
        }
        if let Some(protocol) = contents().find_map(gateway::protocol) {
            let id = || protocol.get("key").and_then(gateway::id_in);
            return gateway::revokes(protocol).then(|| Change::Revoked(id()));
        }
        if let Some(to) = contents().find(|content| gateway::message_type(*content).is_some()) {
            return Some(Change::Edited(Edit { to: gateway::unwrapped(to), id: None }));
        }
        (self.is_bare() && gateway::revokes(self.element)).then_some(Change::Revoked(None))
    }
}
