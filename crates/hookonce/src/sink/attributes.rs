//! What every sink that leaves the program says of an event beside its payload: the attributes of
//! `CloudEvents` 1.0, and ours. How they are written down is the sink's.

use std::borrow::Cow;

use crate::step::StepContext;

/// The attributes by their names in `CloudEvents`, values as they are. The subject is left out where
/// there is none.
pub(super) fn of<'a>(context: &StepContext<'a>) -> Vec<(&'static str, Cow<'a, str>)> {
    let claim = context.claim;
    let event = &claim.event;
    let mut attributes = vec![
        ("specversion", "1.0".into()),
        ("id", event.id.to_string().into()),
        ("source", format!("/webhooks/{}", event.source).into()),
        ("type", event.kind.as_str().into()),
        ("time", event.received_at.to_string().into()),
        ("key", event.key.as_str().into()),
        ("route", (&*claim.route).into()),
        ("epoch", claim.epoch.to_string().into()),
        ("run", claim.run.to_string().into()),
    ];
    attributes.extend(event.lane.as_deref().map(|lane| ("subject", lane.into())));
    attributes
}
