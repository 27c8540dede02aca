//! What Twilio posts, as forms and as JSON, and a sender that the generic scheme is told of.

use super::{BATCH, TEXT};

/// A message that came in, as a form.
pub(crate) fn twilio_small() -> String {
    let text =
        TEXT.repeat(2).replace("\\u2019", "%E2%80%99").replace("\\ud83d\\ude42", "%F0%9F%99%82");
    let text = text.replace(' ', "+").replace(',', "%2C").replace('?', "%3F");
    format!(
        "SmsMessageSid=SM0123456789abcdef0123456789abcdef&NumMedia=0&ProfileName=Sheena+Nelson&MessageType=text&SmsSid=SM0123456789abcdef0123456789abcdef&WaId=16505550000&SmsStatus=received&Body={text}&To=whatsapp%3A%2B15550783881&NumSegments=1&ReferralNumMedia=0&MessageSid=SM0123456789abcdef0123456789abcdef&AccountSid=AC0123456789abcdef0123456789abcdef&ChannelMetadata=%7B%22type%22%3A%22whatsapp%22%2C%22data%22%3A%7B%22context%22%3A%7B%22ProfileName%22%3A%22Sheena+Nelson%22%2C%22WaId%22%3A%2216505550000%22%7D%7D%7D&From=whatsapp%3A%2B16505550000&ApiVersion=2010-04-01"
    )
}

/// What an event stream posts.
pub(crate) fn twilio_batch() -> (String, usize) {
    let event = |n: usize| {
        format!(
            r#"{{"specversion":"1.0","type":"com.twilio.messaging.inbound-message.received","source":"/2010-04-01/Accounts/AC0123456789abcdef0123456789abcdef/Messages/SM0123456789abcdef0123456789ab{n:04}.json","id":"EZ0123456789abcdef0123456789ab{n:04}","dataschema":"https://events-schemas.twilio.com/Messaging.InboundMessageV1/6","datacontenttype":"application/json","time":"2025-06-08T17:59:43.000Z","data":{{"numMedia":0,"timestamp":"2025-06-08T17:59:43.000Z","accountSid":"AC0123456789abcdef0123456789abcdef","to":"whatsapp:+15550783881","numSegments":1,"messageSid":"SM0123456789abcdef0123456789ab{n:04}","eventName":"com.twilio.messaging.inbound-message.received","body":"Is it still there?","from":"whatsapp:+1650555{n:04}"}}}}"#
        )
    };
    let events: Vec<_> = (0..BATCH).map(event).collect();
    (format!("[{}]", events.join(",")), BATCH)
}

/// One message of a sender that is configured.
pub(crate) fn generic_small() -> String {
    generic(&generic_message(0, &TEXT.repeat(3)))
}

/// Many of them.
pub(crate) fn generic_batch() -> (String, usize) {
    let messages: Vec<_> = (0..BATCH).map(|n| generic_message(n, "Is it still there?")).collect();
    (generic(&messages.join(",")), BATCH)
}

fn generic(messages: &str) -> String {
    format!(
        r#"{{"messages":[{messages}],"event":{{"type":"messages","event":"post"}},"channel_id":"MANTIS-M72HC"}}"#
    )
}

fn generic_message(n: usize, text: &str) -> String {
    format!(
        r#"{{"id":"p.aBcDeFgHiJkLmNoPqRsT-wL4Wn{n:04}","from_me":false,"type":"text","chat_id":"1650555{n:04}@s.whatsapp.net","timestamp":1749416383,"source":"mobile","device_id":12,"status":"pending","text":{{"body":"{text}","link_preview":false}},"context":{{"quoted_id":"","forwarded":false,"ephemeral":0,"mentions":[]}},"from":"1650555{n:04}","from_name":"Sheena Nelson","chat_name":"Sheena Nelson"}}"#
    )
}
