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
use super::change::{Change, Telling};
use super::message::Message;

/// What is known of an element from what is around it.
struct Envelope<'a> {
    name: String,
    family: Family,
    instance: Cow<'a, str>,
    /// The address of the account itself.
    account: Option<Cow<'a, str>>,
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

/// Who did something to a message, and in which chat.
struct Side {
    is_own: bool,
    chat: Option<String>,
}

impl Side {
    /// As the message says.
    fn of(message: &Message<'_, '_>) -> Self {
        Self { is_own: message.is_own(), chat: message.conversation() }
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
        account: object.text("sender"),
        timed: object.text("date_time").is_some(),
    };
    let is_blank = object.get("data").is_none_or(envelope::is_blank);
    if !(is_blank && about.family.is_of_message()) {
        envelope::elements(&object, "data", |place, element| about.spread(place, element, cuts))?;
    }
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
        let Some(object) = object.filter(|object| Message::of(object).id().is_none()) else {
            return cuts.push(self.cut(place, element));
        };
        // An empty one holds nothing, so that the element is what there is.
        let is_list = |member: &&Member<'a>| member.value.items().next().is_some();
        let list = |name| Some((object.member(name).filter(is_list)?, name));
        let lists: Vec<_> = ["messages", "keys"].into_iter().filter_map(list).collect();
        if lists.is_empty() {
            return cuts.push(self.cut(place, element));
        }
        for (to, name) in &lists {
            let is_list =
                |member: &Member<'a>| lists.iter().any(|(to, _)| std::ptr::eq(*to, member));
            let place = place.within(&Step::to(&object, to, *name), is_list);
            for (index, item) in to.value.items().enumerate() {
                cuts.push(self.cut(place.item(index), item))?;
            }
        }
        Ok(())
    }

    fn cut<'a>(&self, place: Place<'a>, element: Json<'a>) -> Cut<'a> {
        let Some(object) = element.object() else {
            let id = element.text().filter(|_| self.family == Family::Deleted);
            let identity = match &id {
                Some(id) => self.deleted(Some(id).filter(|id| !id.trim().is_empty()), None),
                None if self.family.is_of_message() || self.family == Family::Call => {
                    Identity::unreadable("element is not an object")
                }
                None => self.hashed(self.kind(None)),
            };
            return Cut {
                digest: id.as_deref().map(digest),
                ..Cut::alone(place, element, identity)
            };
        };
        let message = Message::of(&object);
        let cut = match self.change(element, &object) {
            Some((Change::Edited(edit), side)) => {
                let content = edit.to;
                let identity = self.edited(edit, &message, side);
                Cut { content, ..Cut::alone(place, element, identity) }
            }
            Some((Change::Revoked(id), side)) => {
                let id = id.or_else(|| message.id());
                let identity = self.deleted(id.as_ref(), self.lane(side.chat));
                let digest = id.as_deref().map(digest);
                Cut { digest, ..Cut::alone(place, element, identity) }
            }
            None => {
                let identity = self.identify(&object, &message);
                let has_content =
                    matches!(self.family, Family::Message | Family::History | Family::Sent);
                let content = message.content().filter(|_| has_content).unwrap_or(element);
                // There is no more to a deletion than the id.
                let id = message.id().filter(|_| self.family == Family::Deleted);
                let digest = id.as_deref().map(digest);
                Cut { content, digest, ..Cut::alone(place, element, identity) }
            }
        };
        Cut { sent_at: sent_at(&object), ..cut }
    }

    /// What an element tells of a message that was there already, and who did that in which chat.
    fn change<'a>(&self, element: Json<'a>, object: &Object<'a>) -> Option<(Change<'a>, Side)> {
        let (telling, message) = (Telling::of(element, object), Message::of(object));
        let change = match self.family {
            Family::Message => telling.of_message().filter(|change| {
                matches!(change, Change::Edited(edit) if edit.id.is_some())
                    || message.id().is_some()
            }),
            Family::Edited => telling.of_update(false),
            Family::Status => telling.of_update(status(object).is_some() || has_votes(object)),
            _ => None,
        };
        let is_bare = self.family == Family::Edited && telling.is_bare();
        Some((change?, if is_bare { self.side(&message) } else { Side::of(&message) }))
    }

    /// Who sent a bare `protocolMessage`. Its key is the one that its sender knows the message by,
    /// and so says of everybody's that it is their own: in a chat of two the chat is then the account
    /// itself, and the person is told nowhere.
    fn side(&self, message: &Message<'_, '_>) -> Side {
        let chat = message.conversation();
        if !message.is_in_chat_of_two() {
            return Side { is_own: false, chat };
        }
        let account = self.account.as_deref().and_then(gateway::chat);
        let is_of_person = account.is_some() && account == chat;
        Side { is_own: !is_of_person, chat: chat.filter(|_| !is_of_person) }
    }

    /// What a message was changed to: the same under each of its names.
    fn edited(&self, edit: Edit<'_>, message: &Message<'_, '_>, side: Side) -> Identity {
        let id = edit.id.or_else(|| message.id());
        // The business's own edits are no reason to do anything either.
        let prefix = if side.is_own { "echo" } else { "update" };
        let hash = hex::encode(Sha256::digest(edit.to.raw()));
        let identity = Identity {
            key: self.key(&[Some("update"), id.as_deref(), Some(&hash)]),
            lane: self.lane(side.chat),
            ..self.hashed(Kind::of(prefix, Some("edit")))
        };
        identity.or_unreadable(gateway::NO_ID)
    }

    /// That a message is no more.
    fn deleted(&self, id: Option<&Cow<'_, str>>, lane: Option<Lane>) -> Identity {
        let key = self.key(&[Some("delete"), id.map(|id| &**id)]);
        let identity = Identity { key, lane, ..self.hashed(Kind::of("", Some("delete"))) };
        identity.or_unreadable(gateway::NO_ID)
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
            // A whole chat's has no id to be known by.
            Family::Deleted if id.is_none() && element.get("all").is_some_and(gateway::is_yes) => {
                self.hashed(Kind::of("", Some("delete")))
            }
            Family::Deleted => self.deleted(id.as_ref(), self.lane(message.conversation())),
            Family::Sent => {
                Identity { key: key("sent"), ..self.hashed(Kind::of("sent", Some("accepted"))) }
            }
            Family::Call => self.call(element),
            Family::Connection => self.hashed(self.kind(element.text("state").as_deref())),
            // It tells the client something, of no message or of none that changed.
            Family::Edited => self.hashed(Kind::of("update", Some("other"))),
            Family::Code | Family::Other => self.hashed(self.kind(None)),
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

fn digest(id: &str) -> [u8; 32] {
    Sha256::digest(id).into()
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
