//! Reactions, deletions, polls, calls, and what is about the account and no message.

use std::borrow::Cow;

use crate::element::{Json, Object};
use crate::event::{Key, Kind, Priority};

use super::super::gateway;
use super::super::identity::Identity;
use super::conversation::{caller_lane, lane, participant};
use super::element::{Element, hash, said, time};
use super::name::{Family, code};
use super::walk::Found;

/// That somebody reacted to a message, with another sign, or took it back (no text). `key` is the
/// message's, that of `reaction` the reaction's own.
pub(super) fn reaction<'a>(element: &Element<'_, 'a>) -> Found<'a> {
    let told = said(element.object, "reaction");
    let reaction = told.unwrap_or(element.value);
    let own_key = told.and_then(|reaction| reaction.get("key")).and_then(Json::object);
    let is_own = own_key.as_ref().and_then(|key| key.get("fromMe")).is_some_and(gateway::is_yes);
    let reactor = || {
        let told = own_key.as_ref().and_then(reactor_in);
        told.or_else(|| participant(element)).map(Cow::Owned)
    };
    let which = told.and_then(|reaction| gateway::id_in(reaction.get("key")?)).or_else(reactor);
    let Some(id) = element.id() else {
        return Found::of(element, Identity::unreadable(gateway::NO_ID));
    };
    let Some(which) = which else {
        return Found::of(element, Identity::unreadable("reaction has neither an id nor a person"));
    };
    reacted(element, reaction, [&id, &which], is_own)
}

/// A reaction that is announced as a message: there it is the other way round, and `key` the
/// reaction's own. `None` if it doesn't say to which message, or which it is.
pub(super) fn reaction_message<'a>(
    element: &Element<'_, 'a>,
    reaction: Json<'a>,
) -> Option<Found<'a>> {
    let id = gateway::id_in(reaction.get("key")?)?;
    let own_key = element.object.get("key").and_then(Json::object);
    let reactor = || own_key.as_ref().and_then(reactor_in).map(Cow::Owned);
    let which = element.id().or_else(reactor)?;
    Some(reacted(element, reaction, [&id, &which], element.is_own()))
}

/// One reaction `which` to the message `id`.
fn reacted<'a>(
    element: &Element<'_, 'a>,
    reaction: Json<'a>,
    [id, which]: [&str; 2],
    is_own: bool,
) -> Found<'a> {
    let sign = reaction.get("text");
    let text = sign.and_then(Json::text).unwrap_or_default();
    // Nobody should react to what the account itself did.
    let prefix = if is_own { "echo" } else { "" };
    let key = Key::of(&["reaction", id, which, &text]);
    let identity = Identity {
        lane: lane(element),
        ..Identity::known(Kind::of(prefix, Some("reaction")), key)
    };
    let at = reaction.get("senderTimestampMs").and_then(time);
    Found { content: sign.unwrap_or(reaction), sent_at: at.or_else(|| element.sent_at()), identity }
}

/// Whom the key of a reaction names.
fn reactor_in(key: &Object<'_>) -> Option<String> {
    let told = key.text("participant").or_else(|| key.text("remoteJid"));
    told.and_then(|who| gateway::chat(&who))
}

/// That a message was deleted: the element is its key, or has one. A whole chat's deletion has no id
/// to be known by.
pub(super) fn delete<'a>(element: &Element<'_, 'a>) -> Found<'a> {
    let identity = Identity {
        key: element.id().map(|id| Key::of(&["delete", &id])),
        lane: lane(element),
        ..Identity::hashed(Kind::of("", Some("delete")))
    };
    let is_of_chat = said(element.object, "all").is_some_and(gateway::is_yes);
    let identity = if is_of_chat { identity } else { identity.or_unreadable(gateway::NO_ID) };
    // There is no more to it than the id; how the chat is written doesn't matter.
    let key = said(element.object, "key").unwrap_or(element.value);
    Found { content: key.get("id").unwrap_or(element.value), ..Found::of(element, identity) }
}

/// That a message was deleted, as an update tells it: `protocol` may name it.
pub(super) fn revoked<'a>(element: &Element<'_, 'a>, protocol: Json<'a>, id: &str) -> Found<'a> {
    let identity = Identity { lane: lane(element), ..deleted_id(id) };
    let id = |key: Json<'a>| gateway::id_in(key).and_then(|_| key.get("id"));
    let mut keys = [protocol.get("key"), said(element.object, "key")].into_iter().flatten();
    let content = keys.find_map(id).unwrap_or(element.value);
    Found { content, ..Found::of(element, identity) }
}

/// A deleted message of which only the id is told.
pub(super) fn deleted_id(id: &str) -> Identity {
    if id.trim().is_empty() {
        return Identity::unreadable(gateway::NO_ID);
    }
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
    let identity = identity.or_unreadable(gateway::NO_ID);
    Found { content: result, ..Found::of(element, identity) }
}

/// One state of a call.
pub(super) fn call<'a>(element: &Element<'_, 'a>) -> Found<'a> {
    let status = element.object.text("status").map(|status| status.to_lowercase());
    let identity = match (element.id(), &status) {
        (None, _) => Identity::unreadable(gateway::NO_ID),
        (_, None) => Identity::unreadable(gateway::NO_STATUS),
        (Some(id), Some(status)) => Identity {
            lane: caller_lane(element),
            priority: Priority::Urgent,
            ..Identity::known(Kind::of("call", Some(status)), Key::of(&["call", &id, status]))
        },
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
