//! What Twilio's Event Streams post: `CloudEvents`, in an array or one alone.

use crate::element::Json;
use crate::event::{Key, Kind};

use super::super::cut::{Cut, Cuts, Reason};
use super::super::identity::Identity;
use super::super::instant;
use super::super::place::Place;

/// Finds the events of a request. Another object than a `CloudEvent` holds none.
pub(super) fn find<'a>(root: Json<'a>, cuts: &mut Cuts<'a>) -> Result<(), Reason> {
    if root.is_array() {
        let top = Place::top();
        for (index, item) in root.items().enumerate() {
            cuts.push(cut(top.item(index), item))?;
        }
    } else if root.get("id").is_some() || root.get("type").is_some() {
        cuts.push(cut(Place::default(), root))?;
    }
    Ok(())
}

fn cut<'a>(place: Place<'a>, element: Json<'a>) -> Cut<'a> {
    let Some(object) = element.object() else {
        return Cut::alone(place, element, Identity::unreadable("element is not an object"));
    };
    let kind = Kind::of("event", object.text("type").as_deref());
    let key = object.text("id").map(|id| Key::of(&["event", &id]));
    let sent_at = object.get("time").and_then(instant::of);
    let recurs = sent_at.is_none();
    Cut {
        sent_at,
        ..Cut::alone(place, element, Identity { key, recurs, ..Identity::hashed(kind) })
    }
}
