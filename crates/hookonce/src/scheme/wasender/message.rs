//! Messages, under whatever name they are announced, and what the gateway says of sending one.

use std::borrow::Cow;

use crate::element::Json;
use crate::event::{Key, Kind, Priority};

use super::super::gateway;
use super::super::identity::Identity;
use super::conversation::lane;
use super::element::{Element, hash, said};
use super::other;
use super::walk::Found;

/// A message, incoming or own. Under each of its names it has the same id and the same `message`;
/// what stands around that differs.
pub(super) fn message<'a>(element: &Element<'_, 'a>) -> Found<'a> {
    if element.has_broken_key() {
        return Found::of(element, Identity::unreadable("key is not an object"));
    }
    let message = said(element.object, "message");
    if let Some(edit) = message.and_then(gateway::edited)
        && let Some(id) = edit.id.or_else(|| element.id())
    {
        return self::edit(element, edit.to, &id);
    }
    let content = message.map(gateway::unwrapped);
    if let Some(reaction) = content.and_then(|content| content.get("reactionMessage"))
        && let Some(found) = other::reaction_message(element, reaction)
    {
        return found;
    }
    let named = || element.object.text("messageType").or_else(|| element.object.text("type"));
    let id = element.id();
    if gateway::is_placeholder(element.object, named().as_deref()) {
        return placeholder(element, id.as_deref());
    }
    let word = message.and_then(gateway::message_type).or_else(named);
    let (prefix, priority) =
        if element.is_own() { ("echo", Priority::Normal) } else { ("message", Priority::Urgent) };
    let identity = Identity {
        key: id.map(|id| key(element, prefix, &id)),
        lane: lane(element),
        priority,
        ..Identity::hashed(Kind::of(prefix, word.as_deref()))
    };
    Found { content: message.unwrap_or(element.value), ..Found::of(element, identity) }
}

/// The key of a message. An id in the flat form is the sender's own, and no message's.
fn key(element: &Element<'_, '_>, prefix: &str, id: &str) -> Key {
    if !element.is_flat() || element.object.get("key").is_some_and(Json::is_object) {
        return Key::of(&[prefix, id]);
    }
    let session = element.object.text("session").unwrap_or_default();
    Key::of(&["flat", &session, prefix, id])
}

/// What stands for a message that isn't there, and must not pass for it.
fn placeholder<'a>(element: &Element<'_, 'a>, id: Option<&str>) -> Found<'a> {
    let stub = element.object.text("messageStubType");
    let identity = Identity {
        key: id.map(|id| Key::of(&["stub", id, stub.as_deref().unwrap_or_default()])),
        lane: lane(element),
        ..Identity::hashed(Kind::of("stub", stub.as_deref()))
    };
    Found::of(element, identity)
}

/// That a message was changed: it has the id of the original, so that its new content is in the key.
pub(super) fn edit<'a>(element: &Element<'_, 'a>, to: Json<'a>, id: &str) -> Found<'a> {
    // The account's own edits are no reason to do anything either.
    let prefix = if element.is_own() { "echo" } else { "update" };
    let identity = Identity {
        lane: lane(element),
        ..Identity::known(Kind::of(prefix, Some("edit")), Key::of(&["update", id, &hash(to)]))
    };
    Found { content: to, ..Found::of(element, identity) }
}

/// What the gateway says of a message that it was told to send. A failure may have no id at all.
pub(super) fn sent<'a>(element: &Element<'_, 'a>) -> Found<'a> {
    let word = if has_failed(element) { "failed" } else { "accepted" };
    let known = |id: Cow<'a, str>| match word {
        "failed" => Key::of(&["sent", &id, word]),
        _ => Key::of(&["sent", &id]),
    };
    let key = element.id().map(known);
    let identity = Identity {
        recurs: key.is_none() && element.sent_at().is_none(),
        key,
        ..Identity::hashed(Kind::of("sent", Some(word)))
    };
    Found::of(element, identity)
}

fn has_failed(element: &Element<'_, '_>) -> bool {
    if let Some(success) = said(element.object, "success") {
        return !gateway::is_yes(success);
    }
    let status = element.object.text("status").unwrap_or_default().to_lowercase();
    said(element.object, "error").is_some() || matches!(&*status, "error" | "failed")
}
