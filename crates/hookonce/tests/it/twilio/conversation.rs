//! Events of a conversation, and messages that are told apart from what becomes of one.

use super::events;

fn key(body: &str) -> String {
    events(body.as_bytes())[0].key.as_str().to_owned()
}

#[test]
fn a_further_attempt_of_a_conversations_event_is_the_same_event() {
    for form in [
        "EventType=onMessageAdded&MessageSid=IM1&ConversationSid=CH1&DateCreated=1",
        "EventType=onConversationStateUpdated&StateTo=closed&ChatServiceSid=IS1",
        "EventType=onMessageAdded&MessageSid=IM1&Body=RetryCount",
    ] {
        let of = |n: u32| events(format!("{form}&RetryCount={n}&Source=SDK").as_bytes()).remove(0);
        assert_eq!((of(0).key, of(0).digest), (of(1).key, of(1).digest), "{form}");
        assert_ne!(of(0).key.as_str(), key(&form.replace('1', "2").replace("closed", "active")));
    }
}

#[test]
fn what_is_known_by_ids_and_a_time_has_no_hash_for_a_key() {
    let form = "EventType=onDeliveryUpdated&MessageSid=IM1&ConversationSid=CH1&DateUpdated=1";
    assert_eq!(key(form), "event:onDeliveryUpdated:IM1:CH1:-:-:1");
    assert_eq!(
        key(&format!("{form}&ParticipantSid=MB1&Status=read")),
        "event:onDeliveryUpdated:IM1:CH1:MB1:read:1"
    );
    assert!(events(b"EventType=x&MessageSid=IM1")[0].weak_key);
}

#[test]
fn a_message_that_came_in_is_one_whatever_its_status_is_called() {
    for came_in in [
        "MessageStatus=received&Body=hi",
        "MessageStatus=Received&Body=",
        "SmsStatus=Received",
        "SmsStatus=RECEIVED&Body=hi",
        "SmsStatus=receiving",
    ] {
        let found = events(format!("MessageSid=SM1&{came_in}").as_bytes());
        let known = (found[0].key.as_str(), found[0].kind.as_str());
        assert_eq!(known, ("message:SM1", "message.text"), "{came_in}");
    }
    for sent in ["MessageStatus=received", "MessageStatus=sent&Body=hi", "SmsStatus=Sent"] {
        let found = events(format!("MessageSid=SM1&{sent}").as_bytes());
        assert!(found[0].kind.as_str().starts_with("status."), "{sent}");
    }
}
