//! How far a message got, in the words and numbers of the libraries below the gateways.
//!
//! There are two numberings, which don't agree: that of Baileys, and that of `WhatsApp` Web, whose
//! number is called `ack`.

use std::borrow::Cow;

/// One status, in every way in which it is told.
struct Status {
    word: &'static str,
    /// Baileys' number and name.
    baileys: [&'static str; 2],
    /// `WhatsApp` Web's number and name.
    web: [&'static str; 2],
}

const STATUSES: [Status; 6] = [
    Status { word: "error", baileys: ["0", "error"], web: ["-1", "error"] },
    Status { word: "pending", baileys: ["1", "pending"], web: ["0", "pending"] },
    Status { word: "sent", baileys: ["2", "server_ack"], web: ["1", "server"] },
    Status { word: "delivered", baileys: ["3", "delivery_ack"], web: ["2", "device"] },
    Status { word: "read", baileys: ["4", "read"], web: ["3", "read"] },
    Status { word: "played", baileys: ["5", "played"], web: ["4", "played"] },
];

/// The word for a status, however Baileys or a gateway on it tells it; any other as it comes, in
/// lower case.
pub(in crate::scheme) fn status_word(told: &str) -> Cow<'static, str> {
    let lower = told.to_lowercase();
    let is = |status: &&Status| status.word == lower || status.baileys.contains(&&*lower);
    match STATUSES.iter().find(is) {
        Some(status) => Cow::Borrowed(status.word),
        None => Cow::Owned(lower),
    }
}

/// The name that `WhatsApp` Web has for the number `ack`; any other number as it comes.
pub(in crate::scheme) fn ack_word(ack: &str) -> &str {
    STATUSES.iter().find(|status| status.web[0] == ack).map_or(ack, |status| status.web[1])
}

/// The number that `WhatsApp` Web has for this name; any other name as it comes.
pub(in crate::scheme) fn ack_of(word: &str) -> &str {
    let is = |status: &&Status| status.web[1].eq_ignore_ascii_case(word);
    STATUSES.iter().find(is).map_or(word, |status| status.web[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_has_one_word_however_it_is_told() {
        for told in ["3", "DELIVERY_ACK", "delivered", "Delivered"] {
            assert_eq!(status_word(told), "delivered");
        }
        assert_eq!((&*status_word("-1"), &*status_word("DELETED")), ("-1", "deleted"));
        assert_eq!((ack_word("2"), ack_of("DEVICE"), ack_word("9")), ("device", "2", "9"));
    }
}
