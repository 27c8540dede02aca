//! What senders post: a small request of about 1 kB, and as much as one may put into one.

mod gateway;
mod other;

use std::fmt::Write as _;

pub(crate) use gateway::*;
pub(crate) use other::*;

/// What a person writes, escaped as senders do.
const TEXT: &str = "Hello, is the blue one still there in size 42? I\\u2019d take two of it \\ud83d\\ude42. Hello, is the blue one still there in size 42? I\\u2019d take two of it \\ud83d\\ude42. ";

/// How many events there are in one request of a sender whose limit nobody knows.
const BATCH: usize = 1000;

/// Meta promises at most so many elements a request.
const META_BATCH: usize = 1000;

/// One message, with what the Cloud API writes around it and a text of some length.
pub(crate) fn meta_small() -> String {
    let text =
        "Hello, is the blue one still there in size 42? I\\u2019d take two of it \\ud83d\\ude42. "
            .repeat(5);
    meta(&[(message(0, &text), contact(0))])
}

/// A thousand messages of as many people.
pub(crate) fn meta_batch() -> (String, usize) {
    let people: Vec<_> =
        (0..META_BATCH).map(|n| (message(n, "Is it still there?"), contact(n))).collect();
    (meta(&people), META_BATCH)
}

fn message(n: usize, text: &str) -> String {
    format!(
        r#"{{"from":"1650555{n:04}","from_user_id":"US.1349120867215{n:04}","id":"wamid.HBgLMTY1MDU1NTEyMzQVAgASGBQzQTdCNTg5RTY4RUM{n:04}","timestamp":"1749416383","type":"text","text":{{"body":"{text}"}}}}"#
    )
}

fn contact(n: usize) -> String {
    format!(
        r#"{{"profile":{{"name":"Sheena Nelson"}},"wa_id":"1650555{n:04}","user_id":"US.1349120867215{n:04}"}}"#
    )
}

fn meta(people: &[(String, String)]) -> String {
    let (mut messages, mut contacts) = (String::new(), String::new());
    for (n, (message, contact)) in people.iter().enumerate() {
        let comma = if n > 0 { "," } else { "" };
        // Writing to a string can't fail.
        let _ = write!(messages, "{comma}{message}");
        let _ = write!(contacts, "{comma}{contact}");
    }
    format!(
        r#"{{"object":"whatsapp_business_account","entry":[{{"id":"102290129340398","changes":[{{"value":{{"messaging_product":"whatsapp","metadata":{{"display_phone_number":"15550783881","phone_number_id":"106540352242922"}},"contacts":[{contacts}],"messages":[{messages}]}},"field":"messages"}}]}}]}}"#
    )
}
