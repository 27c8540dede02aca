//! What gateways put around an event: its name and, beside it, the thing itself.
//!
//! Knows no sender, and no name.

use crate::element::{Json, Object};

use super::cut::Reason;
use super::place::{Place, Step};

/// A name in its one spelling: lower case, with dots where the sender has dots, dashes or underscores.
pub(super) fn dotted(name: &str) -> String {
    name.chars()
        .map(|c| if matches!(c, '_' | '-') { '.' } else { c.to_ascii_lowercase() })
        .collect()
}

/// Gives `each` what the member `name` holds, with its place: its items if it is an array, else
/// itself. Nothing, if there is no such member or it is null.
pub(super) fn elements<'a>(
    envelope: &Object<'a>,
    name: &'static str,
    mut each: impl FnMut(Place<'a>, Json<'a>) -> Result<(), Reason>,
) -> Result<(), Reason> {
    let Some(to) = envelope.member(name).filter(|member| !member.value.is_null()) else {
        return Ok(());
    };
    let place = Place::default().within(&Step::to(envelope, to, name), |_| false);
    if to.value.is_array() {
        for (index, item) in to.value.items().enumerate() {
            each(place.item(index), item)?;
        }
        return Ok(());
    }
    each(place, to.value)
}

/// Whether a value is as good as absent.
pub(super) fn is_blank(value: Json<'_>) -> bool {
    let inside =
        value.raw().strip_prefix(['{', '[']).and_then(|rest| rest.strip_suffix(['}', ']']));
    value.is_null() || inside.is_some_and(|inside| inside.trim_ascii().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_the_same_however_it_is_spelled() {
        for name in ["messages.upsert", "MESSAGES_UPSERT", "messages-upsert", "Messages.Upsert"] {
            assert_eq!(dotted(name), "messages.upsert");
        }
    }
}
