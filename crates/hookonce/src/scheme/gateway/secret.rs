//! What of a gateway's request is nobody's to keep: keys, and codes that let whoever has them into the
//! account.
//!
//! Knows no gateway's names, and looks at bytes only, so that a broken body is no way round it.

use std::borrow::Cow;

use crate::element::Json;

use super::super::redact::{cut_off, has_member, members, redact, redact_where, tells_of};

/// What is left of a body that is a text with a secret in it.
const NOTHING: &[u8] = b"\"REDACTED\"";

/// What an event is about that brings a code, by its name.
const OF_CODE: [&[u8]; 2] = [b"qr", b"passkey"];
/// What tells that a body without a name, or that can't be read, may bring a code.
const CODE_WORDS: [&[u8]; 2] = [b"qrcode", b"passkey"];
/// What tells of an event that may bring a code along.
const OF_CONNECTION: [&[u8]; 2] = [b"connection", b"session"];

/// The names of a gateway's secrets, in lower case.
pub(in crate::scheme) struct Secrets {
    /// Members that are secret in every event.
    pub(in crate::scheme) always: &'static [&'static str],
    /// Members that are secret beside the event's name. Further in they may be what somebody wrote.
    pub(in crate::scheme) outermost: &'static [&'static str],
    /// Members that bring a code in events about connections and sessions.
    pub(in crate::scheme) codes: &'static [&'static str],
    /// Members that may be secret where nobody can say what they are in.
    pub(in crate::scheme) unreadable: &'static [&'static str],
    /// What may be known of an event that brings a code.
    pub(in crate::scheme) kept: &'static [&'static str],
}

impl Secrets {
    /// The body without secrets.
    pub(in crate::scheme) fn redacted<'b>(&self, body: &'b [u8]) -> Cow<'b, [u8]> {
        if self.is_text_with_secret(body) {
            return Cow::Borrowed(NOTHING);
        }
        let (mut is_named, mut is_other) = (false, false);
        let (mut brings_code, mut is_of_connection) = (false, false);
        let redacted = redact_where(body, |member| {
            let is_outermost = member.is_outermost();
            if is_outermost && member.is("event") {
                match member.string().filter(|name| name.len() > 2) {
                    Some(name) => {
                        is_named = true;
                        brings_code |= tells_of(name, &OF_CODE);
                        is_of_connection |= tells_of(name, &OF_CONNECTION);
                    }
                    None => is_other = true,
                }
            }
            member.is_any(self.always)
                || (is_outermost && member.is_any(self.outermost))
                || (is_outermost && member.has_text(|text| self.is_in(text)))
                || (member.is("data") && member.begins_with_text(|text| self.is_in(text)))
        });
        // A name that isn't where names are may be anywhere.
        if brings_code || ((is_other || !is_named) && tells_of(body, &CODE_WORDS)) {
            // All that is said of it, whatever it is called there.
            let redacted = redact_where(&redacted, |member| !member.is_any(self.kept));
            return Cow::Owned(redacted.into_owned());
        }
        if is_of_connection {
            return Cow::Owned(redact(&redacted, self.codes).into_owned());
        }
        redacted
    }

    /// A redacted body that can't be read without what may still be a secret in it: what follows a
    /// telling name, since nobody can say where its value ends; all of `data`, where it may be that
    /// of a code's event whose name was lost; and where a code is told of, all but what may be known.
    pub(in crate::scheme) fn redacted_unreadable(&self, body: &[u8]) -> Vec<u8> {
        // One that was taken out says nothing.
        let is_whole = |name: &[u8]| name.len() > 1 && name.ends_with(b"\"") && name != NOTHING;
        let is_named = members(body).any(|member| {
            member.is_outermost() && member.is("event") && member.string().is_some_and(is_whole)
        });
        let tells_of_code = tells_of(body, &CODE_WORDS);
        let mut names = [self.always, self.outermost, self.unreadable].concat();
        if tells_of_code || tells_of(body, &OF_CONNECTION) {
            names.extend(self.codes);
        }
        let body = redact(body, &names);
        let body = redact_where(&body, |member| {
            if tells_of_code {
                return !member.is_any(self.kept);
            }
            member.is("data") && !(is_named && member.string().is_none())
        });
        if tells_of_code {
            names.push("data");
        }
        cut_off(&body, &names).into_owned()
    }

    /// Whether a body is no object, but has a text in it that is JSON once more with a secret.
    fn is_text_with_secret(&self, body: &[u8]) -> bool {
        let is_object = body.trim_ascii_start().starts_with(b"{");
        // One that can't be read is to be known as such.
        !is_object && self.is_in(body) && Json::read(body).is_ok()
    }

    /// Whether there is a secret in the JSON that stands in the strings of this text.
    fn is_in(&self, text: &[u8]) -> bool {
        let has = |names: &[&str]| has_member(text, names);
        // Its quotes are escaped.
        if !text.contains(&b'\\') {
            return false;
        }
        has(&[self.always, self.outermost].concat())
            || (tells_of(text, &CODE_WORDS) && has(&["event"]))
            || (tells_of(text, &OF_CONNECTION) && has(self.codes))
    }
}
