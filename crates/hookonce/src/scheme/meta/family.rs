//! What the arrays of a change hold, and what makes each of their elements an event of its own.
//!
//! The table is in `docs/schemes/meta.md`. A kind has the sender's word in lower case, a key has it
//! literally.

use std::borrow::Cow;

use jiff::Timestamp;

use crate::element::{Json, Object};
use crate::event::{Key, Kind, Lane, Priority};

use super::super::identity::Identity;
use super::contacts::Contacts;

/// What is known of an element from what is around it.
#[derive(Clone)]
pub(super) struct Context<'a> {
    /// The id of the business's phone number, else of its account; empty if neither is given.
    pub(super) number: Cow<'a, str>,
    /// The business's phone number as it is shown.
    pub(super) display: Option<Cow<'a, str>>,
    /// The change's field.
    pub(super) field: Option<Cow<'a, str>>,
    /// When the notification was sent.
    pub(super) time: Option<Timestamp>,
    /// It is a copy for an app that doesn't own the conversation.
    pub(super) standby: bool,
}

/// What an array holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    Message,
    HistoryMessage,
    HistoryMedia,
    HistoryError,
    Status,
    Call,
    Echo,
    Automatic,
    Preference,
    Action,
    Group,
    ContactSync,
    UserIdUpdate,
    Error,
}

impl Family {
    /// What the array of this name holds, with the name; `None` if it isn't one of elements.
    pub(super) fn of(name: &str, context: &Context<'_>) -> Option<(&'static str, Self)> {
        let field = context.field.as_deref();
        Some(match name {
            // The media of a message that came as a placeholder, under the same id.
            "messages" if field == Some("history") && !context.standby => {
                ("messages", Self::HistoryMedia)
            }
            "messages" => ("messages", Self::Message),
            "statuses" => ("statuses", Self::Status),
            "calls" => ("calls", Self::Call),
            "message_echoes" => ("message_echoes", Self::Echo),
            "automatic_events" => ("automatic_events", Self::Automatic),
            "user_preferences" => ("user_preferences", Self::Preference),
            "user_actions" => ("user_actions", Self::Action),
            "groups" => ("groups", Self::Group),
            "state_sync" => ("state_sync", Self::ContactSync),
            "user_id_update" => ("user_id_update", Self::UserIdUpdate),
            // An alert about a flow lists under this name what it counted: parts of one event.
            "errors" if field != Some("flows") => ("errors", Self::Error),
            _ => return None,
        })
    }

    /// What makes `element` an event.
    pub(super) fn identify(
        self,
        element: &Object<'_>,
        context: &Context<'_>,
        contacts: &Contacts<'_>,
    ) -> Identity {
        let number = &*context.number;
        let text = |name| element.text(name);
        let hashed = |prefix, word| Identity::hashed(context.kind(prefix, text(word).as_deref()));
        let by_id = |prefix| text("id").map(|id| context.key(&[prefix, number, &id]));
        match self {
            Self::Message => Identity {
                key: by_id("message"),
                lane: context.lane(message_who(element, contacts)),
                priority: context.urgent(),
                ..hashed("message", "type")
            },
            Self::HistoryMedia => Identity {
                key: by_id("history_media"),
                priority: Priority::History,
                ..Identity::hashed(Kind::of("history", Some("media")))
            },
            Self::HistoryMessage => history_message(element, context),
            Self::HistoryError => Identity {
                priority: Priority::History,
                ..Identity::hashed(Kind::of("history", Some("error")))
            },
            Self::Status => status(element, context),
            Self::Call => call(element, context, contacts),
            Self::Echo => echo(element, context, contacts),
            // Its id is that of the message in which the event was found: the name must be in the key.
            Self::Automatic => match (text("id"), text("event_name")) {
                (Some(id), Some(name)) => Identity {
                    key: Some(context.key(&["automatic", number, &id, &name])),
                    ..hashed("automatic", "event_name")
                },
                _ => Identity::unreadable("automatic event without `id` or `event_name`"),
            },
            Self::Preference => preference(element, context),
            // Only clicks have an id; other actions may come.
            Self::Action => Identity {
                key: click_id(element).map(|id| context.key(&["user_action", number, &id])),
                ..hashed("user_action", "action_type")
            },
            // A group's `request_id` is that of a call the business made, and may cover several changes.
            Self::Group => hashed("group", "type"),
            Self::ContactSync => hashed("contact_sync", "action"),
            Self::UserIdUpdate => Identity::hashed(context.whole_kind("user_id_update")),
            Self::Error => Identity::hashed(context.whole_kind("error")),
        }
    }
}

