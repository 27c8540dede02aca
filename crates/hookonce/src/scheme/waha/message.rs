//! A message as WAHA describes it: whose it is, in which chat, and of which sort.
//!
//! What the engine below adds, under `_data`, is looked at only where WAHA's own members don't say.

use std::borrow::Cow;

use crate::element::{Json, Object};

use super::super::gateway;

/// A message, or what its id tells of it.
pub(super) struct Message<'p, 'a> {
    payload: &'p Object<'a>,
    /// Its id without what WAHA puts around it.
    pub(super) id: Option<String>,
    /// The chat that stands in the id.
    chat: Option<String>,
    /// The business sent it.
    pub(super) is_own: bool,
}

impl<'p, 'a> Message<'p, 'a> {
    /// Reads a payload.
    pub(super) fn of(payload: &'p Object<'a>) -> Self {
        let parts = payload.get("id").and_then(Parts::read);
        let Parts { is_own, chat, id } = parts.unwrap_or_default();
        let said = payload.get("fromMe").filter(|own| !own.is_null());
        let is_own = said.map_or(is_own, gateway::is_yes);
        Self { payload, id, chat, is_own }
    }

    /// Why an event about it that has no key can't be handled.
    pub(super) fn lacks(&self) -> &'static str {
        if self.id.is_none() { gateway::NO_ID } else { gateway::NO_STATUS }
    }

    /// Whose conversation it is in, in one spelling.
    pub(super) fn conversation(&self) -> Option<String> {
        let (side, alternative) =
            if self.is_own { ("to", "RecipientAlt") } else { ("from", "SenderAlt") };
        let data = self.payload.get("_data");
        let of_key = data.and_then(|data| data.get("key")?.get("remoteJidAlt"));
        let of_info = data.and_then(|data| data.get("Info")?.get(alternative));
        let chat = self.chat.as_deref().map(Cow::Borrowed);
        // Of a message of the business's, some engines have the chat there, some the business.
        let from = self.payload.get("from").filter(|_| chat.is_none());
        let others = [self.payload.get(side), of_key, of_info, from];
        gateway::conversation(chat, others.map(|other| other.and_then(Json::text)))
    }

    /// Who of a group, if it is about one of its members.
    pub(super) fn participant(&self) -> Option<String> {
        let from = self.payload.text("from");
        let chat = self.chat.as_deref().or(from.as_deref())?;
        let participant = self.payload.text("participant");
        participant.filter(|_| !gateway::is_person(chat)).and_then(|who| gateway::chat(&who))
    }

    /// What sort of message it is.
    pub(super) fn sort(&self) -> Cow<'a, str> {
        let data = self.payload.get("_data").filter(|data| data.is_object());
        let of_engine = || data?.get("type").and_then(Json::text).filter(|word| !word.is_empty());
        if let Some(word) = self.payload.text("type").or_else(of_engine) {
            return if word == "chat" { Cow::Borrowed("text") } else { word };
        }
        let content = data.and_then(|data| data.get("message").or_else(|| data.get("Message")));
        if let Some(word) = content.and_then(gateway::message_type) {
            return word;
        }
        let given = |name| self.payload.get(name).is_some_and(|value| !is_empty(value));
        if self.payload.get("hasMedia").is_some_and(gateway::is_yes) {
            let media = self.payload.get("media").and_then(|media| media.get("mimetype")?.text());
            let word = media.as_deref().map(|media| media.split('/').next().unwrap_or_default());
            return Cow::Borrowed(match word {
                None => "media",
                Some("image") => "image",
                Some("video") => "video",
                Some("audio") => "audio",
                Some(_) => "document",
            });
        }
        match () {
            () if given("location") => Cow::Borrowed("location"),
            () if given("vCards") => Cow::Borrowed("contacts"),
            () => Cow::Borrowed("text"),
        }
    }

    /// What it says, in all its copies; other members name people in one spelling or another, or
    /// where a copy of a file lies.
    pub(super) fn content(&self) -> [Option<Json<'a>>; 6] {
        let own = |name| self.payload.get(name);
        let file = |name| own("media").and_then(|media| media.get(name));
        let [mimetype, filename] = ["mimetype", "filename"].map(file);
        [own("body"), own("location"), own("vCards"), own("poll"), mimetype, filename]
    }
}

/// An id such as `false_15550001111@c.us_3EB0`, taken apart.
#[derive(Debug, Default, PartialEq, Eq)]
struct Parts {
    is_own: bool,
    chat: Option<String>,
    id: Option<String>,
}

impl Parts {
    /// Takes an id apart; where it comes in parts, and not as a whole too, those count.
    fn read(id: Json<'_>) -> Option<Self> {
        let Self { is_own, chat, id: bare } = Self::of(&serialized(id)?);
        let is_own = id.get("fromMe").filter(|own| !own.is_null()).map_or(is_own, gateway::is_yes);
        let remote = || {
            let remote = id.get("remote")?;
            remote.text().or_else(|| remote.get("_serialized")?.text()).map(Cow::into_owned)
        };
        Some(Self { is_own, chat: chat.or_else(remote).filter(|chat| !chat.is_empty()), id: bare })
    }

    fn of(text: &str) -> Self {
        let (is_own, rest) = match text.split_once('_') {
            Some(("true", rest)) => (true, rest),
            Some(("false", rest)) => (false, rest),
            _ => (false, text),
        };
        let (chat, id) = match rest.split_once('_') {
            Some((chat, id)) if chat.contains('@') => (Some(chat.to_owned()), id),
            _ => (None, rest),
        };
        // In groups a member's address stands behind it.
        let id = match id.rsplit_once('_') {
            Some((id, who)) if who.contains('@') && !id.is_empty() => id,
            _ => id,
        };
        Self { is_own, chat, id: (!id.trim().is_empty()).then(|| id.to_owned()) }
    }
}

/// The bare id of a message that another member names.
pub(super) fn bare(id: Json<'_>) -> Option<String> {
    Parts::of(&serialized(id)?).id
}

/// An id as text: some engines give its parts in an object.
fn serialized(id: Json<'_>) -> Option<Cow<'_, str>> {
    let of = |name| id.get(name).and_then(Json::text);
    id.text().or_else(|| of("_serialized")).or_else(|| of("id")).filter(|id| !id.is_empty())
}

fn is_empty(value: Json<'_>) -> bool {
    value.is_null() || value.is_array() && value.items().next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_found_within_what_is_around_it() {
        let of = |text| {
            let Parts { is_own, chat, id } = Parts::of(text);
            (is_own, chat.unwrap_or_default(), id.unwrap_or_default())
        };
        let parts = |is_own, chat: &str, id: &str| (is_own, chat.to_owned(), id.to_owned());
        assert_eq!(of("false_1@c.us_3EB0"), parts(false, "1@c.us", "3EB0"));
        assert_eq!(of("true_9@lid_3EB0"), parts(true, "9@lid", "3EB0"));
        assert_eq!(of("true_5-6@g.us_3EB0_1@c.us"), parts(true, "5-6@g.us", "3EB0"));
        assert_eq!(of("false_status@broadcast_A_9@lid"), parts(false, "status@broadcast", "A"));
        assert_eq!(of("true_1@c.us_3EB0_out"), parts(true, "1@c.us", "3EB0_out"));
        assert_eq!(of("3EB0"), parts(false, "", "3EB0"));
        assert_eq!(of("true_3EB0"), parts(true, "", "3EB0"));
        assert_eq!(of("a_b"), parts(false, "", "a_b"));
        assert_eq!(of("false_1@c.us_"), parts(false, "1@c.us", ""));
    }
}
