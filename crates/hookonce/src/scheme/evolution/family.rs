//! What makes an element of Evolution API's an event.
//!
//! The table is in `docs/schemes/evolution.md`. The instance is in every key, for one address may
//! serve several.

use std::borrow::Cow;

use jiff::Timestamp;
use sha2::{Digest as _, Sha256};

use crate::element::{Json, Member, Object};
use crate::event::{Key, Kind, Lane, Priority};

use super::super::cut::{self, Cut, Cuts, Reason};
use super::super::gateway::Edit;
use super::super::identity::Identity;
use super::super::place::{Place, Step};
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
    envelope::elements(&object, "data", |place, element| about.spread(place, element, cuts))?;
    if cuts.len() == 0 && !about.family.is_of_message() {
        let identity = about.hashed(about.kind(None));
        let same = object.members().iter().filter(|member| !member.is("destination"));
        let digest = Some(cut::digest(same.map(|member| Some(member.value))));
        cuts.push(Cut { digest, ..Cut::alone(Place::default(), root, identity) })?;
    }
    Ok(())
}

impl Envelope<'_> {
    /// Keeps an element, or each of those that it holds in a list.
    fn spread<'a>(
        &self,
        place: Place<'a>,
        element: Json<'a>,
        cuts: &mut Cuts<'a>,
    ) -> Result<(), Reason> {
        let object = element.object().filter(|_| self.family.is_of_message());
        let list = object.as_ref().filter(|object| Message::of(object).id().is_none());
        let list = list.and_then(|object| {
            let names = ["messages", "keys"].into_iter();
            // An empty one holds nothing, so that the element is what there is.
            let is_list = |member: &&Member<'a>| member.value.items().next().is_some();
            names
                .filter_map(|name| object.member(name).filter(is_list).map(|to| (to, name)))
                .map(|(to, name)| Step::to(object, to, name))
                .next()
        });
        let Some(step) = list else { return cuts.push(self.cut(place, element)) };
        let place = place.within(&step, |_| false);
        for (index, item) in step.to.value.items().enumerate() {
            cuts.push(self.cut(place.item(index), item))?;
        }
        Ok(())
    }

    fn cut<'a>(&self, place: Place<'a>, element: Json<'a>) -> Cut<'a> {
        let Some(object) = element.object() else {
            let id = element.text().filter(|_| self.family == Family::Deleted);
            let identity = match id {
                Some(id) if id.trim().is_empty() => Identity::unreadable(gateway::NO_ID),
                Some(id) => Identity {
                    key: self.key(&[Some("delete"), Some(&id)]),
                    ..self.hashed(Kind::of("", Some("delete")))
                },
                None if self.family.is_of_message() || self.family == Family::Call => {
                    Identity::unreadable("element is not an object")
                }
                None => self.hashed(self.kind(None)),
            };
            return Cut::alone(place, element, identity);
        };
        let message = Message::of(&object);
        if let Some((to, identity)) = self.edit(element, &object, &message) {
            return Cut {
                content: to,
                sent_at: sent_at(&object),
                ..Cut::alone(place, element, identity)
            };
        }
        let identity = self.identify(&object, &message);
        let has_content = matches!(self.family, Family::Message | Family::History | Family::Sent);
        let content = message.content().filter(|_| has_content).unwrap_or(element);
        Cut { content, sent_at: sent_at(&object), ..Cut::alone(place, element, identity) }
    }

    /// What a message was changed to, and what that event is: the same under each of its names.
    fn edit<'a>(
        &self,
        element: Json<'a>,
        object: &Object<'a>,
        message: &Message<'_, 'a>,
    ) -> Option<(Json<'a>, Identity)> {
        let inner = object.get("update").filter(|update| update.is_object());
        let content = |of: Option<Json<'a>>| of?.get("message").filter(|of| of.is_object());
        let told = [content(Some(element)), content(inner), Some(element), inner];
        let edited = || told.into_iter().flatten().find_map(gateway::edited);
        let edit = match self.family {
            Family::Message => content(Some(element)).and_then(gateway::edited)?,
            Family::Edited => edited().unwrap_or(Edit { to: told[0].unwrap_or(element), id: None }),
            Family::Status => match edited() {
                Some(edit) => edit,
                // With a status it is one of a message that comes along.
                None if status(object).is_some() || has_votes(object) => return None,
                None => {
                    let to = told.into_iter().take(2).flatten().next()?;
                    Edit { to: gateway::unwrapped(to), id: None }
                }
            },
            _ => return None,
        };
        let id = edit.id.or_else(|| message.id());
        if id.is_none() && self.family == Family::Message {
            return None;
        }
        // The business's own edits are no reason to do anything either.
        let prefix = if message.is_own() { "echo" } else { "update" };
        let hash = hex::encode(Sha256::digest(edit.to.raw()));
        let identity = Identity {
            key: self.key(&[Some("update"), id.as_deref(), Some(&hash)]),
            lane: self.lane(message.conversation()),
            ..self.hashed(Kind::of(prefix, Some("edit")))
        };
        Some((edit.to, identity.or_unreadable(gateway::NO_ID)))
    }

    fn identify(&self, element: &Object<'_>, message: &Message<'_, '_>) -> Identity {
        let id = message.id();
        let key = |prefix| self.key(&[Some(prefix), id.as_deref()]);
        match self.family {
            Family::Message => self.message(element, message),
            Family::History => Identity {
                key: key("history"),
                priority: Priority::History,
                ..self.hashed(Kind::of("history", Some("message")))
            },
            Family::Status => self.update(element, message),
            Family::Deleted => {
                let lane = self.lane(message.conversation());
                let identity = self.hashed(Kind::of("", Some("delete")));
                Identity { key: key("delete"), lane, ..identity }.or_unreadable(gateway::NO_ID)
            }
            Family::Sent => {
                Identity { key: key("sent"), ..self.hashed(Kind::of("sent", Some("accepted"))) }
            }
            Family::Call => self.call(element),
            Family::Connection => self.hashed(self.kind(element.text("state").as_deref())),
            Family::Edited | Family::Code | Family::Other => self.hashed(self.kind(None)),
        }
    }

    /// A message of either side, or what stands for one that isn't there.
    fn message(&self, element: &Object<'_>, message: &Message<'_, '_>) -> Identity {
        if message.has_broken_key() {
            return Identity::unreadable("key is not an object");
        }
        let (id, lane) = (message.id(), self.lane(message.conversation()));
        if message.is_placeholder() {
            let stub = element.text("messageStubType");
            let number = stub.as_deref().unwrap_or_default();
            return Identity {
                key: self.key(&[Some("stub"), id.as_deref(), Some(number)]),
                lane,
                ..self.hashed(Kind::of("stub", stub.as_deref()))
            };
        }
        let (side, priority) = if message.is_own() {
            ("echo", Priority::Normal)
        } else {
            ("message", Priority::Urgent)
        };
        Identity {
            key: self.key(&[Some(side), id.as_deref()]),
            lane,
            priority,
            ..self.hashed(Kind::of(side, message.sort().as_deref()))
        }
    }

    /// What became of a message: how far it got, or what else changed. A vote in a poll comes with a
    /// status, too, which is the same for each vote.
    fn update(&self, element: &Object<'_>, message: &Message<'_, '_>) -> Identity {
        if has_votes(element) {
            return self.hashed(Kind::of("update", Some("poll")));
        }
        let Some(status) = status(element) else {
            return self.hashed(Kind::of("update", Some("other")));
        };
        let word = gateway::status_word(&status);
        let id = message.id();
        let participant = message.participant();
        let parts = [Some("status"), id.as_deref(), Some(&*word), participant.as_deref()];
        let given = if participant.is_some() { &parts[..] } else { &parts[..3] };
        let identity = self.hashed(Kind::of("status", Some(&word)));
        Identity { key: self.key(given), ..identity }.or_unreadable(gateway::NO_ID)
    }

    /// One state of a call.
    fn call(&self, element: &Object<'_>) -> Identity {
        let id = element.text("id").filter(|id| !id.trim().is_empty());
        let status = element.text("status").map(|status| status.to_lowercase());
        let who = gateway::conversation(element.text("from"), [element.text("chatId")]);
        let reason = if id.is_none() { gateway::NO_ID } else { gateway::NO_STATUS };
        let identity = Identity {
            key: self.key(&[Some("call"), id.as_deref(), status.as_deref()]),
            lane: self.lane(who),
            priority: Priority::Urgent,
            ..self.hashed(self.kind(status.as_deref()))
        };
        identity.or_unreadable(reason)
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

/// What an update says, in itself or one level further in.
fn told<'a>(element: &Object<'a>, name: &str) -> Option<Json<'a>> {
    element.get(name).or_else(|| element.get("update")?.get(name))
}

/// How far an update says that a message got.
fn status<'a>(element: &Object<'a>) -> Option<Cow<'a, str>> {
    told(element, "status").and_then(Json::text).filter(|word| !word.is_empty())
}

/// Whether an update is of a poll.
fn has_votes(element: &Object<'_>) -> bool {
    told(element, "pollUpdates").is_some_and(|votes| votes.items().next().is_some())
}

/// The time that an element gives.
fn sent_at(element: &Object<'_>) -> Option<Timestamp> {
    let names = ["messageTimestamp", "timestampMs", "date"];
    names.into_iter().find_map(|name| instant::of(element.get(name)?))
}
