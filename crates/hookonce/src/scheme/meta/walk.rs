//! The way through a request: every entry, change, array and element, each exactly once.

use std::borrow::Cow;

use jiff::Timestamp;

use crate::element::{Json, Member, Object};
use crate::event::Kind;

use super::super::cut::{Cut, Cuts, Reason};
use super::super::identity::Identity;
use super::super::instant;
use super::super::place::{Hole, Place, Step};
use super::contacts::Contacts;
use super::family::{Context, Family};

/// Finds the elements of a request.
pub(super) fn find<'a>(root: Json<'a>, cuts: &mut Cuts<'a>) -> Result<(), Reason> {
    let mut walk = Walk { cuts };
    if let Some(object) = root.object()
        && let Some(to) = object.member("entry").filter(|entry| entry.value.is_array())
    {
        let entries = Place::default().within(&Step::to(&object, to, "entry"), |_| false);
        for (index, entry) in to.value.items().enumerate() {
            walk.entry(&entries.item(index), entry)?;
        }
    }
    Ok(())
}

/// What was found so far. Wherever something in a request holds no element, it becomes an event as
/// it is, so that nothing is lost; what is found is only looked at, and copied once all of it is
/// known to be within the limits.
pub(super) struct Walk<'c, 'a> {
    pub(super) cuts: &'c mut Cuts<'a>,
}

impl<'a> Walk<'_, 'a> {
    /// Keeps what can't be read, where no contacts are.
    fn malformed(
        &mut self,
        place: &Place<'a>,
        element: Json<'a>,
        why: Reason,
        time: Option<Timestamp>,
    ) -> Result<(), Reason> {
        let cut = Cut::alone(place.clone(), element, Identity::unreadable(why));
        self.cuts.push(Cut { sent_at: time, ..cut })
    }

    /// The changes of one entry. Without any, for one where Meta was told to leave the values out, it
    /// is an event itself.
    fn entry(&mut self, place: &Place<'a>, entry: Json<'a>) -> Result<(), Reason> {
        let Some(object) = entry.object() else {
            return self.malformed(place, entry, "entry is not an object", None);
        };
        let before = self.cuts.len();
        let time = object.get("time").and_then(instant::of);
        if let Some(to) = object.member("changes").filter(|changes| !changes.value.is_null()) {
            let changes = place.within(&Step::to(&object, to, "changes"), |_| false);
            if !to.value.is_array() {
                return self.malformed(&changes, to.value, "`changes` is not an array", time);
            }
            let account = object.text("id");
            for (index, change) in to.value.items().enumerate() {
                self.change(&changes.item(index), change, account.clone(), time)?;
            }
        }
        if self.cuts.len() == before {
            let identity = Identity::hashed(Kind::of("unknown", Some("entry")));
            self.cuts.push(Cut { sent_at: time, ..Cut::alone(place.clone(), entry, identity) })?;
        }
        Ok(())
    }

    /// The lists of one change. Without any, as with most fields that are about an account, its value
    /// is the element: it is what the field's reference describes.
    fn change(
        &mut self,
        place: &Place<'a>,
        change: Json<'a>,
        account: Option<Cow<'a, str>>,
        entry_time: Option<Timestamp>,
    ) -> Result<(), Reason> {
        let Some(object) = change.object() else {
            return self.malformed(place, change, "change is not an object", entry_time);
        };
        let before = self.cuts.len();
        let field = object.text("field");
        let kind = Kind::of("", field.as_deref());
        let (mut whole, mut place) = (change, place.clone());
        let mut sent_at = entry_time;
        if let Some(to) = object.member("value") {
            let step = Step { hole: Hole::Value, ..Step::to(&object, to, "value") };
            (whole, place) = (to.value, place.within(&step, |_| false));
            if let Some(value) = to.value.object() {
                let metadata = value.get("metadata").and_then(Json::object);
                let of_number = |name| metadata.as_ref().and_then(|metadata| metadata.text(name));
                // Some fields have no number at all, and some no metadata.
                let context = Context {
                    number: of_number("phone_number_id").or(account).unwrap_or_default(),
                    display: of_number("display_phone_number"),
                    field,
                    time: entry_time,
                    standby: false,
                };
                self.holder(&place, &value, &context)?;
                sent_at = value.get("timestamp").and_then(instant::of).or(entry_time);
            }
        }
        if self.cuts.len() == before {
            self.cuts.push(Cut { sent_at, ..Cut::alone(place, whole, Identity::hashed(kind)) })?;
        }
        Ok(())
    }

    /// The arrays of an object that holds elements, in the order in which they stand.
    fn holder(
        &mut self,
        place: &Place<'a>,
        object: &Object<'a>,
        context: &Context<'a>,
    ) -> Result<(), Reason> {
        let beside = Beside::of(object, context);
        for to in object.members().iter().filter(|member| !is_empty(member.value)) {
            let name = to.name();
            if let Some((name, family)) = Family::of(&name, context) {
                let place = beside.within(place, &Step::to(object, to, name));
                self.list(&place, to.value, family, &beside, None)?;
            } else if name == "history" && !context.standby {
                let place = beside.within(place, &Step::to(object, to, "history"));
                self.history(&place, to.value, &beside)?;
            } else if beside.is_standby(to) {
                // Its contacts are within it; those beside it stay as they are.
                let step = Step { hole: Hole::Value, ..Step::to(object, to, "standby") };
                let place = place.within(&step, |member| beside.is_list(member));
                if let Some(object) = to.value.object() {
                    self.holder(&place, &object, &Context { standby: true, ..context.clone() })?;
                } else {
                    let why = "`standby` is not an object";
                    self.malformed(&place, to.value, why, context.time)?;
                }
            }
        }
        Ok(())
    }

    /// The elements of the list that stands at `place`. One that is no array is one element that
    /// can't be read. `thread` is who an element belongs to, if what is around it says so.
    pub(super) fn list(
        &mut self,
        place: &Place<'a>,
        list: Json<'a>,
        family: Family,
        beside: &Beside<'_, 'a>,
        thread: Option<&str>,
    ) -> Result<(), Reason> {
        let context = beside.context;
        if !list.is_array() {
            return self.cuts.push(beside.malformed(place, list, "a list is not an array"));
        }
        for (index, element) in list.items().enumerate() {
            let place = place.item(index);
            let Some(object) = element.object() else {
                self.cuts.push(beside.malformed(&place, element, "element is not an object"))?;
                continue;
            };
            let identity = family.identify(&object, context, &beside.contacts);
            self.cuts.push(Cut {
                contacts: beside.contacts.matching(&object, thread),
                sent_at: element_time(&object).or(context.time),
                ..Cut::alone(place, element, identity)
            })?;
        }
        Ok(())
    }
}

