//! The way to the elements of a request, each exactly once.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;

use jiff::Timestamp;
use sha2::{Digest as _, Sha256};

use crate::element::{Json, Member, Object};

use super::super::Request;
use super::super::cut::{Cut, Reason};
use super::super::identity::Identity;
use super::super::place::{Hole, Place, Step};
use super::pointer::{Pointer, escape};
use super::{GenericOptions, Rule};

/// A value whose members, if it has any, are found once.
pub(super) struct Tree<'a> {
    pub(super) json: Json<'a>,
    pub(super) object: Option<Object<'a>>,
    /// What pointers of the configuration led to, by where they are kept: every element of a long
    /// list may ask for the same value beside the list, and each time the way would be past it.
    known: RefCell<HashMap<usize, Option<Json<'a>>>>,
}

impl<'a> Tree<'a> {
    pub(super) fn of(json: Json<'a>) -> Self {
        Self { json, object: json.object(), known: RefCell::default() }
    }

    /// What `pointer` leads to, looked for once.
    pub(super) fn find_once(&self, pointer: &Pointer) -> Option<Json<'a>> {
        let mut known = self.known.borrow_mut();
        let at = std::ptr::from_ref(pointer).addr();
        *known.entry(at).or_insert_with(|| pointer.find(self))
    }
}

/// What a part is looked up in.
pub(super) struct View<'v, 'a> {
    pub(super) request: &'v Request,
    pub(super) root: &'v Tree<'a>,
    pub(super) element: &'v Tree<'a>,
    /// What of the element is the same in every copy.
    content: Json<'a>,
}

impl<'v, 'a> View<'v, 'a> {
    /// A look at the body as the element.
    pub(super) fn of_body(request: &'v Request, root: &'v Tree<'a>) -> Self {
        Self { request, root, element: root, content: root.json }
    }

    /// The SHA-256 of the element's content, in hex digits.
    pub(super) fn digest(&self) -> String {
        hex::encode(Sha256::digest(self.content.raw()))
    }
}

/// What was found at a place.
pub(super) enum Found<'f, 'a> {
    /// An element, with the rule that takes it.
    Element { place: Place<'a>, rule: &'f Rule, view: View<'f, 'a> },
    /// Something that is no element, and why.
    Malformed { place: Place<'a>, value: Json<'a>, why: Reason },
}

impl<'a> Found<'_, 'a> {
    /// The event that it becomes.
    pub(super) fn into_cut(self) -> Cut<'a> {
        match self {
            Self::Malformed { place, value, why } => {
                Cut::alone(place, value, Identity::unreadable(why))
            }
            Self::Element { place, rule, view } => {
                let (content, sent_at): (_, Option<Timestamp>) = (view.content, rule.time(&view));
                let cut = Cut::alone(place, view.element.json, rule.identify(&view));
                Cut { content, sent_at, ..cut }
            }
        }
    }
}

/// Takes what is found in a request, until it is too much.
type Each<'e, 'a> = dyn FnMut(Found<'_, 'a>) -> Result<(), Reason> + 'e;

/// Gives each element of a request to `take`, in the order of the places and within them.
pub(super) fn each<'a>(
    options: &GenericOptions,
    request: &Request,
    root: Json<'a>,
    take: &mut Each<'_, 'a>,
) -> Result<(), Reason> {
    let root = Tree::of(root);
    let walk = Walk { options, request, root: &root };
    let lists = options.events.iter().filter(|pointer| !pointer.is_empty());
    let lists: Vec<_> = lists.filter_map(|pointer| List::find(pointer, &root)).collect();
    for list in &lists {
        walk.list(list.pointer, &list.place(&lists), list.value, take)?;
    }
    let body = options.events.iter().find(|pointer| pointer.is_empty());
    match body {
        Some(body) if lists.is_empty() && holds_any(root.json) => {
            let place = if root.json.is_array() { Place::top() } else { Place::default() };
            walk.list(body, &place, root.json, take)
        }
        _ => Ok(()),
    }
}

/// A place in a request at which there is something.
struct List<'r, 'a> {
    pointer: &'r Pointer,
    /// The objects on the way, the body first.
    way: Vec<Cow<'r, Object<'a>>>,
    value: Json<'a>,
}

impl<'r, 'a> List<'r, 'a> {
    /// What is at `pointer`, if that leads through objects only and to something.
    fn find(pointer: &'r Pointer, root: &'r Tree<'a>) -> Option<Self> {
        let (mut way, mut value) = (Vec::with_capacity(pointer.names.len()), root.json);
        for name in &pointer.names {
            let object = match &root.object {
                Some(object) if way.is_empty() => Cow::Borrowed(object),
                _ => Cow::Owned(value.object()?),
            };
            value = object.get(name)?;
            way.push(object);
        }
        let is_empty = value.is_array() && value.items().next().is_none();
        (!value.is_null() && !is_empty).then_some(Self { pointer, way, value })
    }

    /// Where it stands. What leads to another one of the `lists` is left out around its elements, so
    /// that each event is a request of one element.
    fn place(&self, lists: &[Self]) -> Place<'a> {
        let names = &self.pointer.names;
        let mut place = Place::default();
        for (n, (object, name)) in self.way.iter().zip(names).enumerate() {
            let Some(to) = object.member(name) else { continue };
            let others = lists.iter().map(|list| &list.pointer.names);
            let others = others.filter(|other| other.len() > n && other[..n] == names[..n]);
            let others: Vec<_> = others.map(|other| &*other[n]).collect();
            let step = Step::to(object, to, escape(name));
            let hole = if n + 1 < names.len() { Hole::Value } else { step.hole };
            let leads_on = |member: &Member<'a>| others.iter().any(|name| member.is(name));
            place = place.within(&Step { hole, ..step }, leads_on);
        }
        place
    }
}

/// Whether a body holds anything.
fn holds_any(body: Json<'_>) -> bool {
    body.items().next().is_some() || body.object().is_some_and(|body| !body.members().is_empty())
}

/// What every place of a request has in common.
struct Walk<'w, 'a> {
    options: &'w GenericOptions,
    request: &'w Request,
    root: &'w Tree<'a>,
}

impl<'a> Walk<'_, 'a> {
    /// The elements of a list at `place`; an object is one itself.
    fn list(
        &self,
        pointer: &Pointer,
        place: &Place<'a>,
        list: Json<'a>,
        take: &mut Each<'_, 'a>,
    ) -> Result<(), Reason> {
        if !list.is_array() {
            return self.element(pointer, place.clone(), list, take);
        }
        for (index, item) in list.items().enumerate() {
            self.element(pointer, place.item(index), item, take)?;
        }
        Ok(())
    }

    fn element(
        &self,
        pointer: &Pointer,
        place: Place<'a>,
        value: Json<'a>,
        take: &mut Each<'_, 'a>,
    ) -> Result<(), Reason> {
        if !value.is_object() {
            return take(Found::Malformed { place, value, why: "element is not an object" });
        }
        let own;
        // A slice of the body that is as long is the body, whose members are known.
        let element = if value.raw().len() == self.root.json.raw().len() {
            self.root
        } else {
            own = Tree::of(value);
            &own
        };
        let (request, root) = (self.request, self.root);
        let mut view = View { request, root, element, content: value };
        let nothing = Rule::default();
        let mut rules = self.options.rules.iter();
        let rule = rules.find(|rule| rule.takes(pointer, &view)).unwrap_or(&nothing);
        let content = rule.content.as_ref().and_then(|content| content.find(element));
        view.content = content.unwrap_or(value);
        take(Found::Element { place, rule, view })
    }
}
