//! What of a request is nobody's to keep: the session's API key, and codes that let whoever has them
//! into the account.

use std::borrow::Cow;

use super::super::redact::{cut_off, members, redact, redact_where};
use super::name;

/// Members that are secret in every event. A code may come along with other news, such as that the
/// session needs one.
const ALWAYS: [&str; 3] = ["sessionid", "qr", "qrcode"];
/// Members that bring a code where the event's name may have been lost.
const CODES: [&str; 5] = ["sessionid", "qr", "qrcode", "passkey", "token"];
/// What may be known of an event that brings a code.
const ABOUT: [&str; 2] = ["event", "timestamp"];

/// The body without credentials.
pub(super) fn redacted(body: &[u8]) -> Cow<'_, [u8]> {
    let mut brings_code = false;
    let redacted = redact_where(body, |member| {
        let is_name = member.is_outermost() && member.is("event");
        brings_code |= is_name && member.string().is_some_and(|name| name::code(name).is_some());
        member.is_any(&ALWAYS)
    });
    if !brings_code {
        return redacted;
    }
    // All that is said of it, whatever it is called there.
    Cow::Owned(redact_where(&redacted, |member| !member.is_any(&ABOUT)).into_owned())
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
