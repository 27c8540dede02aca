//! The synchronised history of a number: chunks of threads of messages.
//!
//! It nests deeper than all else, and one request may have thousands of messages. Chunks come in any
//! order; nothing here puts them into one.

use crate::element::{Json, Member, Object};
use crate::event::{Kind, Priority};

use super::super::cut::{Cut, Reason};
use super::super::identity::Identity;
use super::super::place::{Place, Step};
use super::family::Family;
use super::walk::{Beside, Walk, is_empty};

impl<'a> Walk<'_, 'a> {
    /// The elements of the chunks that stand at `place`.
    pub(super) fn history(
        &mut self,
        place: &Place<'a>,
        chunks: Json<'a>,
        beside: &Beside<'_, 'a>,
    ) -> Result<(), Reason> {
        self.containers(place, chunks, beside, |walk, place, chunk| {
            // A thread's payload goes without the chunk's errors, and the other way round.
            let list = |member: &Member<'_>| member.is("threads") || member.is("errors");
            for to in chunk.members().iter().filter(|member| !is_empty(member.value)) {
                if to.is("threads") {
                    let threads = place.within(&Step::to(chunk, to, "threads"), list);
                    walk.threads(&threads, to.value, beside)?;
                } else if to.is("errors") {
                    let errors = place.within(&Step::to(chunk, to, "errors"), list);
                    walk.list(&errors, to.value, Family::HistoryError, beside, None)?;
                }
            }
            Ok(())
        })
    }

    /// The elements of the threads that stand at `place`.
    fn threads(
        &mut self,
        place: &Place<'a>,
        threads: Json<'a>,
        beside: &Beside<'_, 'a>,
    ) -> Result<(), Reason> {
        self.containers(place, threads, beside, |walk, place, thread| {
            let Some(to) = thread.member("messages").filter(|list| !is_empty(list.value)) else {
                return Ok(());
            };
            let messages = place.within(&Step::to(thread, to, "messages"), |_| false);
            // The thread is named by the user, whoever wrote the message.
            let user = thread.text("id");
            walk.list(&messages, to.value, Family::HistoryMessage, beside, user.as_deref())
        })
    }

    /// Goes into each object of an array of containers. One that holds no element is an event
    /// itself, so that what it tells of progress isn't lost.
    fn containers(
        &mut self,
        place: &Place<'a>,
        array: Json<'a>,
        beside: &Beside<'_, 'a>,
        mut enter: impl FnMut(&mut Self, &Place<'a>, &Object<'a>) -> Result<(), Reason>,
    ) -> Result<(), Reason> {
        if !array.is_array() {
            return self.cuts.push(beside.malformed(place, array, "a list is not an array"));
        }
        for (index, element) in array.items().enumerate() {
            let place = place.item(index);
            let Some(container) = element.object() else {
                self.cuts.push(beside.malformed(&place, element, "element is not an object"))?;
                continue;
            };
            let before = self.cuts.len();
            enter(self, &place, &container)?;
            if self.cuts.len() == before {
                let kind = Kind::of("", Some("history"));
                let identity = Identity { priority: Priority::History, ..Identity::hashed(kind) };
                let contacts = beside.contacts.matching(&container, None);
                let cut = Cut::alone(place, element, identity);
                self.cuts.push(Cut { contacts, sent_at: beside.context.time, ..cut })?;
            }
        }
        Ok(())
    }
}
