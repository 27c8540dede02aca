//! Meta's question, by GET, whether we are who it thinks.
//!
//! It is asked when the callback URL or the token is set. Who doesn't know the token gets nothing
//! back of what they sent.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

use super::super::{Challenge, Secret};

/// The longest challenge that is answered, in bytes. Meta's has ten digits.
const CHALLENGE_LIMIT: usize = 1024;

/// Answers the raw query string `query`, if it has the right token.
pub(super) fn answer(query: &str, token: Option<&Secret>) -> Challenge {
    let [mut mode, mut text, mut presented] = [const { Vec::new() }; 3];
    let mut asked = false;
    for pair in query.split('&') {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let Some(name) = decode(name).filter(|name| name.starts_with("hub.")) else { continue };
        asked = true;
        match &name[..] {
            "hub.mode" => mode.push(decode(value)),
            "hub.challenge" => text.push(decode(value)),
            "hub.verify_token" => presented.push(decode(value)),
            _ => {}
        }
    }
    if !asked {
        return Challenge::NotAsked;
    }
    // Exactly one of each: what is asked twice is answered neither way.
    let ([Some(mode)], [Some(presented)]) = (&mode[..], &presented[..]) else {
        return Challenge::Refused;
    };
    // A secret is never empty, so that neither is a token that matches.
    if mode != "subscribe" || !token.is_some_and(|token| token.matches(presented)) {
        return Challenge::Refused;
    }
    match &text[..] {
        [] => Challenge::NotAsked,
        [Some(text)] if text.is_empty() => Challenge::NotAsked,
        [Some(text)] if text.len() <= CHALLENGE_LIMIT => Challenge::Answer(text.clone()),
        _ => Challenge::Refused,
    }
}

/// Decodes one part of a query as a form is: `+` is a space. `None` if it isn't UTF-8.
fn decode(part: &str) -> Option<String> {
    let spaced =
        if part.contains('+') { part.replace('+', " ").into() } else { Cow::Borrowed(part) };
    percent_decode_str(&spaced).decode_utf8().ok().map(Cow::into_owned)
}
