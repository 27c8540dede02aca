//! Which conversation an element belongs to.
//!
//! A person may be given by phone number and by hidden address (`@lid`), in one announcement of a
//! message and not in another: the phone number counts wherever it is told.

use std::borrow::Cow;

use crate::event::Lane;

use super::super::gateway;
use super::element::Element;

/// Where the other side of a conversation is told, the phone number first.
const OTHER_SIDE: [&str; 8] = [
    "cleanedSenderPn",
    "senderPn",
    "remoteJidAlt",
    "remoteJid",
    "senderLid",
    "callerPn",
    "from",
    "chatId",
];
/// The same for what the account itself sent, where `sender…` is the account.
const RECIPIENT: [&str; 4] = ["remoteJidAlt", "remoteJid", "to", "chatId"];
/// Where the one of a group is told who did something.
const PARTICIPANT: [&str; 4] =
    ["cleanedParticipantPn", "participantPn", "participantAlt", "participant"];

/// The lane of the conversation: the group or channel, else the person.
pub(super) fn lane(element: &Element<'_, '_>) -> Option<Lane> {
    let chats = ["remoteJid", "chatId"].into_iter().filter_map(|name| element.fact(name));
    let group = chats.filter_map(|jid| gateway::chat(&jid)).find(|chat| is_many(chat));
    let who = group.or_else(|| {
        person(element, if element.is_own() { &RECIPIENT[..] } else { &OTHER_SIDE[..] })
    });
    Some(Lane::of(&[&who?]))
}

/// The lane of who calls.
pub(super) fn caller_lane(element: &Element<'_, '_>) -> Option<Lane> {
    Some(Lane::of(&[&person(element, &OTHER_SIDE)?]))
}

/// Who of a group did what the element says. In a chat of two it is no other than the chat.
pub(super) fn participant(element: &Element<'_, '_>) -> Option<String> {
    let chat = ["remoteJid", "chatId"].into_iter().find_map(|name| element.fact(name));
    if chat.is_some_and(|chat| gateway::is_person(&chat)) {
        return None;
    }
    person(element, &PARTICIPANT)
}

/// The person whom any of these names tells, by phone number if any does.
fn person(element: &Element<'_, '_>, names: &[&str]) -> Option<String> {
    let told = names.iter().filter_map(|name| element.fact(name));
    let mut hidden = None;
    for chat in told.filter_map(|jid: Cow<'_, str>| gateway::chat(&jid)) {
        if !chat.contains('@') {
            return Some(chat);
        }
        hidden = hidden.or(Some(chat));
    }
    hidden
}

/// Whether this is a chat of more than two: a group, a channel, a broadcast.
fn is_many(chat: &str) -> bool {
    chat.contains('@') && !gateway::is_hidden(chat)
}
