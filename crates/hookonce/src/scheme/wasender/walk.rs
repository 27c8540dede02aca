//! The way through a request: to `data`, to what holds elements in it, to each element once.
//!
//! The gateway's documents and libraries don't agree on where there is an array and where an object,
//! so that either is taken in each place, with the same events.

use jiff::Timestamp;

use crate::element::{Json, Member, Object};

use super::super::cut::{Cut, Cuts, Reason};
use super::super::envelope::is_blank;
use super::super::identity::Identity;
use super::super::place::{Place, Step};
use super::element::{Element, IDS, Request, time};
use super::name::{Family, normal};
use super::{message, other, status};

/// Members by which a request without `data` shows that it is an element itself.
const FLAT: [&str; 6] = ["id", "messageId", "key", "from", "message", "success"];

/// What an element was found to be.
pub(super) struct Found<'a> {
    /// What is the same in every announcement of it.
    pub(super) content: Json<'a>,
    pub(super) sent_at: Option<Timestamp>,
    pub(super) identity: Identity,
}

impl<'a> Found<'a> {
    pub(super) fn of(element: &Element<'_, 'a>, identity: Identity) -> Self {
        Self { content: element.value, sent_at: element.sent_at(), identity }
    }
}

/// Finds the elements of a request.
pub(super) fn find<'a>(root: Json<'a>, cuts: &mut Cuts<'a>) -> Result<(), Reason> {
    let Some(object) = root.object() else { return Ok(()) };
    let Some(name) = object.text("event").map(|name| normal(&name)) else { return Ok(()) };
    let family = Family::of(&name);
    let mut walk = Walk { cuts, family, name: &name, request: Request { root, object: &object } };
    match object.member("data").filter(|data| !is_blank(data.value)) {
        Some(to) => {
            walk.data(&Place::default().within(&Step::to(&object, to, "data"), |_| false), to)
        }
        None => walk.flat(),
    }
}

/// What was found so far, in the request of an event of this name.
struct Walk<'w, 'a> {
    cuts: &'w mut Cuts<'a>,
    family: Family,
    name: &'w str,
    request: Request<'w, 'a>,
}

