//! What the gateways share that speak to `WhatsApp` as one of its own clients does: addresses (JIDs)
//! and the content of messages.
//!
//! The forms are those of the library Baileys, which most of them are built on.

use std::borrow::Cow;

use crate::element::Json;

/// Servers at which a person is known by phone number.
const PHONE_SERVERS: [&str; 3] = ["s.whatsapp.net", "c.us", "hosted"];

/// Members of a message that say nothing of what it is: keys and context that come with any.
const BESIDE: [&str; 3] = [
    "messageContextInfo",
    "senderKeyDistributionMessage",
    "fastRatchetKeySenderKeyDistributionMessage",
];

/// Members that are a text.
const TEXT: [&str; 2] = ["conversation", "extendedTextMessage"];

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

/// What sort of message this content is: `text`, `image`, `reaction`; `None` where it has none.
pub(super) fn message_type(message: Json<'_>) -> Option<Cow<'_, str>> {
    let message = message.object()?;
    let says = message.members().iter().filter(|member| !member.value.is_null());
    let name = says.map(|member| member.name()).find(|name| !BESIDE.contains(&&**name))?;
    if TEXT.contains(&&*name) {
        return Some(Cow::Borrowed("text"));
    }
    Some(match name.strip_suffix("Message") {
        Some(word) if !word.is_empty() => Cow::Owned(word.to_owned()),
        _ => name,
    })
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
    fn a_message_is_what_its_first_telling_member_says() {
        let of = |text: &'static str| message_type(Json::read(text.as_bytes()).unwrap());
        assert_eq!(of(r#"{"conversation":"hi"}"#).as_deref(), Some("text"));
        assert_eq!(
            of(r#"{"messageContextInfo":{},"extendedTextMessage":{}}"#).as_deref(),
            Some("text")
        );
        assert_eq!(of(r#"{"conversation":null,"imageMessage":{}}"#).as_deref(), Some("image"));
        assert_eq!(of(r#"{"Message":{}}"#).as_deref(), Some("Message"));
        assert_eq!(of(r#"{"messageContextInfo":{}}"#), None);
        assert_eq!(of("[]"), None);
    }
}
