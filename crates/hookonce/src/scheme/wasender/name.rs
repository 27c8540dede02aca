//! What an event's name announces.
//!
//! The gateway's own documents and libraries spell names in several ways, so that words count and
//! how they are joined doesn't.

use super::super::redact::tells_of;

/// What the elements of a request are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    /// Messages, incoming and own, under any of the names that announce them.
    Message,
    /// That the gateway sent a message, or failed to.
    Sent,
    /// What became of a message: its status, an edit.
    Update,
    /// What one person did with a message: got it, read it, played it.
    Receipt,
    Reaction,
    Delete,
    Poll,
    Call,
    /// The state of the session.
    Session,
    /// A code that lets whoever has it into the account.
    Code,
    /// Chats, groups and contacts: known names without ids of their own.
    Plain,
    /// A name that nobody told us of.
    Unknown,
}

impl Family {
    /// What a name announces that is in its [`normal`] spelling.
    pub(super) fn of(name: &str) -> Self {
        if code(name.as_bytes()).is_some() {
            return Self::Code;
        }
        let (first, rest) = name.split_once('.').unwrap_or((name, ""));
        match (first.strip_suffix('s').unwrap_or(first), rest) {
            // One message comes under up to three of these.
            (
                "message",
                "upsert"
                | "received"
                | "personal.received"
                | "group.received"
                | "newsletter.received",
            ) => Self::Message,
            ("message", "sent") => Self::Sent,
            ("message", "update") => Self::Update,
            ("message", "receipt.update") => Self::Receipt,
            ("message", "reaction") => Self::Reaction,
            ("message", "delete") => Self::Delete,
            ("poll", "results") => Self::Poll,
            ("call", "" | "received") => Self::Call,
            ("session", "status") => Self::Session,
            ("chat" | "group" | "contact", _) => Self::Plain,
            _ => Self::Unknown,
        }
    }

    /// Whether its elements have ids to be known by.
    pub(super) fn has_ids(self) -> bool {
        !matches!(self, Self::Session | Self::Code | Self::Plain | Self::Unknown)
    }

    /// The members that hold elements in an event of this name, where `data` is none itself.
    pub(super) fn lists(self, name: &str) -> &'static [&'static str] {
        match self {
            Self::Message | Self::Sent => &["messages", "message"],
            Self::Update => &["messages", "updates", "message"],
            Self::Receipt => &["messages", "receipts", "message"],
            Self::Reaction => &["messages", "reactions", "message"],
            Self::Delete => &["keys", "messages", "message"],
            Self::Poll => &["polls", "message"],
            Self::Call => &["calls", "call"],
            Self::Plain if name.starts_with("chat") => &["chats"],
            Self::Plain if name.starts_with("contact") => &["contacts"],
            Self::Plain => &["groups"],
            Self::Session | Self::Code | Self::Unknown => &[],
        }
    }
}

/// A name in lower case, its words joined by dots: `messages-personal.received`,
/// `MESSAGES_PERSONAL_RECEIVED` and `messagesPersonalReceived` are one.
pub(super) fn normal(name: &str) -> String {
    let mut normal = String::with_capacity(name.len() + 4);
    let mut last: Option<char> = None;
    for c in name.chars() {
        if !c.is_alphanumeric() {
            last = None;
            continue;
        }
        let starts_word = match last {
            None => !normal.is_empty(),
            Some(last) => last.is_lowercase() && c.is_uppercase(),
        };
        if starts_word {
            normal.push('.');
        }
        normal.extend(c.to_lowercase());
        last = Some(c);
    }
    normal
}

/// What code an event of this name brings, in whatever spelling and escapes; `None` if none.
pub(super) fn code(name: &[u8]) -> Option<&'static str> {
    if tells_of(name, &[b"qr"]) {
        Some("qrcode")
    } else if tells_of(name, &[b"passkey"]) {
        Some("passkey")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_means_the_same_in_all_its_spellings() {
        for name in [
            "messages-personal.received",
            "MESSAGES_PERSONAL_RECEIVED",
            "messagesPersonalReceived",
            " Messages.Personal..Received_",
            "message/personal:received",
        ] {
            let normal = normal(name).replace("message.", "messages.");
            assert_eq!(normal, "messages.personal.received", "{name}");
            assert_eq!(Family::of(&normal), Family::Message, "{name}");
        }
        assert_eq!(normal("QrCodeUpdated"), "qr.code.updated");
        assert_eq!((&*normal(""), &*normal("-.")), ("", ""));
    }

    #[test]
    fn a_name_that_is_only_like_a_known_one_is_unknown() {
        for name in ["message.brand.new", "messages", "message", "sent", "messagess.sent", "s", ""]
        {
            assert_eq!(Family::of(name), Family::Unknown, "{name}");
        }
        assert_eq!(Family::of("group.participants.update"), Family::Plain);
        assert_eq!(Family::of("calls"), Family::Call);
    }

    #[test]
    fn a_code_is_known_by_any_spelling_of_its_name() {
        for name in ["qrcode.updated", "QR_CODE", r"\u0071rcode.updated", "session.qr"] {
            assert_eq!(code(name.as_bytes()), Some("qrcode"), "{name}");
        }
        assert_eq!(code(b"pass-key.updated"), Some("passkey"));
        assert_eq!(code(b"messages.received"), None);
    }
}
