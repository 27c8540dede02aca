//! What makes a request of WAHA's an event.
//!
//! The table is in `docs/schemes/waha.md`. The session is in every key, for one address may serve
//! several; the event's name is in none where several names announce one thing.

use std::borrow::Cow;

use jiff::Timestamp;
use sha2::{Digest as _, Sha256};

use crate::element::{Json, Object};
use crate::event::{Key, Kind, Lane, Priority};

use super::super::cut::{self, Cut, Cuts, Reason};
use super::super::identity::Identity;
use super::super::place::Place;
use super::super::{envelope, gateway, instant};
use super::message::{self, Message};

/// What is known of an event from what is around it.
struct Envelope<'a> {
    name: Cow<'a, str>,
    family: Family,
    session: Cow<'a, str>,
    /// The id of the event itself, which is not that of what it is about.
    id: Option<Cow<'a, str>>,
    time: Option<Timestamp>,
}

/// What an event is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    Message,
    Status,
    Reaction,
    Edited,
    Revoked,
    Call,
    Session,
    Other,
}

impl Family {
    fn of(name: &str) -> Self {
        match &*envelope::dotted(name) {
            "message" | "message.any" => Self::Message,
            "message.ack" | "message.ack.group" => Self::Status,
            "message.reaction" => Self::Reaction,
            "message.edited" => Self::Edited,
            "message.revoked" => Self::Revoked,
            "session.status" => Self::Session,
            name if name.starts_with("call.") => Self::Call,
            _ => Self::Other,
        }
    }

    /// Whether there is no event without a payload.
    fn is_of_message(self) -> bool {
        !matches!(self, Self::Call | Self::Session | Self::Other)
    }
}

/// Finds the event of a request.
pub(super) fn find<'a>(root: Json<'a>, cuts: &mut Cuts<'a>) -> Result<(), Reason> {
    let Some(object) = root.object() else { return Ok(()) };
    let Some(name) = object.text("event") else { return Ok(()) };
    // Of several payloads, which nobody sends yet, each would have the one id of the event.
    let is_alone = !object.get("payload").is_some_and(Json::is_array);
    let about = Envelope {
        family: Family::of(&name),
        name,
        session: object.text("session").unwrap_or_default(),
        id: object.text("id").filter(|_| is_alone),
        time: object.get("timestamp").and_then(instant::of),
    };
    envelope::elements(&object, "payload", |place, element| cuts.push(about.cut(place, element)))?;
    if cuts.len() == 0 && !about.family.is_of_message() {
        cuts.push(about.cut_of(Place::default(), root, None))?;
    }
    Ok(())
}

