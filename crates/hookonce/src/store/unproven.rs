//! Why a task is dead on arrival: its event can't be proven new, or is not what the database takes.

use crate::event::Priority;

/// Why a task is dead on arrival whose event may have been stored before its key was pruned.
pub(super) const TOO_OLD: &str = "too old to be proven new: the key of an event of this age may have \
                                  been pruned; replay it if it was never handled";
/// Why a task is dead on arrival whose event the database does not take as it is.
pub(super) const REFUSED: &str = "the database refused the event: its payload is kept as base64";

/// Why the tasks of an event are dead that the sender dates before the time up to which keys were
/// removed, if it does. Times are what a store has them as.
pub(super) fn too_old<T: PartialOrd>(
    priority: Priority,
    sent_at: Option<T>,
    pruned_until: Option<T>,
) -> Option<&'static str> {
    let is_old = sent_at.zip(pruned_until).is_some_and(|(at, until)| at <= until);
    (priority != Priority::History && is_old).then_some(TOO_OLD)
}
