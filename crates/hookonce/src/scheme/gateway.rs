//! What the gateways share that speak to `WhatsApp` as one of its own clients does: addresses (JIDs),
//! the content of messages, and how far these got.
//!
//! The forms are those of the library Baileys, which most of them are built on.

mod content;
mod secret;
mod status;

use std::borrow::Cow;

use crate::element::Json;

pub(super) use content::{
    Edit, edited, id_in, is_placeholder, message_type, protocol, revokes, type_of, unwrapped,
};
pub(super) use secret::Secrets;
pub(super) use status::{ack_of, ack_word, status_word};

/// Why an element can't be handled that is known by an id and has none.
pub(super) const NO_ID: &str = "element has no id";
/// Why an element can't be handled that doesn't say what became of what it is about.
pub(super) const NO_STATUS: &str = "element has no status";

/// Servers at which a person is known by phone number.
const PHONE_SERVERS: [&str; 3] = ["s.whatsapp.net", "c.us", "hosted"];

/// One name for a chat in any of its spellings: the digits of a phone number, with or without `+`,
/// device or server; for groups, channels and people who hide their number the address itself,
/// without a device. `None` for an empty one.
pub(super) fn chat(address: &str) -> Option<String> {
    let (user, server) = address.split_once('@').unwrap_or((address, "s.whatsapp.net"));
    // `user:device` is one of a person's devices.
    let user = user.split_once(':').map_or(user, |(user, _)| user);
    let user = user.strip_prefix('+').unwrap_or(user);
    if user.is_empty() {
        None
    } else if PHONE_SERVERS.contains(&server) {
        Some(user.to_owned())
    } else {
        Some(format!("{user}@{server}"))
    }
}

/// Whether this is the address of a person who hides the phone number.
pub(super) fn is_hidden(address: &str) -> bool {
    address.ends_with("@lid") || address.ends_with("@hosted.lid")
}

/// Whether this is the address of one person, by number or hidden, and not of a group, a channel or
/// a broadcast.
pub(super) fn is_person(address: &str) -> bool {
    let server = address.split_once('@').map_or("s.whatsapp.net", |(_, server)| server);
    PHONE_SERVERS.contains(&server) || is_hidden(address)
}

/// The conversation with `address`, which may be known by `others` too: a number counts more than an
/// address that hides it, so that a person has one conversation whichever comes first.
pub(super) fn conversation<'a>(
    address: Option<Cow<'a, str>>,
    others: impl IntoIterator<Item = Option<Cow<'a, str>>>,
) -> Option<String> {
    let Some(address) = address else {
        return others.into_iter().flatten().find_map(|other| chat(&other));
    };
    let plain = |other: &Cow<'_, str>| is_person(other) && !is_hidden(other);
    let other = || others.into_iter().flatten().filter(plain).find_map(|other| chat(&other));
    if is_hidden(&address) { other().or_else(|| chat(&address)) } else { chat(&address) }
}

/// Whether a sender says yes, in any of the ways in which programs write that.
pub(super) fn is_yes(value: Json<'_>) -> bool {
    let is_word = |text: Cow<'_, str>| text == "1" || text.eq_ignore_ascii_case("true");
    value.raw() == "true" || value.text().is_some_and(is_word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chat_has_one_name_in_all_its_spellings() {
        for address in [
            "15550001111",
            "+15550001111",
            "15550001111@s.whatsapp.net",
            "15550001111:3@s.whatsapp.net",
            "15550001111@c.us",
        ] {
            assert_eq!(chat(address).as_deref(), Some("15550001111"), "{address}");
        }
        assert_eq!(chat("900001:7@lid").as_deref(), Some("900001@lid"));
        assert_eq!(chat("1203-16@g.us").as_deref(), Some("1203-16@g.us"));
        assert_eq!(chat("1@newsletter").as_deref(), Some("1@newsletter"));
        assert_eq!((chat(""), chat("@g.us"), chat("+")), (None, None, None));
    }

    #[test]
    fn a_number_counts_more_than_an_address_that_hides_it() {
        let of = |address: &'static str, other: &'static str| {
            let some = |text: &'static str| (!text.is_empty()).then_some(Cow::Borrowed(text));
            conversation(some(address), [None, some(other)])
        };
        assert_eq!(of("9@lid", "1@s.whatsapp.net").as_deref(), Some("1"));
        assert_eq!(of("9@lid", "8@lid").as_deref(), Some("9@lid"));
        assert_eq!(of("9@lid", "").as_deref(), Some("9@lid"));
        assert_eq!(of("2@c.us", "1@c.us").as_deref(), Some("2"));
        assert_eq!(of("5@g.us", "1@c.us").as_deref(), Some("5@g.us"));
        assert_eq!(of("", "9@lid").as_deref(), Some("9@lid"));
        assert_eq!(of("", ""), None);
    }

    #[test]
    fn yes_is_a_word_a_number_or_a_text() {
        let says = |text: &str| is_yes(Json::read(text.as_bytes()).unwrap());
        assert!(["true", "1", "\"1\"", "\"true\"", "\"True\"", "\"TRUE\""].into_iter().all(says));
        assert!(!["false", "0", "2", "null", "\"\"", "\"no\"", "[1]", "{}"].into_iter().any(says));
    }
}