impl<'a> Envelope<'a> {
    fn cut(&self, place: Place<'a>, element: Json<'a>) -> Cut<'a> {
        let payload = element.object();
        if payload.is_none() && (self.family.is_of_message() || self.family == Family::Call) {
            let identity = Identity::unreadable("payload is not an object");
            return Cut { sent_at: self.time, ..Cut::alone(place, element, identity) };
        }
        self.cut_of(place, element, payload.as_ref())
    }

    fn cut_of(&self, place: Place<'a>, element: Json<'a>, payload: Option<&Object<'a>>) -> Cut<'a> {
        let mut digest = None;
        let identity = match payload {
            None => self.bare(),
            Some(payload) => {
                let message = Message::of(payload);
                digest = self.digest(payload, &message);
                self.identify(payload, &message)
            }
        };
        let time = payload.and_then(|payload| payload.get("timestamp"));
        let sent_at = time.and_then(instant::of).or(self.time);
        Cut { digest, sent_at, ..Cut::alone(place, element, identity) }
    }

    /// The digest of what copies have in common, where they may differ in the rest: one chat or
    /// person has several addresses.
    fn digest(&self, payload: &Object<'a>, message: &Message<'_, 'a>) -> Option<[u8; 32]> {
        match self.family {
            Family::Message | Family::Edited => Some(cut::digest(message.content())),
            Family::Status => Some(cut::digest([payload.get("ack"), payload.get("ackName")])),
            Family::Reaction => {
                let text = payload.get("reaction").and_then(|reaction| reaction.get("text"));
                Some(cut::digest([text]))
            }
            // There is nothing to say of it but that it is gone.
            Family::Revoked => Some(cut::digest([])),
            Family::Call | Family::Session | Family::Other => None,
        }
    }

    fn identify(&self, payload: &Object<'a>, message: &Message<'_, 'a>) -> Identity {
        let side = if message.is_own { "echo" } else { "message" };
        match self.family {
            Family::Message => Identity {
                key: self.key_of(side, &[message.id.as_deref()]),
                lane: self.lane(message.conversation()),
                priority: if message.is_own { Priority::Normal } else { Priority::Urgent },
                ..self.event(Kind::of(side, Some(&message.sort())))
            },
            Family::Status => self.status(payload, message),
            Family::Reaction => {
                let text =
                    payload.get("reaction").and_then(|reaction| reaction.get("text")?.text());
                let prefix = if message.is_own { "echo" } else { "" };
                Identity {
                    // One person's reactions to a message may have one id.
                    key: self.key_of("reaction", &[message.id.as_deref(), text.as_deref()]),
                    lane: self.lane(message.conversation()),
                    ..self.event(Kind::of(prefix, Some("reaction")))
                }
                .or_unreadable(message.lacks())
            }
            Family::Edited => Identity {
                key: self.edit_of(payload, message),
                lane: self.lane(message.conversation()),
                ..self.event(Kind::of(side, Some("edited")))
            },
            Family::Revoked => self.revoked(payload),
            Family::Call => self.call(payload),
            Family::Session => self.event(Kind::of("session", payload.text("status").as_deref())),
            Family::Other => self.bare(),
        }
    }

    /// The key of an edit. In some engines edits have the id of the message, so that the new text is
    /// in it, too.
    fn edit_of(&self, payload: &Object<'a>, message: &Message<'_, 'a>) -> Option<Key> {
        let edited = payload.get("editedMessageId").and_then(message::bare);
        let id = edited.or_else(|| message.id.clone());
        let body = payload.get("body").filter(|body| !body.is_null());
        let hash = body.map(|body| hex::encode(Sha256::digest(body.raw())));
        self.key_of("edit", &[id.as_deref(), hash.as_deref()])
    }

    /// How far a message of the business's got. In groups it is told for each member.
    fn status(&self, payload: &Object<'a>, message: &Message<'_, 'a>) -> Identity {
        let (number, name) = (payload.text("ack"), payload.text("ackName"));
        let told = number.as_deref().or_else(|| name.as_deref().map(gateway::ack_of));
        let word = name.as_deref().or_else(|| number.as_deref().map(gateway::ack_word));
        let parts = [message.id.as_deref(), told];
        let participant = message.participant();
        let key = match &participant {
            Some(who) => self.key_of("status", &[parts[0], parts[1], Some(who)]),
            None => self.key_of("status", &parts),
        };
        let identity = Identity { key, ..self.event(Kind::of("status", word)) };
        identity.or_unreadable(message.lacks())
    }

    /// That a message was taken back, which happens once.
    fn revoked(&self, payload: &Object<'a>) -> Identity {
        let [after, before] =
            ["after", "before"].map(|name| payload.get(name).and_then(Json::object));
        let revoked = [
            payload.get("revokedMessageId"),
            after.as_ref().and_then(|after| after.get("id")),
            before.as_ref().and_then(|before| before.get("id")),
            payload.get("id"),
        ];
        let id = revoked.into_iter().flatten().find_map(message::bare);
        let said = after.as_ref().or(before.as_ref()).unwrap_or(payload);
        let message = Message::of(said);
        let side = if message.is_own { "echo" } else { "message" };
        let kind = Kind::of(side, Some("revoked"));
        Identity {
            key: self.key_of("revoked", &[id.as_deref()]),
            lane: self.lane(message.conversation()),
            ..self.event(kind)
        }
        .or_unreadable(gateway::NO_ID)
    }

    fn call(&self, payload: &Object<'a>) -> Identity {
        let name = envelope::dotted(&self.name);
        let word = name.strip_prefix("call.").unwrap_or_default();
        let who = gateway::conversation(payload.text("from"), [payload.text("chatId")]);
        Identity {
            key: self.key_of("call", &[payload.text("id").as_deref(), Some(word)]),
            lane: self.lane(who),
            priority: Priority::Urgent,
            ..self.event(Kind::of("call", Some(word)))
        }
        .or_unreadable(gateway::NO_ID)
    }

    /// What is known by the envelope alone.
    fn bare(&self) -> Identity {
        match self.family {
            Family::Session => self.event(Kind::of("session", None)),
            Family::Call => self.event(Kind::of("", Some(&envelope::dotted(&self.name)))),
            _ => self.event(Kind::of("event", Some(&envelope::dotted(&self.name)))),
        }
    }

    /// An event of this kind, known by its own id, if it has one.
    fn event(&self, kind: Kind) -> Identity {
        let recurs = self.time.is_none();
        Identity { key: self.own_key(), recurs, ..Identity::hashed(kind) }
    }

    fn own_key(&self) -> Option<Key> {
        self.id.as_ref().map(|id| Key::of(&["event", &self.session, id]))
    }

    /// The key of these parts, if none is missing; else the event's own.
    fn key_of(&self, prefix: &str, parts: &[Option<&str>]) -> Option<Key> {
        let Some(parts) = parts.iter().copied().collect::<Option<Vec<_>>>() else {
            return self.own_key();
        };
        Some(Key::of(&[&[prefix, &self.session], &parts[..]].concat()))
    }

    fn lane(&self, who: Option<String>) -> Option<Lane> {
        who.map(|who| Lane::of(&[&self.session, &who]))
    }
}