/// What stands beside the lists of one object.
pub(super) struct Beside<'c, 'a> {
    pub(super) context: &'c Context<'a>,
    pub(super) contacts: Contacts<'a>,
    /// The key of the contacts, if there are any.
    key: Option<&'a str>,
}

impl<'c, 'a> Beside<'c, 'a> {
    fn of(object: &Object<'a>, context: &'c Context<'a>) -> Self {
        let member = object.member("contacts");
        let contacts = Contacts::of(member.map(|contacts| contacts.value));
        let key = member.filter(|_| !contacts.all().is_empty()).map(|contacts| contacts.key);
        Self { context, contacts, key }
    }

    /// An element here that can't be read. Who it is about isn't known, so that it has all contacts.
    pub(super) fn malformed(&self, place: &Place<'a>, element: Json<'a>, why: Reason) -> Cut<'a> {
        let cut = Cut::alone(place.clone(), element, Identity::unreadable(why));
        Cut { contacts: self.contacts.all(), sent_at: self.context.time, ..cut }
    }

    /// Where `step` leads to from `place`, past the other lists and with contacts chosen for each
    /// element.
    fn within(&self, place: &Place<'a>, step: &Step<'_, 'a>) -> Place<'a> {
        let step = Step { contacts: self.key, name: step.name.clone(), ..*step };
        place.within(&step, |member| self.is_list(member) || self.key == Some(member.key))
    }

    fn is_list(&self, member: &Member<'a>) -> bool {
        let name = member.name();
        let history = !self.context.standby && name == "history";
        history || self.is_standby(member) || Family::of(&name, self.context).is_some()
    }

    /// Whether the member is where copies on standby are. One that holds no element is a member
    /// like any other, and stays beside the elements of other lists.
    fn is_standby(&self, member: &Member<'a>) -> bool {
        if self.context.standby || !member.is("standby") {
            return false;
        }
        let holds = |object: &Object<'a>| {
            let filled = object.members().iter().filter(|member| !is_empty(member.value));
            filled.map(Member::name).any(|name| Family::of(&name, self.context).is_some())
        };
        member.value.object().map_or(!is_empty(member.value), |object| holds(&object))
    }
}

/// Whether a list is as good as absent.
pub(super) fn is_empty(list: Json<'_>) -> bool {
    list.is_null() || (list.is_array() && list.items().next().is_none())
}

/// The time that an element gives.
fn element_time(element: &Object<'_>) -> Option<Timestamp> {
    let inner = || element.get("metadata")?.get("timestamp");
    element.get("timestamp").or_else(inner).and_then(instant::of)
}