impl Context<'_> {
    /// The key of these parts. A copy on standby must not pass for the original, nor the other way
    /// round: an app may get both.
    fn key(&self, parts: &[&str]) -> Key {
        if self.standby { Key::of(&[&["standby"], parts].concat()) } else { Key::of(parts) }
    }

    /// The kind that is `prefix` and the sender's word.
    fn kind(&self, prefix: &str, word: Option<&str>) -> Kind {
        if self.standby {
            Kind::of(&["standby.", prefix].concat(), word)
        } else {
            Kind::of(prefix, word)
        }
    }

    /// The kind of elements that have no word of their own.
    fn whole_kind(&self, name: &str) -> Kind {
        Kind::of(if self.standby { "standby" } else { "" }, Some(name))
    }

    /// The conversation with `who`, if that is anybody; nobody has a conversation on standby.
    fn lane(&self, who: Option<Cow<'_, str>>) -> Option<Lane> {
        who.filter(|_| !self.standby).map(|who| Lane::of(&[&self.number, &who]))
    }

    /// The priority where somebody waits for an answer, unless another app is to give it.
    fn urgent(&self) -> Priority {
        if self.standby { Priority::Normal } else { Priority::Urgent }
    }
}

/// Who wrote a message: the group, else the user, else the phone.
fn message_who<'e>(element: &'e Object<'_>, contacts: &'e Contacts<'_>) -> Option<Cow<'e, str>> {
    element
        .text("group_id")
        .or_else(|| person(element.text("from_user_id"), element.text("from"), contacts))
}

/// A person's user id, else the user id of the contact with the same phone number, else the phone
/// number: a user who hides the number later keeps the conversation.
fn person<'e>(
    user_id: Option<Cow<'e, str>>,
    phone: Option<Cow<'e, str>>,
    contacts: &'e Contacts<'_>,
) -> Option<Cow<'e, str>> {
    let known = || contacts.user_id_of(phone.as_deref()?).map(Cow::Borrowed);
    user_id.or_else(known).or(phone)
}

/// A message of the time before the business came to the API. Its conversation is over, so that it
/// has no lane, and its own type is of no use to those who handle live messages.
fn history_message(element: &Object<'_>, context: &Context<'_>) -> Identity {
    let kind = element.text("type").unwrap_or(Cow::Borrowed("unknown"));
    // A placeholder and what it stands for have one id, told apart by their type.
    let parts = |id: Cow<'_, str>| context.key(&["history", &context.number, &id, &kind]);
    Identity {
        key: element.text("id").map(parts),
        priority: Priority::History,
        ..Identity::hashed(Kind::of("history", Some("message")))
    }
}

