//! What makes a form an event: a message, what became of one, a call, an event of a conversation.
//!
//! The table is in `docs/schemes/twilio.md`.

use std::borrow::Cow;

use crate::event::{Key, Kind, Lane, Priority};

use super::super::identity::Identity;
use super::form::Form;
use super::signed::SignedText;

/// The names that a message's id may have.
const MESSAGE_SIDS: [&str; 3] = ["MessageSid", "SmsMessageSid", "SmsSid"];

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
const TIMES: [&str; 3] = ["DateCreated", "DateUpdated", "Timestamp"];

/// What this form is, and the digest of what it says where its key isn't a hash. A key that another
/// cut of the same signed text could have is a hash, so that no captured request becomes a message
/// that Twilio never sent.
pub(super) fn identify(form: &Form<'_>, signed: &SignedText) -> (Identity, Option<[u8; 32]>) {
    let sid = form.first_text(&MESSAGE_SIDS);
    let key_sid = sid.as_deref().filter(|sid| signed.names_only(sid, &MESSAGE_SIDS));
    if let Some(status) = sent_status(form) {
        let key = key_sid.map(|sid| Key::of(&["status", sid, &status]));
        let kind = Kind::of("status", Some(&status));
        return (Identity { key, ..Identity::hashed(kind) }, Some(form.digest(is_content)));
    }
    // Before messages: what happens to a message of a conversation has the message's id.
    if let Some(name) = form.text("EventType") {
        let identity = hashed(signed, Kind::of("event", Some(&name)));
        let digest = form.digest(|name| name != b"RetryCount");
        return (Identity { key: conversation(form, &name), ..identity }, Some(digest));
    }
    if sid.is_some() {
        let counts = |name: &[u8]| is_content(name) && !name.starts_with(b"Error");
        let key = key_sid.filter(|_| signed.is_message());
        let key = key.map(|sid| Key::of(&["message", sid]));
        return (Identity { key, ..message(form) }, Some(form.digest(counts)));
    }
    match form.text("CallSid") {
        Some(sid) => {
            let mut call = call(form, &sid);
            call.key = call.key.filter(|_| signed.names_only(&sid, &["CallSid"]));
            (call, Some(form.digest(|_| true)))
        }
        None => (hashed(signed, Kind::of("unknown", Some("request"))), None),
    }
}

/// The status of what was sent, by its name or the older one; a message that came in may have one as
/// well.
fn sent_status<'f>(form: &'f Form<'_>) -> Option<Cow<'f, str>> {
    let came_in = |status: &str| {
        ["received", "receiving"].iter().any(|word| word.eq_ignore_ascii_case(status))
    };
    match form.text("MessageStatus") {
        Some(status) if came_in(&status) && form.has("Body") => None,
        Some(status) => Some(status),
        None => form.text("SmsStatus").filter(|status| !came_in(status)),
    }
}

/// The key of an event of a conversation that says what it is about and when.
fn conversation(form: &Form<'_>, name: &str) -> Option<Key> {
    let about = ["MessageSid", "ConversationSid", "ParticipantSid"].map(|name| form.text(name));
    let at = form.first_text(&["DateUpdated", "DateCreated"])?;
    about.iter().any(Option::is_some).then_some(())?;
    // A message has a status for each of those whom it went to.
    let status = form.text("Status");
    let mut parts = vec!["event", name];
    parts.extend(about.iter().chain([&status]).map(|part| part.as_deref().unwrap_or("-")));
    parts.push(&at);
    Some(Key::of(&parts))
}

fn message(form: &Form<'_>) -> Identity {
    let media = form.text("NumMedia").is_some_and(|n| n.parse::<u32>().is_ok_and(|n| n > 0));
    let plain = if media { "media" } else { "text" };
    let word = form.text("MessageType").unwrap_or(Cow::Borrowed(plain));
    Identity {
        lane: lane(form.text("To"), form.text("From")),
        priority: Priority::Urgent,
        ..Identity::hashed(Kind::of("message", Some(&word)))
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
fn hashed(signed: &SignedText, kind: Kind) -> Identity {
    let recurs = !TIMES.iter().any(|name| signed.has(name));
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
