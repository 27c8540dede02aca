//! What of a request is nobody's to keep: the session's API key, what `WhatsApp`'s own encryption needs,
//! and codes that let whoever has them into the account.

use super::super::gateway::Secrets;

pub(super) const SECRETS: Secrets = Secrets {
    // A code may come along with other news, such as that the session needs one.
    always: &[
        "sessionid",
        "apikey",
        "qr",
        "qrcode",
        "passkey",
        "pairingcode",
        "appstatesynckeyshare",
        "historysyncnotification",
    ],
    outermost: &[],
    codes: &["code", "base64"],
    unreadable: &["token"],
    kept: &["event", "timestamp"],
};