impl<'a> Walk<'_, 'a> {
    /// The request itself, where it has no `data`: it holds elements, or is one.
    fn flat(&mut self) -> Result<(), Reason> {
        let Request { root, object } = self.request;
        let mut names = FLAT.iter().chain(self.family.lists(self.name));
        let says = names.any(|name| object.get(name).is_some_and(|value| !is_blank(value)));
        if says || !self.family.has_ids() {
            self.holder(&Place::default(), root, true)
        } else {
            Ok(())
        }
    }

    /// What `data` holds.
    fn data(&mut self, place: &Place<'a>, data: &Member<'a>) -> Result<(), Reason> {
        if !data.value.is_array() {
            return self.holder(place, data.value, true);
        }
        let is_alone = has_one(data.value);
        for (index, item) in data.value.items().enumerate() {
            self.holder(&place.item(index), item, is_alone)?;
        }
        Ok(())
    }

    /// The elements of what may hold some, or be one itself, or both.
    fn holder(&mut self, place: &Place<'a>, value: Json<'a>, is_alone: bool) -> Result<(), Reason> {
        let Some(object) = value.object() else {
            return self.element(place, value, None, is_alone);
        };
        let is_element = object.get("key").is_some_and(Json::is_object);
        let lists = self.lists(&object, is_element);
        for (to, name) in &lists {
            let is_left_out = |member: &Member<'a>| {
                // What is left is then no element.
                let is_key = is_element && member.is("key");
                is_key || lists.iter().any(|(list, _)| std::ptr::eq(*list, member))
            };
            let place = place.within(&Step::to(&object, to, *name), is_left_out);
            if to.value.is_array() {
                let is_alone = is_alone && has_one(to.value);
                for (index, item) in to.value.items().enumerate() {
                    let place = place.item(index);
                    self.element(&place, item, item.object().as_ref(), is_alone)?;
                }
            } else {
                self.element(&place, to.value, to.value.object().as_ref(), is_alone)?;
            }
        }
        if is_element || (lists.is_empty() && !self.is_empty_list(&object)) {
            self.element(place, value, Some(&object), is_alone && lists.is_empty())?;
        }
        Ok(())
    }

    /// The members of `object` that hold elements, with their names. Where it has neither `key` nor
    /// id of its own, one of any form is taken for it: it is no element itself.
    fn lists<'o>(
        &self,
        object: &'o Object<'a>,
        is_element: bool,
    ) -> Vec<(&'o Member<'a>, &'static str)> {
        let holds = |name: &str, value: Json<'a>| match (self.family, name) {
            _ if is_blank(value) => false,
            // Content has the same name, and no key.
            (_, "message") => {
                let has_key = || value.get("key").is_some_and(Json::is_object);
                !is_element && (value.is_array() || has_key())
            }
            (Family::Plain, _) => value.is_array(),
            _ => value.is_array() || value.is_object() || !(is_element || has_id(object)),
        };
        let names = self.family.lists(self.name).iter();
        let member = |name: &&'static str| object.member(name).map(|member| (member, *name));
        names.filter_map(member).filter(|(member, name)| holds(name, member.value)).collect()
    }

    /// Whether an object holds elements, but none, and is none itself.
    fn is_empty_list(&self, object: &Object<'a>) -> bool {
        let is_empty = |name: &&str| **name != *"message" && object.get(name).is_some_and(is_blank);
        !has_id(object) && self.family.lists(self.name).iter().any(is_empty)
    }

    /// Keeps one element.
    fn element(
        &mut self,
        place: &Place<'a>,
        value: Json<'a>,
        object: Option<&Object<'a>>,
        is_alone: bool,
    ) -> Result<(), Reason> {
        if !self.family.has_ids() {
            let sent_at = value.get("timestamp").and_then(time).or_else(|| self.sent_at());
            let identity = other::without_id(self.family, self.name, value);
            let identity = Identity { recurs: identity.recurs && sent_at.is_none(), ..identity };
            return self.push(place, value, Found { content: value, sent_at, identity });
        }
        let Some(object) = object else {
            let id = value.text().filter(|_| self.family == Family::Delete);
            let identity = match id {
                Some(id) => other::deleted_id(&id),
                None => Identity::unreadable("element is not an object"),
            };
            let found = Found { content: value, sent_at: self.sent_at(), identity };
            return self.push(place, value, found);
        };
        let element = Element::new((value, object), self.request, is_alone);
        let receipts = object.member("receipt").filter(|_| self.family == Family::Receipt);
        if let Some(to) = receipts.filter(|to| to.value.is_array() && !is_blank(to.value)) {
            let place = place.within(&Step::to(object, to, "receipt"), |_| false);
            for (index, item) in to.value.items().enumerate() {
                let mut found = status::receipt(&element, item);
                if !item.is_object() {
                    found.identity = Identity::unreadable("receipt is not an object");
                }
                self.push(&place.item(index), item, found)?;
            }
            return Ok(());
        }
        let found = match self.family {
            Family::Sent => message::sent(&element),
            Family::Update => status::update(&element),
            Family::Receipt => status::receipt(&element, receipts.map_or(value, |to| to.value)),
            Family::Reaction => other::reaction(&element),
            Family::Delete => other::delete(&element),
            Family::Poll => other::poll(&element),
            Family::Call => other::call(&element),
            _ => message::message(&element),
        };
        self.push(place, value, found)
    }

    /// When the request was sent.
    fn sent_at(&self) -> Option<Timestamp> {
        self.request.object.get("timestamp").and_then(time)
    }

    fn push(&mut self, place: &Place<'a>, value: Json<'a>, found: Found<'a>) -> Result<(), Reason> {
        let Found { content, sent_at, identity } = found;
        self.cuts.push(Cut { content, sent_at, ..Cut::alone(place.clone(), value, identity) })
    }
}

fn has_id(object: &Object<'_>) -> bool {
    IDS.into_iter().any(|name| object.text(name).is_some())
}

fn has_one(list: Json<'_>) -> bool {
    list.items().nth(1).is_none()
}
