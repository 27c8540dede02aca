//! What stands around an element: in the request, and in its event's payload.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::rc::Rc;

use crate::element::{Json, Member, Object};

/// Where a value stands: in which frame and, where that is around an array, at which index.
#[derive(Clone, Default)]
pub(super) struct Place<'a> {
    frame: Option<Rc<Frame<'a>>>,
    index: usize,
}

/// One object around an element, cut down to the one member that leads to it and those that are
/// kept beside it. Many elements share their frames, so that what is around them is multiplied only
/// once its expanded size is known.
struct Frame<'a> {
    /// Where the object stands itself.
    place: Place<'a>,
    /// The name of the member that leads on, as a JSON pointer has it.
    name: Cow<'static, str>,
    hole: Hole,
    /// What comes before the contacts.
    head: String,
    /// The key of the contacts as it is in the request, where they are chosen for each element.
    contacts: Option<&'a str>,
    /// The key of the member that leads on, as it is in the request.
    key: &'a str,
    /// What comes behind the element.
    tail: String,
    /// Bytes of this frame and all around it, without contacts.
    length: usize,
}

/// What the member that leads on holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hole {
    /// An array, of which one item is kept.
    Item,
    /// The value itself.
    Value,
    /// An array that is the whole request, of which one item is kept.
    Bare,
}

/// The way from an object to one of its members.
pub(super) struct Step<'s, 'a> {
    /// The object.
    pub(super) object: &'s Object<'a>,
    /// The member, one of the object's own.
    pub(super) to: &'s Member<'a>,
    /// Its name as a JSON pointer has it.
    pub(super) name: Cow<'static, str>,
    /// What it holds.
    pub(super) hole: Hole,
    /// The key of the object's contacts, if they are chosen for each element.
    pub(super) contacts: Option<&'a str>,
}

impl<'s, 'a> Step<'s, 'a> {
    /// The step to the member `to` of this name, into the array that it is or else to itself.
    pub(super) fn to(
        object: &'s Object<'a>,
        to: &'s Member<'a>,
        name: impl Into<Cow<'static, str>>,
    ) -> Self {
        let name = name.into();
        let hole = if to.value.is_array() { Hole::Item } else { Hole::Value };
        Self { object, to, name, hole, contacts: None }
    }
}

impl<'a> Place<'a> {
    /// The place that `step` leads to from the object at this place. The payload keeps the object's
    /// other members, but for those that are `left_out`; what comes after the member stays after it.
    pub(super) fn within(
        &self,
        step: &Step<'_, 'a>,
        left_out: impl Fn(&Member<'a>) -> bool,
    ) -> Self {
        let (mut head, mut tail) = ("{".to_owned(), String::new());
        tail.push_str(if step.hole == Hole::Item { "]" } else { "" });
        let mut passed = false;
        for member in step.object.members() {
            if std::ptr::eq(member, step.to) {
                passed = true;
            } else if !left_out(member) {
                if passed {
                    tail.extend([",", member.key, ":", member.value.raw()]);
                } else {
                    head.extend([member.key, ":", member.value.raw(), ","]);
                }
            }
        }
        tail.push('}');
        let Step { to, hole, contacts, .. } = *step;
        let name = step.name.clone();
        let around = self.frame.as_ref().map_or(0, |frame| frame.length);
        // The two are the colon and the bracket.
        let length = around + head.len() + to.key.len() + 2 + tail.len();
        let place = self.clone();
        let frame = Frame { place, name, hole, head, contacts, key: to.key, tail, length };
        Self { frame: Some(Rc::new(frame)), index: 0 }
    }

    /// The place of a request that is an array itself.
    pub(super) fn of_list() -> Self {
        let (place, name, hole) = (Self::default(), Cow::Borrowed(""), Hole::Bare);
        let (head, tail, contacts) = ("[".to_owned(), "]".to_owned(), None);
        let frame = Frame { place, name, hole, head, contacts, key: "", tail, length: 2 };
        Self { frame: Some(Rc::new(frame)), index: 0 }
    }

    /// The place of the item `index` of the array that stands here.
    pub(super) fn item(&self, index: usize) -> Self {
        Self { frame: self.frame.clone(), index }
    }

    /// At most how many bytes are around an element here, beside such contacts.
    pub(super) fn length(&self, contacts: &[Json<'a>]) -> usize {
        let contacts: usize = contacts.iter().map(|contact| contact.raw().len() + 1).sum();
        self.frame.as_ref().map_or(0, |frame| frame.length)
            + contacts
            + "\"contacts\":[],".len() * 6
    }

    /// Writes the payload that has `element` here, and such contacts where contacts go.
    pub(super) fn write(&self, payload: &mut String, element: Json<'a>, contacts: &[Json<'a>]) {
        self.open(payload, contacts);
        payload.push_str(element.raw());
        self.close(payload);
    }

    fn open(&self, payload: &mut String, contacts: &[Json<'a>]) {
        let Some(frame) = &self.frame else { return };
        frame.place.open(payload, contacts);
        payload.push_str(&frame.head);
        if let (Some(key), [first, rest @ ..]) = (frame.contacts, contacts) {
            payload.extend([key, ":[", first.raw()]);
            payload.extend(rest.iter().flat_map(|contact| [",", contact.raw()]));
            payload.push_str("],");
        }
        payload.push_str(frame.key);
        payload.push_str(match frame.hole {
            Hole::Item => ":[",
            Hole::Value => ":",
            Hole::Bare => "",
        });
    }

    fn close(&self, payload: &mut String) {
        let Some(frame) = &self.frame else { return };
        payload.push_str(&frame.tail);
        frame.place.close(payload);
    }

    /// JSON pointer to this place in the request.
    pub(super) fn in_request(&self) -> String {
        self.pointer(|index| index)
    }

    /// JSON pointer to this place in the payload, where each array has one item.
    pub(super) fn in_payload(&self) -> String {
        self.pointer(|_| 0)
    }

    fn pointer(&self, index: fn(usize) -> usize) -> String {
        let mut pointer = String::with_capacity(64);
        self.write_pointer(&mut pointer, index);
        pointer
    }

    fn write_pointer(&self, pointer: &mut String, index: fn(usize) -> usize) {
        let Some(frame) = &self.frame else { return };
        frame.place.write_pointer(pointer, index);
        if frame.hole != Hole::Bare {
            pointer.push('/');
            pointer.push_str(&frame.name);
        }
        if frame.hole != Hole::Value {
            // Writing to a string can't fail.
            let _ = write!(pointer, "/{}", index(self.index));
        }
    }
}
