//! Messages, under whatever name they are announced, and what the gateway says of sending one.

use std::borrow::Cow;

use crate::element::Json;
use crate::event::{Key, Kind, Priority};

use super::super::gateway;
use super::super::identity::Identity;
use super::conversation::lane;
use super::element::{Element, hash, is_true, said};
use super::walk::Found;

/// A message, incoming or own. Under each of its names it has the same id and the same `message`;
/// what stands around that differs.
pub(super) fn message<'a>(element: &Element<'_, 'a>) -> Found<'a> {
    let message = said(element.object, "message");
    let of_message = message.and_then(type_of);
    let id = element.id();
    if let (Some("edited" | "protocol"), Some(id)) = (of_message.as_deref(), &id)
        && let Some(edited) = message.and_then(edited)
    {
        return edit(element, edited, id);
    }
    if let (None, Some(stub)) = (&of_message, element.object.text("messageStubType")) {
        return placeholder(element, &stub, id.as_deref());
    }
    let word = of_message
        .or_else(|| element.object.text("messageType"))
        .or_else(|| element.object.text("type"));
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

/// What sort of message this content is. Some tell of a text by the text alone.
fn type_of(message: Json<'_>) -> Option<Cow<'_, str>> {
    message.text().map(|_| Cow::Borrowed("text")).or_else(|| gateway::message_type(message))
}

/// The key of a message. An id in the flat form is the sender's own, and no message's.
fn key(element: &Element<'_, '_>, prefix: &str, id: &str) -> Key {
    if !element.is_flat() || element.object.get("key").is_some_and(Json::is_object) {
        return Key::of(&[prefix, id]);
    }
    let session = element.object.text("session").unwrap_or_default();
    Key::of(&["flat", &session, prefix, id])
}

/// What stands for a message that isn't there: it could not be decrypted yet, and will come under
/// the same id, or was never one. It must not pass for the message.
fn placeholder<'a>(element: &Element<'_, 'a>, stub: &str, id: Option<&str>) -> Found<'a> {
    let identity = Identity {
        key: id.map(|id| Key::of(&["stub", id, stub])),
        lane: lane(element),
        ..Identity::hashed(Kind::of("stub", Some(stub)))
    };
    Found::of(element, identity)
}

/// What a message was changed to, where this content says so.
pub(super) fn edited(message: Json<'_>) -> Option<Json<'_>> {
    let mut found = None;
    let mut content = message;
    // It may be wrapped once or twice, and stands innermost.
    for _ in 0..4 {
        let in_protocol = || content.get("protocolMessage")?.get("editedMessage");
        let inner = content.get("editedMessage").or_else(in_protocol);
        let Some(inner) = inner.filter(|inner| inner.is_object()) else { break };
        found = Some(inner);
        content = inner.get("message").unwrap_or(inner);
    }
    found
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
        return !is_true(success);
    }
    let status = element.object.text("status").unwrap_or_default().to_lowercase();
    said(element.object, "error").is_some() || matches!(&*status, "error" | "failed")
}
