//! What makes a form an event: a message, what became of one, a call, an event of a conversation.
//!
//! The table is in `docs/schemes/twilio.md`.

use std::borrow::Cow;

use crate::event::{Key, Kind, Lane, Priority};

use super::super::identity::Identity;
use super::form::Form;

/// How the names of those parameters begin that are what a message or its status says. Twilio adds
/// others without notice, and some, such as the error of an earlier attempt, only to a copy.
const CONTENT: [&str; 14] = [
    "Address",
    "Body",
    "Button",
    "Error",
    "From",
    "Interactive",
    "Latitude",
    "List",
    "Longitude",
    "Media",
    "MessageType",
    "NumMedia",
    "OriginalReplied",
    "To",
];

/// Parameters with the time of what they are about.
const TIMES: [&[u8]; 3] = [b"DateCreated", b"DateUpdated", b"Timestamp"];

/// What this form is, and the digest of what it says where its key isn't a hash.
pub(super) fn identify(form: &Form<'_>) -> (Identity, Option<[u8; 32]>) {
    let sid = form.first_text(&["MessageSid", "SmsMessageSid", "SmsSid"]);
    let status = form.text("MessageStatus").or_else(|| sent_status(form));
    if let Some(status) = status {
        let key = sid.map(|sid| Key::of(&["status", &sid, &status]));
        let kind = Kind::of("status", Some(&status));
        return (Identity { key, ..Identity::hashed(kind) }, Some(form.digest(is_content)));
    }
    // Before messages: what happens to a message of a conversation has the message's id.
    if let Some(name) = form.text("EventType") {
        return (hashed(form, Kind::of("event", Some(&name))), None);
    }
    if let Some(sid) = sid {
        let counts = |name: &[u8]| is_content(name) && !name.starts_with(b"Error");
        return (message(form, &sid), Some(form.digest(counts)));
    }
    match form.text("CallSid") {
        Some(sid) => (call(form, &sid), Some(form.digest(|_| true))),
        None => (hashed(form, Kind::of("unknown", Some("request"))), None),
    }
}

/// The older name of a status; a message that came in has one as well.
fn sent_status<'f>(form: &'f Form<'_>) -> Option<Cow<'f, str>> {
    form.text("SmsStatus").filter(|status| !matches!(&**status, "received" | "receiving"))
}

fn message(form: &Form<'_>, sid: &str) -> Identity {
    let media = form.text("NumMedia").is_some_and(|n| n.parse::<u32>().is_ok_and(|n| n > 0));
    let plain = if media { "media" } else { "text" };
    let word = form.text("MessageType").unwrap_or(Cow::Borrowed(plain));
    let key = Key::of(&["message", sid]);
    Identity {
        lane: lane(form.text("To"), form.text("From")),
        priority: Priority::Urgent,
        ..Identity::known(Kind::of("message", Some(&word)), key)
    }
}

/// One event of a call. Without a number in the sequence, a word that says only that it goes on may
/// stand in any number of requests, such as one for each key that is pressed.
fn call(form: &Form<'_>, sid: &str) -> Identity {
    let status = form.text("CallStatus");
    let key = match (&status, form.text("SequenceNumber")) {
        (Some(status), Some(number)) => Some(Key::of(&["call", sid, status, &number])),
        (Some(status), None) if &**status != "in-progress" => Some(Key::of(&["call", sid, status])),
        _ => None,
    };
    let outbound = form.text("Direction").is_some_and(|word| word.starts_with("outbound"));
    let (ours, theirs) = if outbound { ("From", "To") } else { ("To", "From") };
    Identity {
        key,
        lane: lane(form.text(ours), form.text(theirs)),
        priority: Priority::Urgent,
        ..Identity::hashed(Kind::of("call", status.as_deref()))
    }
}

/// An event without an id. Equal ones are told apart by the minute where they have no time.
fn hashed(form: &Form<'_>, kind: Kind) -> Identity {
    let recurs = !form.names().any(|name| TIMES.contains(&name));
    Identity { recurs, ..Identity::hashed(kind) }
}

/// The conversation of our address with theirs, if that is known.
fn lane(ours: Option<Cow<'_, str>>, theirs: Option<Cow<'_, str>>) -> Option<Lane> {
    let plain = |address: &str| address.strip_prefix("whatsapp:").unwrap_or(address).to_owned();
    let ours = ours.map(|ours| plain(&ours)).unwrap_or_default();
    theirs.map(|theirs| Lane::of(&[&ours, &plain(&theirs)]))
}

fn is_content(name: &[u8]) -> bool {
    CONTENT.iter().any(|start| name.starts_with(start.as_bytes()))
}
