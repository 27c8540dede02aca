//! Nothing of a session's key or of a code is in an event, whatever the request is like.

use hookonce::event::NewEvent;
use proptest::prelude::*;

use super::events;
use crate::bed::writer::Writer;

const KEY: &str = "SECRETKEY";
const CODE: &str = "2@SECRETCODE";

fn tells(event: &NewEvent) -> bool {
    use base64::Engine as _;
    let decoded = base64::engine::general_purpose::STANDARD.decode(&event.payload);
    let bytes = decoded.unwrap_or_default();
    let texts = [&*event.payload, event.key.as_str(), event.kind.as_str(), &event.element];
    let has = |text: &[u8]| text.windows(6).any(|part| part == b"SECRET");
    has(&bytes) || texts.iter().any(|text| has(text.as_bytes()))
}

#[test]
fn no_event_tells_a_session_key_or_a_code() {
    for body in [
        r##"{"event":"messages.upsert","sessionId":"#K","data":{"messages":[{"key":{"id":"1"},"session_id":"#K"}]}}"##,
        r##"{"event":"session.status","data":{"status":"need_scan","session_id":["#K"],"qr":"#C","qrCode":{"code":"#C"}}}"##,
        r##"{"event":"qrcode.updated","data":{"qr":"#C","base64":"#C"}}"##,
        r##"{"event":"QRCODE_UPDATED","code":"#C"}"##,
        r##"{"data":"#C","event":"passkey.updated"}"##,
        r##"{"data":[["#C"]],"event":"pass\u006bey.updated","\u0065vent":"other"}"##,
        r##"[{"event":"qrcode.updated","data":{"x":"#C"}}]"##,
        r##"{"event":"message.sent","session-id":"#K","SESSIONID":"#K","session\u005fid":"#K"}"##,
        r##"{"event":"something.new","data":[{"sessionId":"#K"},{"a":{"sessionId":"#K"}}]}"##,
        r##"{"event":"session.status","data":{"passkey":"#C","code":"#C","pairingCode":"#C","apiKey":"#K","base64":["#C"]}}"##,
        r##"{"event":"messages.upsert","data":{"key":{"id":"1"},"pairing_code":"#C","apikey":"#K","passKey":{"a":"#C"}}}"##,
        r##"{"event":{"name":"qrcode.updated"},"data":{"base64":"#C"},"x":"#C"}"##,
        r##"{"event":["passkey.updated"],"data":{"challenge":"#C"}}"##,
        r##"{"type":"qrcode.updated","data":{"base64":"#C"}}"##,
        r##"{"event":"something.new","data":"{\"sessionId\":\"#K\"}"}"##,
        r##"{"event":"something.new","data":["{\"a\":\"{\\\"session_id\\\" : \\\"#K\\\"}\"}"]}"##,
        r##"{"event":"messages.upsert","data":{"key":{"id":"1"},"message":{"protocolMessage":{"type":6,"appStateSyncKeyShare":{"keys":["#K"]},"historySyncNotification":{"mediaKey":"#K"}}}}}"##,
        // JSON within JSON.
        r##""{\"event\":\"qrcode.updated\",\"sessionId\":\"#K\",\"data\":\"#C\"}""##,
        r##""{\"event\":\"qrcode.updated\",\"data\":\"#C\"}""##,
        r##""{\"event\":\"session.status\",\"data\":{\"code\":\"#C\"}}""##,
        r##"["{\"sessionId\":\"#K\"}"]"##,
        r##"[null,{"a":"{\"sessionId\":\"#K\"}"}]"##,
        r##"{"event":"messages.upsert","payload":"{\"sessionId\":\"#K\"}"}"##,
        r##"{"event":"messages.upsert","data":[null,"{\"sessionId\":\"#K\"}"]}"##,
        r##"{"event":"x.y","payload":[{},["{\"event\":\"passkey.updated\",\"data\":\"#C\"}"]]}"##,
        r##"{"event":"x.y","payload":"{\"event\":\"session.status\",\"data\":{\"code\":\"#C\"}}"}"##,
        // What can't be read.
        r##"{"sessionId":,"#K","data":1}"##,
        r##"{"sessionId":]"#K"}"##,
        r##"{"apikey":}"#K"}"##,
        "payload=%7B%22sessionId%22%3A%22#K%22%2C%22event%22%3A%22qrcode.updated%22%2C%22data%22%3A%22#C%22%7D",
        "data%5BsessionId%5D=#K",
        "data%255Bapi%255Fkey%255D=#K",
        r"\x22sessionId\x22:\x22#K\x22",
        r##""{"event":"session.status","data":{"status":"x","code":"#C","base64":"#C"}}"##,
        r##"{"event":"qrcode.updated","data":{"base64":"#C"##,
        r##"{"data":{"qr":"#C"##,
        r##"{"data":"#C","##,
        r##""token":"#C"}"##,
        r##"{"passkey":"#C","sessionId":"#K"##,
        "{'sessionId': '#K'}",
        "event=qrcode.updated&sessionId=#K&qr=#C",
        "",
    ] {
        let body = body.replace("#K", KEY).replace("#C", CODE);
        for end in (0..body.len()).filter(|end| body.is_char_boundary(*end)).chain([body.len()]) {
            // Cut off anywhere, and with a byte that is no text.
            for tail in [&b""[..], b"\xff", b"\0"] {
                let bytes = [&body.as_bytes()[..end], tail].concat();
                for event in events(&bytes) {
                    assert!(
                        !tells(&event),
                        "{}\n{}",
                        String::from_utf8_lossy(&bytes),
                        event.payload
                    );
                }
            }
        }
    }
}

#[test]
fn a_code_that_somebody_wrote_to_the_account_is_kept() {
    let body = r#"{"event":"messages.upsert","data":{"key":{"id":"1"},"message":{"conversation":"my \"apikey\"","code":"1","base64":"x"}}}"#;
    assert_eq!(events(body.as_bytes())[0].payload, body);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_key_is_found_wherever_it_stands_and_however_it_is_written(
        seed in any::<u64>(),
        depth in 0..5_usize,
        cut in any::<prop::sample::Index>(),
        broken in any::<bool>(),
    ) {
        let mut json = Writer::new(seed, vec!["x".to_owned()]);
        let name = json.one_of(&["sessionId", "session_id", "SessionID"]);
        let value = json.one_of(&["\"SECRET\"", "[\"SECRET\"]", "{\"a\":{\"SECRET\":1}}"]);
        let mut data = json.object(&[(name, value.to_owned()), ("key", "{\"id\":\"1\"}".to_owned())]);
        for _ in 0..depth {
            data = if json.rng.bool() { json.array(&[data]) } else { json.object(&[("a", data)]) };
        }
        let event = json.text("messages.upsert");
        let mut body = json.object(&[("event", event), ("data", data)]).into_bytes();
        if broken {
            body.truncate(cut.index(body.len() + 1));
        }
        for event in events(&body) {
            prop_assert!(!tells(&event), "{}", event.payload);
        }
    }
}
