//! What became of messages: their status, and who of a group read them.

use std::borrow::Cow;

use crate::element::Json;
use crate::event::{Key, Kind};

use super::super::gateway;
use super::super::identity::Identity;
use super::conversation::{lane, participant};
use super::element::{Element, hash, said, time};
use super::message::{edit, edited};
use super::walk::Found;

/// What a person did with a message, by the time that says so.
const DONE: [(&str, &str); 3] =
    [("played", "playedTimestamp"), ("read", "readTimestamp"), ("delivered", "receiptTimestamp")];

/// What changed of a message: its status, its text, or something else.
pub(super) fn update<'a>(element: &Element<'_, 'a>) -> Found<'a> {
    let update = said(element.object, "update").unwrap_or(element.value);
    let id = element.id();
    let message = update.get("message").filter(|message| message.is_object());
    let status = update.get("status").and_then(Json::text).filter(|word| !word.is_empty());
    // An edit comes under the original's id; a status beside it would be lost less dearly.
    if let (Some(to), Some(id)) = (message.and_then(edited), &id) {
        return edit(element, to, id);
    }
    if let Some(status) = status {
        return Found { content: update, ..of_status(element, &status) };
    }
    match (message, id) {
        (Some(message), Some(id)) => edit(element, message, &id),
        (_, id) => {
            let word = if message.is_some() { "edit" } else { "other" };
            let identity = Identity {
                key: id.map(|id| Key::of(&["update", &id, &hash(update)])),
                lane: message.and_then(|_| lane(element)),
                ..Identity::hashed(Kind::of("update", Some(word)))
            };
            Found { content: update, ..Found::of(element, identity) }
        }
    }
}

/// One status of a message. In a group each participant has one.
fn of_status<'a>(element: &Element<'_, 'a>, status: &str) -> Found<'a> {
    let word = word(status);
    let who = participant(element);
    let key = element.id().map(|id| {
        let parts = ["status", &id, &word, who.as_deref().unwrap_or_default()];
        Key::of(&parts[..3 + usize::from(who.is_some())])
    });
    let identity = Identity { key, ..Identity::hashed(Kind::of("status", Some(&word))) };
    Found::of(element, identity)
}

/// The word for a status, however it is told: as a number, as the gateway's word or as the library's
/// constant.
fn word(status: &str) -> Cow<'_, str> {
    let lower = status.to_lowercase();
    Cow::Borrowed(match &*lower {
        "0" => "error",
        "1" => "pending",
        "2" | "server_ack" => "sent",
        "3" | "delivery_ack" => "delivered",
        "4" => "read",
        "5" => "played",
        _ => return Cow::Owned(lower),
    })
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
    let done = word(&done);
    let id = element.id().filter(|_| !done.is_empty());
    let identity = Identity {
        key: id.map(|id| Key::of(&["receipt", &id, &who, &done])),
        ..Identity::hashed(Kind::of("receipt", Some(&done)))
    };
    let found = Found::of(element, identity);
    match told {
        // The person may be told in another spelling.
        Some((_, content, at)) => Found { content, sent_at: Some(at), ..found },
        None => Found { content: receipt, ..found },
    }
}
