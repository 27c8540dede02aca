//! What makes an element of Evolution API's an event.
//!
//! The table is in `docs/schemes/evolution.md`. The instance is in every key, for one address may
//! serve several.

use std::borrow::Cow;

use jiff::Timestamp;

use crate::element::{Json, Object};
use crate::event::{Key, Kind, Lane, Priority};

use super::super::cut::{Cut, Cuts, Reason};
use super::super::identity::Identity;
use super::super::place::Place;
use super::super::{envelope, gateway, instant};
use super::message::Message;

/// What is known of an element from what is around it.
struct Envelope<'a> {
    name: String,
    family: Family,
    instance: Cow<'a, str>,
    /// Equal bytes are the same event: the envelope has a time. It is never taken for the sender's
    /// own, for it is a local one that says it is UTC.
    timed: bool,
}

/// What an event is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    Message,
    History,
    Status,
    Edited,
    Deleted,
    Sent,
    Call,
    Connection,
    Code,
    Other,
}

impl Family {
    fn of(name: &str) -> Self {
        match name {
            "messages.upsert" => Self::Message,
            "messages.set" => Self::History,
            "messages.update" => Self::Status,
            "messages.edited" => Self::Edited,
            "messages.delete" => Self::Deleted,
            "send.message" => Self::Sent,
            "call" => Self::Call,
            "connection.update" => Self::Connection,
            "qrcode.updated" => Self::Code,
            _ => Self::Other,
        }
    }

    /// Whether there is no event without data.
    fn is_of_message(self) -> bool {
        !matches!(self, Self::Call | Self::Connection | Self::Code | Self::Other)
    }
}

/// Finds the elements of a request.
pub(super) fn find<'a>(root: Json<'a>, cuts: &mut Cuts<'a>) -> Result<(), Reason> {
    let Some(object) = root.object() else { return Ok(()) };
    let Some(name) = object.text("event") else { return Ok(()) };
    let name = envelope::dotted(&name);
    let about = Envelope {
        family: Family::of(&name),
        name,
        instance: object.text("instance").unwrap_or_default(),
        timed: object.text("date_time").is_some(),
    };
    envelope::elements(&object, "data", |place, element| cuts.push(about.cut(place, element)))?;
    if cuts.len() == 0 && !about.family.is_of_message() {
        let identity = about.hashed(about.kind(None));
        cuts.push(Cut::alone(Place::default(), root, identity))?;
    }
    Ok(())
}

