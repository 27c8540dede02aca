//! One signed text, cut into other parameters than Twilio sent.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hookonce::event::NewEvent;
use hookonce::scheme::signature::Hash;
use hookonce::scheme::twilio::Twilio;
use hookonce::scheme::{Proof, Scheme, Secret};

use crate::bed::scheme::{events_of, request};

const URL: &str = "https://hooks.example.test/twilio";

/// The event of a form that goes with the signature of `signed`.
fn event(signed: &str, form: &str) -> NewEvent {
    let secret = Secret::new("token").unwrap();
    let parts = [URL.as_bytes(), signed.as_bytes()];
    let tag = STANDARD.encode(Hash::Sha1.sign(b"token", &parts));
    let twilio = Twilio::new(Proof::Secrets(vec![secret]), Some(URL.to_owned()));
    let kind = ("content-type", &b"application/x-www-form-urlencoded"[..]);
    let asked = request(form.as_bytes(), &[kind, ("x-twilio-signature", tag.as_bytes())]);
    assert!(twilio.verify(asked.clone()).is_ok(), "{form}");
    events_of(&twilio, asked).remove(0)
}

/// Whether it is a message that is known by more than a hash.
fn is_known_message(event: &NewEvent) -> bool {
    event.kind.as_str().starts_with("message.") && !event.weak_key
}

#[test]
fn another_cut_of_a_message_is_no_other_message() {
    let signed = "BodyhiMessageSidSM1NumMedia0OriginalRepliedMessageSidSM2SmsStatusreceivedTo+1";
    let sent = "Body=hi&MessageSid=SM1&NumMedia=0&OriginalRepliedMessageSid=SM2&SmsStatus=received&To=%2B1";
    assert_eq!(event(signed, sent).key.as_str(), "message:SM1");
    for form in [
        "Body=hi&MessageSid=SM1NumMedia0&OriginalRepliedMessageSid=SM2&SmsStatus=received&To=%2B1",
        "BodyhiMessageSidSM1NumMedia0OriginalReplied&MessageSid=SM2&SmsStatus=received&To=%2B1",
        "Body=hiMessageSidSM1NumMedia0OriginalReplied&MessageSid=SM2&SmsStatusreceivedTo=%2B1",
    ] {
        assert!(!is_known_message(&event(signed, form)), "{form}");
    }
    let same =
        "Body=hi&MessageSid=SM1&NumMedia0OriginalRepliedMessageSidSM2SmsStatusreceivedTo%2B1";
    assert_eq!(event(signed, same).key.as_str(), "message:SM1");
}

#[test]
fn no_status_call_or_event_of_a_conversation_is_cut_into_a_message() {
    for (signed, form) in [
        ("MessageSidSM1MessageStatussentTo+1", "MessageSid=SM1&MessageStatussent=To%2B1"),
        ("MessageSidSM1SmsStatussent", "MessageSid=SM1&SmsStatussent"),
        ("EventTypeonMessageAddedMessageSidIM1", "EventTypeonMessageAdded&MessageSid=IM1"),
        ("CallSidCA1SpeechResultMessageSidSM1", "CallSidCA1SpeechResult&MessageSid=SM1"),
    ] {
        assert!(!is_known_message(&event(signed, form)), "{form}");
    }
}

#[test]
fn a_text_that_looks_like_an_id_makes_no_message_of_another_id() {
    let signed = "BodyMessageSidSM2zMessageSidSM1SmsStatusreceived";
    let sent = event(signed, "Body=MessageSidSM2z&MessageSid=SM1&SmsStatus=received");
    assert_eq!((sent.kind.as_str(), sent.weak_key), ("message.text", true));
    let cut = event(signed, "Body&MessageSid=SM2&zMessageSidSM1SmsStatusreceived");
    // The same hash: a duplicate of it.
    assert_eq!(cut.key, sent.key);
}

#[test]
fn the_copy_for_the_fallback_address_is_one_event_with_the_message_whatever_is_said_in_it() {
    for text in ["hi", "CallStatus", "EventType", "my SmsStatus"] {
        let of = |error: &[(&str, &str)]| {
            let mut parameters = vec![("Body", text)];
            parameters.extend(error);
            parameters.extend([("From", "+1"), ("MessageSid", "SM1"), ("To", "+2")]);
            let signed: String =
                parameters.iter().map(|(name, value)| [*name, value].concat()).collect();
            let form: Vec<_> =
                parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
            event(&signed, &form.join("&").replace('+', "%2B"))
        };
        let sent = of(&[]);
        let copy = of(&[("ErrorCode", "11200"), ("ErrorUrl", "https://hooks.example.test/twilio")]);
        assert_eq!(sent.weak_key, text != "hi", "{text}");
        assert_eq!((copy.id, copy.digest), (sent.id, sent.digest), "{text}");
    }
}

#[test]
fn a_captured_copy_for_the_fallback_address_is_one_event_however_it_is_cut() {
    let signed = "BodyCallStatusErrorCode11200ErrorUrlhttps://h.test/aFrom+1MessageSidSM1To+2";
    let sent = "Body=CallStatus&ErrorCode=11200&ErrorUrl=https://h.test/a&From=%2B1&MessageSid=SM1&To=%2B2";
    let right = event(signed, sent);
    for form in [
        "Body=CallStatus&ErrorCode=11200&ErrorUrl=https://h.test/aFrom%2B1&MessageSid=SM1&To=%2B2",
        "Body=CallStatusErrorCode11200&ErrorUrl=https://h.test/a&From=%2B1&MessageSid=SM1&To=%2B2",
        "Body=CallStatus&ErrorCode=11200ErrorUrlhttps://h.test/aFrom%2B1&MessageSid=SM1&To=%2B2",
    ] {
        assert_eq!(event(signed, form).id, right.id, "{form}");
    }
}
