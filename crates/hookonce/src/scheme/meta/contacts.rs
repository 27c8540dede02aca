//! The people that a request names beside its elements.

use std::borrow::Cow;
use std::rc::Rc;

use crate::element::{Json, Object};

/// Members of an element that name a person, by phone number or user id.
const PERSON: [&str; 12] = [
    "from",
    "from_user_id",
    "to",
    "to_user_id",
    "recipient_id",
    "recipient_user_id",
    "recipient_participant_id",
    "recipient_participant_user_id",
    "participant_recipient_id",
    "participant_recipient_user_id",
    "wa_id",
    "user_id",
];

/// The items of one `contacts` array, to be found by either of their ids.
pub(super) struct Contacts<'a> {
    all: Rc<[Json<'a>]>,
    /// The user id that each gives, if any.
    user_ids: Vec<Option<Cow<'a, str>>>,
    /// Each id with the place of its contact, sorted: thousands of elements beside thousands of
    /// contacts must not take quadratic time.
    places: Vec<(Cow<'a, str>, usize)>,
}

impl<'a> Contacts<'a> {
    /// Reads a `contacts` array; whatever else it is, nobody is in it.
    pub(super) fn of(contacts: Option<Json<'a>>) -> Self {
        let all: Rc<[_]> = contacts.into_iter().flat_map(Json::items).collect();
        let mut places = Vec::with_capacity(2 * all.len());
        let mut user_ids = Vec::with_capacity(all.len());
        for (place, contact) in all.iter().enumerate() {
            let contact = contact.object();
            let id = |name| contact.as_ref().and_then(|contact| contact.text(name));
            places.extend(id("wa_id").map(|id| (id, place)));
            user_ids.push(id("user_id"));
            places.extend(id("user_id").map(|id| (id, place)));
        }
        places.sort_unstable();
        Self { all, user_ids, places }
    }

    /// All of them.
    pub(super) fn all(&self) -> Rc<[Json<'a>]> {
        self.all.clone()
    }

    /// The contacts of the people that `element` names, or that `also` is; all where none match, so
    /// that nothing is lost to a spelling we don't know.
    pub(super) fn matching(&self, element: &Object<'a>, also: Option<&str>) -> Rc<[Json<'a>]> {
        // One person is the one, or all there is: nearly every request.
        if self.all.len() <= 1 {
            return self.all.clone();
        }
        let named = element.members().iter().filter(|member| {
            let name = member.name();
            PERSON.iter().any(|person| *person == name)
        });
        let mut found: Vec<_> = named
            .filter_map(|member| member.value.text())
            .chain(also.map(Cow::Borrowed))
            .flat_map(|id| self.places_of(&id).iter().map(|(_, place)| *place))
            .collect();
        found.sort_unstable();
        found.dedup();
        if found.is_empty() || found.len() == self.all.len() {
            return self.all.clone();
        }
        found.into_iter().map(|place| self.all[place]).collect()
    }

    /// The user id of the contact that has `id`, where it says one.
    pub(super) fn user_id_of(&self, id: &str) -> Option<&str> {
        self.places_of(id).iter().find_map(|(_, place)| self.user_ids[*place].as_deref())
    }

    fn places_of(&self, id: &str) -> &[(Cow<'a, str>, usize)] {
        let start = self.places.partition_point(|(other, _)| &**other < id);
        let length = self.places[start..].partition_point(|(other, _)| other == id);
        &self.places[start..start + length]
    }
}
