//! What of a request is nobody's to keep: the session's API key, and codes that let whoever has them
//! into the account.

use std::borrow::Cow;

use super::super::redact::{cut_off, members, redact, redact_where};
use super::name;

/// Members that are secret in every event. A code may come along with other news, such as that the
/// session needs one.
const ALWAYS: [&str; 6] = ["sessionid", "apikey", "qr", "qrcode", "passkey", "pairingcode"];
/// Members that bring a code in what is said of a session.
const OF_SESSION: [&str; 2] = ["code", "base64"];
/// Members that bring a code where the event's name may have been lost.
const CODES: [&str; 7] = ["sessionid", "apikey", "qr", "qrcode", "passkey", "pairingcode", "token"];
/// What may be known of an event that brings a code.
const ABOUT: [&str; 2] = ["event", "timestamp"];

/// The body without credentials.
pub(super) fn redacted(body: &[u8]) -> Cow<'_, [u8]> {
    let (mut is_named, mut is_other) = (false, false);
    let (mut brings_code, mut is_of_session) = (false, false);
    let redacted = redact_where(body, |member| {
        if member.is_outermost() && member.is("event") {
            match member.string().filter(|name| name.len() > 2) {
                Some(name) => {
                    is_named = true;
                    brings_code |= name::code(name).is_some();
                    is_of_session |= name::tells_of(name, &[b"session"]);
                }
                None => is_other = true,
            }
        }
        member.is_any(&ALWAYS) || (member.is("data") && member.is_text_with(&ALWAYS))
    });
    // A name that isn't where names are may be anywhere.
    if brings_code || ((is_other || !is_named) && name::tells_of(body, &[b"qrcode", b"passkey"])) {
        // All that is said of it, whatever it is called there.
        return Cow::Owned(redact_where(&redacted, |member| !member.is_any(&ABOUT)).into_owned());
    }
    if is_of_session {
        return Cow::Owned(redact(&redacted, &OF_SESSION).into_owned());
    }
    redacted
}

/// A redacted body that can't be read without what may still be a credential in it: what follows a
/// telling name, since nobody can say where its value ends; and all of `data`, where it may be that
/// of a code's event whose name was lost.
pub(super) fn redacted_unreadable(body: &[u8]) -> Vec<u8> {
    let is_whole = |name: &[u8]| name.len() > 1 && name.ends_with(b"\"");
    let is_named = members(body).any(|member| {
        member.is_outermost() && member.is("event") && member.string().is_some_and(is_whole)
    });
    let body = redact(body, &CODES);
    let body =
        redact_where(&body, |member| member.is("data") && !(is_named && member.string().is_none()));
    cut_off(&body, &CODES).into_owned()
}