impl Envelope<'_> {
    fn cut<'a>(&self, place: Place<'a>, element: Json<'a>) -> Cut<'a> {
        let Some(object) = element.object() else {
            let identity = if self.family.is_of_message() {
                Identity::unreadable("element is not an object")
            } else {
                self.hashed(self.kind(None))
            };
            return Cut::alone(place, element, identity);
        };
        let message = Message::of(&object);
        let identity = self.identify(&object, &message);
        let has_content = matches!(self.family, Family::Message | Family::History | Family::Sent);
        let content = message.content().filter(|_| has_content).unwrap_or(element);
        Cut { content, sent_at: sent_at(&object), ..Cut::alone(place, element, identity) }
    }

    fn identify(&self, element: &Object<'_>, message: &Message<'_, '_>) -> Identity {
        let id = message.id();
        let key = |prefix| self.key(&[Some(prefix), id.as_deref()]);
        match self.family {
            Family::Message => {
                let own = message.is_own();
                let side = if own { "echo" } else { "message" };
                Identity {
                    key: key(side),
                    lane: self.lane(message.conversation()),
                    priority: if own { Priority::Normal } else { Priority::Urgent },
                    ..self.hashed(Kind::of(side, message.sort().as_deref()))
                }
            }
            Family::History => Identity {
                key: key("history"),
                priority: Priority::History,
                ..self.hashed(Kind::of("history", Some("message")))
            },
            Family::Status => self.update(element, message),
            Family::Edited => Identity {
                key: self.key(&[
                    Some("edit"),
                    id.as_deref(),
                    element.text("timestampMs").as_deref(),
                ]),
                lane: self.lane(message.conversation()),
                ..self.hashed(Kind::of("update", Some("edit")))
            },
            Family::Deleted => Identity {
                key: key("delete"),
                lane: self.lane(message.conversation()),
                ..self.hashed(Kind::of("", Some("delete")))
            },
            Family::Sent => {
                Identity { key: key("sent"), ..self.hashed(Kind::of("sent", Some("accepted"))) }
            }
            Family::Call => {
                let status = element.text("status");
                let who = gateway::conversation(element.text("from"), [element.text("chatId")]);
                Identity {
                    key: self.key(&[
                        Some("call"),
                        element.text("id").as_deref(),
                        status.as_deref(),
                    ]),
                    lane: self.lane(who),
                    priority: Priority::Urgent,
                    ..self.hashed(self.kind(status.as_deref()))
                }
            }
            Family::Connection => self.hashed(self.kind(element.text("state").as_deref())),
            Family::Code | Family::Other => self.hashed(self.kind(None)),
        }
    }

    /// What became of a message: how far it got, or what else changed. A vote in a poll comes with a
    /// status, too, which is the same for each vote.
    fn update(&self, element: &Object<'_>, message: &Message<'_, '_>) -> Identity {
        let inner = element.get("update").and_then(Json::object);
        let get = |name: &str| {
            element.get(name).or_else(|| inner.as_ref().and_then(|inner| inner.get(name)))
        };
        if get("pollUpdates").is_some_and(|votes| votes.items().next().is_some()) {
            return self.hashed(Kind::of("update", Some("poll")));
        }
        let Some(word) = get("status").and_then(Json::text).filter(|word| !word.is_empty()) else {
            let edit = ["message", "editedMessage"]
                .into_iter()
                .any(|name| get(name).is_some_and(Json::is_object));
            let lane = if edit { self.lane(message.conversation()) } else { None };
            let word = if edit { "edit" } else { "other" };
            return Identity { lane, ..self.hashed(Kind::of("update", Some(word))) };
        };
        let id = message.id();
        let participant = message.participant();
        let parts = [Some("status"), id.as_deref(), Some(&*word), participant.as_deref()];
        let given = if participant.is_some() { &parts[..] } else { &parts[..3] };
        Identity { key: self.key(given), ..self.hashed(Kind::of("status", Some(&word))) }
    }

    /// The kind of what isn't about a message, which may have a word of its own.
    fn kind(&self, word: Option<&str>) -> Kind {
        match self.family {
            Family::Call => Kind::of("call", word),
            Family::Connection => Kind::of("session", word),
            Family::Code => Kind::of("session", Some("qrcode")),
            _ => Kind::of("event", Some(&self.name)),
        }
    }

    /// An event that only a hash tells apart, unless it is given a key.
    fn hashed(&self, kind: Kind) -> Identity {
        Identity { recurs: !self.timed, ..Identity::hashed(kind) }
    }

    /// The key of these parts, the first of which is what it is the key of, if none is missing.
    fn key(&self, parts: &[Option<&str>]) -> Option<Key> {
        let parts = parts.iter().copied().collect::<Option<Vec<_>>>()?;
        let (prefix, rest) = parts.split_first()?;
        Some(Key::of(&[&[*prefix, &*self.instance], rest].concat()))
    }

    fn lane(&self, who: Option<String>) -> Option<Lane> {
        who.map(|who| Lane::of(&[&self.instance, &who]))
    }
}

/// The time that an element gives.
fn sent_at(element: &Object<'_>) -> Option<Timestamp> {
    let names = ["messageTimestamp", "timestampMs", "date"];
    names.into_iter().find_map(|name| instant::of(element.get(name)?))
}