/// What became of a message, or of a call, that the business made. The same id comes once for each
/// status; the time is not in the key, so that a status told twice is one event.
fn status(element: &Object<'_>, context: &Context<'_>) -> Identity {
    let (Some(id), Some(word)) = (element.text("id"), status_word(element)) else {
        return Identity::unreadable("status without `id` or `status`");
    };
    let number = &*context.number;
    if element.text("type").as_deref() == Some("call") {
        return Identity {
            key: Some(context.key(&["call_status", number, &id, &word])),
            ..Identity::hashed(context.kind("call_status", Some(&word)))
        };
    }
    // A group's members each read a message for themselves. Meta has both spellings.
    let participant = [
        "recipient_participant_id",
        "participant_recipient_id",
        "recipient_participant_user_id",
        "participant_recipient_user_id",
    ]
    .into_iter()
    .find_map(|name| element.text(name));
    let mut parts = vec!["status", number, &id, &word];
    parts.extend(participant.as_deref());
    Identity {
        key: Some(context.key(&parts)),
        ..Identity::hashed(context.kind("status", Some(&word)))
    }
}

/// The status itself. Some of Meta's examples have it in an array.
fn status_word<'a>(element: &Object<'a>) -> Option<Cow<'a, str>> {
    let status = element.get("status")?;
    if !status.is_array() {
        return element.text("status");
    }
    let words: Vec<_> = status.items().filter_map(Json::text).collect();
    (!words.is_empty()).then(|| Cow::Owned(words.join(",")))
}

/// One event of a call: connecting and ending have the same id.
fn call(element: &Object<'_>, context: &Context<'_>, contacts: &Contacts<'_>) -> Identity {
    let (Some(id), Some(event)) = (element.text("id"), element.text("event")) else {
        return Identity::unreadable("call without `id` or `event`");
    };
    let who = if business_calls(element, context) {
        person(element.text("to_user_id"), element.text("to"), contacts)
    } else {
        person(element.text("from_user_id"), element.text("from"), contacts)
    };
    Identity {
        key: Some(context.key(&["call", &context.number, &id, &event])),
        lane: context.lane(who),
        priority: context.urgent(),
        ..Identity::hashed(context.kind("call", Some(&event)))
    }
}

/// Whether the business started the call: it says so, or it comes from the business's own number.
fn business_calls(element: &Object<'_>, context: &Context<'_>) -> bool {
    let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
    match (element.text("direction"), element.text("from"), &context.display) {
        (Some(direction), ..) => direction.eq_ignore_ascii_case("BUSINESS_INITIATED"),
        (None, Some(from), Some(own)) => digits(&from) == digits(own),
        _ => false,
    }
}

/// A message that the business sent elsewhere. On standby the content is one level further down.
fn echo(element: &Object<'_>, context: &Context<'_>, contacts: &Contacts<'_>) -> Identity {
    let inner = element.get("message").and_then(Json::object);
    let text =
        |name| inner.as_ref().and_then(|inner| inner.text(name)).or_else(|| element.text(name));
    let who = text("group_id").or_else(|| person(text("to_user_id"), text("to"), contacts));
    Identity {
        key: element.text("id").map(|id| context.key(&["echo", &context.number, &id])),
        lane: context.lane(who),
        ..Identity::hashed(context.kind("echo", text("type").as_deref()))
    }
}

/// That a user wants no more marketing, or wants it again. It has no id, and must not be lost: the
/// same wish at another time is another event.
fn preference(element: &Object<'_>, context: &Context<'_>) -> Identity {
    let text = |name| element.text(name);
    // Of the element alone, so that a key never depends on what else was sent along.
    let who = text("user_id").or_else(|| text("wa_id"));
    let parts = (who, text("category"), text("value"), text("timestamp"));
    let (Some(who), Some(category), Some(value), Some(timestamp)) = parts else {
        return Identity::unreadable("user preference without user, category, value or timestamp");
    };
    let parts = ["user_preference", &context.number, &who, &category, &value, &timestamp];
    Identity {
        key: Some(context.key(&parts)),
        ..Identity::hashed(context.kind("user_preference", Some(&category)))
    }
}

/// The id of a click on a link in a marketing message.
fn click_id<'a>(element: &Object<'a>) -> Option<Cow<'a, str>> {
    let data = element.get("marketing_messages_link_click_data")?.object()?;
    data.text("click_id")
}
