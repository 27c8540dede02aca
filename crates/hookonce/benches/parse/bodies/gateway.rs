//! What gateways to `WhatsApp` post, with what their documents show around it.

use super::{BATCH, TEXT};

/// One message, under one of the names that announce it.
pub(crate) fn wasender_small() -> String {
    wasender("messages.received", &wasender_message(0, TEXT))
}

/// As many messages as fit.
pub(crate) fn wasender_batch() -> (String, usize) {
    let messages: Vec<_> = (0..BATCH).map(|n| wasender_message(n, "Is it still there?")).collect();
    (wasender("messages.upsert", &format!("[{}]", messages.join(","))), BATCH)
}

fn wasender(name: &str, messages: &str) -> String {
    format!(
        r#"{{"event":"{name}","sessionId":"0123456789abcdef0123456789abcdef0123456789abcdef","timestamp":1749416383000,"data":{{"messages":{messages}}}}}"#
    )
}

fn wasender_message(n: usize, text: &str) -> String {
    format!(
        r#"{{"key":{{"id":"3EB0A7C5F0B14D2E{n:04}","fromMe":false,"remoteJid":"1650555{n:04}@s.whatsapp.net","senderPn":"1650555{n:04}@s.whatsapp.net","cleanedSenderPn":"1650555{n:04}","senderLid":"9876543210{n:04}@lid"}},"messageTimestamp":1749416383,"pushName":"Sheena Nelson","broadcast":false,"messageBody":"{text}","message":{{"conversation":"{text}","messageContextInfo":{{"deviceListMetadataVersion":2,"messageSecret":"kq1t3mQ0v9y8nU3mJ3cVQk5b6m8e5mJmJzqzX2i4n1A="}}}}}}"#
    )
}

/// One message of the engine that adds the least.
pub(crate) fn waha_small() -> String {
    let text = TEXT.repeat(2);
    format!(
        r#"{{"id":"evt_01jx7y8z9abcdefghjkmnpqrst","timestamp":1749416383123,"event":"message","session":"default","metadata":{{}},"me":{{"id":"15550783881@c.us","pushName":"Shop"}},"payload":{{"id":"false_16505550000@c.us_3EB0A7C5F0B14D2E0000","timestamp":1749416383,"from":"16505550000@c.us","fromMe":false,"source":"app","to":"15550783881@c.us","participant":null,"body":"{text}","hasMedia":false,"media":null,"ack":1,"ackName":"SERVER","location":null,"vCards":[],"_data":{{"notifyName":"Sheena Nelson","type":"chat"}},"replyTo":null}},"engine":"WEBJS","environment":{{"version":"2025.6.1","engine":"WEBJS","tier":"PLUS","browser":"/usr/bin/google-chrome-stable"}}}}"#
    )
}

/// One message, under the name that announces it.
pub(crate) fn evolution_small() -> String {
    evolution("messages.upsert", &evolution_message(0, TEXT))
}

/// A part of the history, which comes in arrays.
pub(crate) fn evolution_batch() -> (String, usize) {
    let messages: Vec<_> = (0..BATCH).map(|n| evolution_message(n, "Is it still there?")).collect();
    (evolution("messages.set", &format!("[{}]", messages.join(","))), BATCH)
}

fn evolution(name: &str, data: &str) -> String {
    format!(
        r#"{{"event":"{name}","instance":"shop","data":{data},"destination":"https://hooks.example.org/webhooks/source","date_time":"2025-06-08T17:59:43.123Z","sender":"15550783881@s.whatsapp.net","server_url":"http://localhost:8080","apikey":"01234567-89AB-CDEF-0123-456789ABCDEF"}}"#
    )
}

fn evolution_message(n: usize, text: &str) -> String {
    format!(
        r#"{{"key":{{"remoteJid":"1650555{n:04}@s.whatsapp.net","fromMe":false,"id":"3EB0A7C5F0B14D2E{n:04}"}},"pushName":"Sheena Nelson","status":"DELIVERY_ACK","message":{{"conversation":"{text}","messageContextInfo":{{"deviceListMetadata":{{"senderKeyHash":"Vv3nTq3m2k8xJg==","senderTimestamp":"1749400000","recipientKeyHash":"b8J3mQ0v9y8nUg==","recipientTimestamp":"1749410000"}},"deviceListMetadataVersion":2,"messageSecret":"kq1t3mQ0v9y8nU3mJ3cVQk5b6m8e5mJmJzqzX2i4n1A="}}}},"messageType":"conversation","messageTimestamp":1749416383,"instanceId":"0f9d3c1e-6a1b-4a8e-9d7c-1f2e3d4c5b6a","source":"android"}}"#
    )
}
