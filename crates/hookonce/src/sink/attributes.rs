//! What every sink that leaves the program says of an event beside its payload: the attributes of
//! `CloudEvents` 1.0, and ours. How they are written down is the sink's.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use crate::step::StepContext;

/// What a value in a header encodes beside everything that is not ASCII: space, double quote, percent. So
/// says the HTTP binding, and the others that have headers after it.
const ENCODED: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'%');

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

/// A value as it goes into a header: printable ASCII.
pub(super) fn encoded(text: &str) -> String {
    utf8_percent_encode(text, ENCODED).to_string()
}

#[cfg(test)]
mod tests {
    use super::encoded;

    #[test]
    fn values_are_encoded_as_the_binding_says() {
        assert_eq!(encoded("Euro € 😀"), "Euro%20%E2%82%AC%20%F0%9F%98%80");
        assert_eq!(encoded("a\"b%41\u{7f}\n"), "a%22b%2541%7F%0A");
        assert_eq!(encoded("!#$&'()*+,-./:;<=>?@[]^_`{|}~"), "!#$&'()*+,-./:;<=>?@[]^_`{|}~");
    }
}
