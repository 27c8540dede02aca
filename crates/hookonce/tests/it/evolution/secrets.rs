//! No key and no code is in an event, whatever the request is like and wherever it ends.

use super::events;

fn tells(payload: &str) -> bool {
    use base64::Engine as _;
    let decoded = base64::engine::general_purpose::STANDARD.decode(payload).unwrap_or_default();
    payload.contains("SECRET") || decoded.windows(6).any(|part| part == b"SECRET")
}

#[test]
fn no_event_tells_a_key_or_a_code() {
    for body in [
        r#"{"event":"messages.edited","data":{"type":"APP_STATE_SYNC_KEY_SHARE","appStateSyncKeyShare":{"keys":[{"keyData":"SECRET"}]}}}"#,
        r#"{"event":"messages.upsert","data":{"key":{"id":"1"},"message":{"protocolMessage":{"app_state_sync_key_share":["SECRET"],"historySyncNotification":{"mediaKey":"SECRET"}}}}}"#,
        // JSON within JSON.
        r#""{\"event\":\"qrcode.updated\",\"apikey\":\"SECRET\"}""#,
        r#""{\"event\":\"passkey.updated\",\"data\":\"SECRET\"}""#,
        r#""{\"event\":\"connection.update\",\"data\":{\"code\":\"SECRET\"}}""#,
        r#"["{\"apikey\":\"SECRET\"}"]"#,
        r#"{"event":"messages.upsert","payload":"{\"apikey\":\"SECRET\"}"}"#,
        r#"{"event":"messages.upsert","payload":"{\"token\":\"SECRET\"}"}"#,
        r#"{"event":"messages.upsert","data":[1,"{\"apikey\":\"SECRET\"}"]}"#,
        r#"{"event":"x.y","payload":"{\"event\":\"connection.update\",\"data\":{\"base64\":\"SECRET\"}}"}"#,
        // What can't be read.
        r#"{"apikey":,"SECRET","data":1}"#,
        r#"{"apikey":}"SECRET"}"#,
        "payload=%7B%22apikey%22%3A%22SECRET%22%7D",
        "payload=%7B%22event%22%3A%22passkey.updated%22%2C%22data%22%3A%22SECRET%22%7D",
        "data%5Bapikey%5D=SECRET",
        r"\x22apikey\x22:\x22SECRET\x22",
        r#"{"event":"messages.upsert","data":{"a":"b"c"},"token":"SECRET"}"#,
        r#""{"event":"connection.update","instance":"i","data":{"state":"connecting","code":"SECRET","base64":"SECRET"}}"#,
    ] {
        for end in 0..=body.len() {
            for tail in [&b""[..], b"\xff", b"\0"] {
                for event in events(&[&body.as_bytes()[..end], tail].concat()) {
                    assert!(!tells(&event.payload), "{}\n{}", &body[..end], event.payload);
                }
            }
        }
    }
}

#[test]
fn what_somebody_wrote_is_kept() {
    for kept in [
        r#"{"event":"messages.upsert","data":{"key":{"id":"A"},"message":{"conversation":"{\"apikey\":1}","token":"x"}}}"#,
        r#"["a \"quote\"",{"event":"x.y"}]"#,
        r#"{"event":"x.y","text":"say \"code\" in this session"}"#,
    ] {
        assert_eq!(events(kept.as_bytes())[0].payload, kept);
    }
}
