//! An event as a message: what the AMQP binding of `CloudEvents` 1.0 says in binary mode, whose
//! properties of the application are the headers of 0-9-1.

use lapin::BasicProperties;
use lapin::types::{AMQPValue, FieldTable, ShortString};

use crate::sink::attributes;
use crate::step::StepContext;

/// What the binding puts in front of an attribute's name.
const PREFIX: &str = "cloudEvents_";
/// The delivery mode of what survives a restart.
const PERSISTENT: u8 = 2;

/// The attributes and the idempotency key, which is the message's id, too: it is what no two messages
/// have unless one is the other's copy. An event that several routes publish has as many messages.
pub(super) fn properties(context: &StepContext<'_>) -> BasicProperties {
    let key = context.idempotency_key();
    let event = &context.claim.event;
    let mut headers = FieldTable::default();
    let mut put = |name: String, value: &str| {
        headers.insert(name.into(), AMQPValue::LongString(value.into()));
    };
    for (name, value) in attributes::of(context) {
        put(format!("{PREFIX}{name}"), &value);
    }
    put("idempotency-key".to_owned(), &key);
    let properties = BasicProperties::default()
        .with_delivery_mode(PERSISTENT)
        .with_headers(headers)
        .with_timestamp(u64::try_from(event.received_at.as_second()).unwrap_or_default());
    // A user of the library may have names that are longer than such a field may be: the headers have
    // them whole.
    let properties = match short(key) {
        Some(key) => properties.with_message_id(key),
        None => properties,
    };
    match short(event.content_type.clone()) {
        Some(own) => properties.with_content_type(own),
        None => properties,
    }
}

/// A text where the protocol has room for 255 bytes.
pub(super) fn short(text: String) -> Option<ShortString> {
    ShortString::try_new(text).ok()
}
