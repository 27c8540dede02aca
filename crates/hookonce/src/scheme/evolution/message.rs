//! A message as Evolution API describes it: its id, whose it is, in which chat, and of which sort.

use std::borrow::Cow;

use crate::element::{Json, Object};

use super::super::gateway;

/// A message, or what an event says of one.
pub(super) struct Message<'e, 'a> {
    element: &'e Object<'a>,
    /// The key of `WhatsApp`'s own protocol, where there is one.
    key: Option<Object<'a>>,
}

impl<'e, 'a> Message<'e, 'a> {
    pub(super) fn of(element: &'e Object<'a>) -> Self {
        Self { element, key: element.get("key").and_then(Json::object) }
    }

    /// The id of the message that it is or is about.
    pub(super) fn id(&self) -> Option<Cow<'a, str>> {
        let of_key = self.key.as_ref().and_then(|key| key.text("id"));
        let others = ["keyId", "id"].into_iter().filter_map(|name| self.element.text(name));
        of_key.into_iter().chain(others).find(|id| !id.trim().is_empty())
    }

    /// Whether its key is something that can't name a message.
    pub(super) fn has_broken_key(&self) -> bool {
        self.key.is_none() && self.element.get("key").is_some_and(|key| !key.is_null())
    }

    /// Whether it stands for a message that isn't there.
    pub(super) fn is_placeholder(&self) -> bool {
        gateway::is_placeholder(self.element, self.element.text("messageType").as_deref())
    }

    /// Whether the business sent it.
    pub(super) fn is_own(&self) -> bool {
        self.get("fromMe").is_some_and(gateway::is_yes)
    }

    /// Whose conversation it is in, in one spelling.
    pub(super) fn conversation(&self) -> Option<String> {
        let text = |name| self.get(name).and_then(Json::text).filter(|text| !text.is_empty());
        gateway::conversation(text("remoteJid"), [text("remoteJidAlt"), text("senderPn")])
    }

    /// Whether it is in a chat of two, as far as anybody says.
    pub(super) fn is_in_chat_of_two(&self) -> bool {
        self.get("remoteJid").and_then(Json::text).is_none_or(|chat| gateway::is_person(&chat))
    }

    /// Who of a group, if it is about one of its members.
    pub(super) fn participant(&self) -> Option<String> {
        let chat = self.get("remoteJid").and_then(Json::text)?;
        let who = self.get("participant").and_then(Json::text)?;
        // Of other chats it repeats the chat, or is missing.
        if gateway::is_person(&chat) || who == chat { None } else { gateway::chat(&who) }
    }

    /// What it says.
    pub(super) fn content(&self) -> Option<Json<'a>> {
        self.element.get("message").filter(|content| !content.is_null())
    }

    /// What sort of message it is.
    pub(super) fn sort(&self) -> Option<Cow<'a, str>> {
        let of_content = self.content().and_then(gateway::message_type);
        of_content.or_else(|| self.element.text("messageType").map(gateway::type_of))
    }

    /// A member of its key, or of the element itself where that is the key.
    fn get(&self, name: &str) -> Option<Json<'a>> {
        let of_key = self.key.as_ref().and_then(|key| key.get(name));
        of_key.or_else(|| self.element.get(name)).filter(|value| !value.is_null())
    }
}
