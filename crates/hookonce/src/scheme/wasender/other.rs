//! Reactions, deletions, polls, calls, and what is about the account and no message.

use std::borrow::Cow;

use crate::element::{Json, Object};
use crate::event::{Key, Kind, Priority};

use super::super::gateway;
use super::super::identity::Identity;
use super::conversation::{caller_lane, lane, participant};
use super::element::{Element, hash, is_true, said, time};
use super::name::{Family, code};
use super::walk::Found;

/// That somebody reacted to a message, with another sign, or took it back (no text). `key` is the
/// message's.
pub(super) fn reaction<'a>(element: &Element<'_, 'a>) -> Found<'a> {
    let told = said(element.object, "reaction");
    let reaction = told.unwrap_or(element.value);
    let own_key = told.and_then(|reaction| reaction.get("key")).and_then(Json::object);
    let is_own = own_key.as_ref().and_then(|key| key.get("fromMe")).is_some_and(is_true);
    let reactor = || {
        let of = |key: &Object<'a>| key.text("participant").or_else(|| key.text("remoteJid"));
        let told = own_key.as_ref().and_then(of).and_then(|who| gateway::chat(&who));
        told.or_else(|| participant(element)).map(Cow::Owned)
    };
    let which = own_key.as_ref().and_then(|key| key.text("id")).or_else(reactor);
    let sign = reaction.get("text");
    let text = sign.and_then(Json::text).unwrap_or_default();
    let key = element.id().zip(which);
    let key = key.map(|(id, which)| Key::of(&["reaction", &id, &which, &text]));
    // Nobody should react to what the account itself did.
    let (prefix, word) = if is_own { ("echo", "reaction") } else { ("", "reaction") };
    let identity =
        Identity { key, lane: lane(element), ..Identity::hashed(Kind::of(prefix, Some(word))) };
    let at = reaction.get("senderTimestampMs").and_then(time);
    Found { content: sign.unwrap_or(reaction), sent_at: at.or_else(|| element.sent_at()), identity }
}

/// That a message was deleted: the element is its key, or has one.
pub(super) fn delete<'a>(element: &Element<'_, 'a>) -> Found<'a> {
    let identity = Identity {
        key: element.id().map(|id| Key::of(&["delete", &id])),
        lane: lane(element),
        ..Identity::hashed(Kind::of("", Some("delete")))
    };
    // There is no more to it than the id; how the chat is written doesn't matter.
    let key = said(element.object, "key").unwrap_or(element.value);
    Found { content: key.get("id").unwrap_or(element.value), ..Found::of(element, identity) }
}

/// A deleted message of which only the id is told.
pub(super) fn deleted_id(id: &str) -> Identity {
    Identity::known(Kind::of("", Some("delete")), Key::of(&["delete", id]))
}

/// How a poll stands. It has one id, whoever votes.
pub(super) fn poll<'a>(element: &Element<'_, 'a>) -> Found<'a> {
    let result = said(element.object, "pollResult").unwrap_or(element.value);
    let identity = Identity {
        key: element.id().map(|id| Key::of(&["poll", &id, &hash(result)])),
        lane: lane(element),
        ..Identity::hashed(Kind::of("poll", Some("results")))
    };
    Found { content: result, ..Found::of(element, identity) }
}

/// One state of a call.
pub(super) fn call<'a>(element: &Element<'_, 'a>) -> Found<'a> {
    let status = element.object.text("status").map(|status| status.to_lowercase());
    let known = |id: Cow<'a, str>| match &status {
        Some(status) => Key::of(&["call", &id, status]),
        None => Key::of(&["call", &id]),
    };
    let identity = Identity {
        key: element.id().map(known),
        lane: caller_lane(element),
        priority: Priority::Urgent,
        ..Identity::hashed(Kind::of("call", status.as_deref()))
    };
    Found::of(element, identity)
}

/// What is about the account, or of a name that nobody told us of: nothing says whether it is the same
/// event again but its bytes. The state of a session comes back to what it was, and codes are all
/// alike once they are redacted.
pub(super) fn without_id(family: Family, name: &str, value: Json<'_>) -> Identity {
    match family {
        Family::Session => {
            let status = value.get("status").and_then(Json::text).or_else(|| value.text());
            let kind = Kind::of("session", status.as_deref());
            Identity { recurs: true, ..Identity::hashed(kind) }
        }
        Family::Code => {
            let kind = Kind::of("session", code(name.as_bytes()));
            Identity { recurs: true, ..Identity::hashed(kind) }
        }
        Family::Plain => Identity::hashed(Kind::of("", Some(name))),
        _ => Identity::hashed(Kind::of("unknown", Some(name))),
    }
}
