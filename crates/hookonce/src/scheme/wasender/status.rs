//! What became of messages: their status, and who of a group read them.

use std::borrow::Cow;

use crate::element::Json;
use crate::event::{Key, Kind};

use super::super::gateway;
use super::super::identity::Identity;
use super::conversation::participant;
use super::element::{Element, hash, said, time};
use super::message::edit;
use super::other;
use super::walk::Found;

/// What a person did with a message, by the time that says so.
const DONE: [(&str, &str); 3] =
    [("played", "playedTimestamp"), ("read", "readTimestamp"), ("delivered", "receiptTimestamp")];

/// What changed of a message: its status, its text, or something else.
pub(super) fn update<'a>(element: &Element<'_, 'a>) -> Found<'a> {
    let update = said(element.object, "update").unwrap_or(element.value);
    let message = update.get("message").filter(|message| message.is_object());
    let status = update.get("status").and_then(Json::text).filter(|word| !word.is_empty());
    let edited = message.and_then(gateway::edited);
    let protocol = message.and_then(gateway::protocol);
    // With a status it is one of a message that comes along.
    let taken_back = protocol.filter(|told| gateway::revokes(*told) && status.is_none());
    let named = match (&edited, taken_back) {
        (Some(edit), _) => edit.id.clone(),
        (None, told) => told.and_then(|protocol| gateway::id_in(protocol.get("key")?)),
    };
    let Some(id) = named.or_else(|| element.id()) else {
        return Found::of(element, Identity::unreadable(gateway::NO_ID));
    };
    // An edit comes under the original's id; a status beside it would be lost less dearly.
    if let Some(to) = edited {
        return edit(element, to.to, &id);
    }
    if let Some(status) = status {
        return Found { content: update, ..of_status(element, &id, &status) };
    }
    if let Some(protocol) = taken_back {
        return other::revoked(element, protocol, &id);
    }
    // It tells the client something else, which is no new content, either.
    if let (Some(message), None) = (message, protocol) {
        return edit(element, gateway::unwrapped(message), &id);
    }
    let key = Key::of(&["update", &id, &hash(update)]);
    let identity = Identity::known(Kind::of("update", Some("other")), key);
    Found { content: update, ..Found::of(element, identity) }
}

/// One status of a message. In a group each participant has one.
fn of_status<'a>(element: &Element<'_, 'a>, id: &str, status: &str) -> Found<'a> {
    let word = gateway::status_word(status);
    let who = participant(element);
    let parts = ["status", id, &word, who.as_deref().unwrap_or_default()];
    let key = Key::of(&parts[..3 + usize::from(who.is_some())]);
    Found::of(element, Identity::known(Kind::of("status", Some(&word)), key))
}

/// That one person got, read or played a message: `receipt` is who and when. The person is part of
/// the key in the spelling of [`gateway::chat`], so that all devices of one are one.
pub(super) fn receipt<'a>(element: &Element<'_, 'a>, receipt: Json<'a>) -> Found<'a> {
    let text = |name| receipt.get(name).and_then(Json::text);
    let user = text("userJid").and_then(|user| gateway::chat(&user));
    let who = user.or_else(|| participant(element)).unwrap_or_default();
    // One that has several times is about the last thing that was done.
    let time_of = |(word, name)| {
        let value: Json<'a> = receipt.get(name)?;
        Some((word, value, time(value)?))
    };
    let told = DONE.into_iter().find_map(time_of);
    let done = match told {
        Some((word, ..)) => Cow::Borrowed(word),
        None => text("type").or_else(|| text("status")).unwrap_or_default(),
    };
    let done = gateway::status_word(&done);
    let identity = match element.id() {
        None => Identity::unreadable(gateway::NO_ID),
        Some(_) if done.is_empty() => Identity::unreadable(gateway::NO_STATUS),
        Some(id) => Identity::known(
            Kind::of("receipt", Some(&done)),
            Key::of(&["receipt", &id, &who, &done]),
        ),
    };
    let found = Found::of(element, identity);
    match told {
        // The person may be told in another spelling.
        Some((_, content, at)) => Found { content, sent_at: Some(at), ..found },
        None => Found { content: receipt, ..found },
    }
}
