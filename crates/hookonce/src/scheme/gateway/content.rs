//! What a message says: its sort, the edit that it may be, and whether it says anything at all.
//!
//! Looks through what is only wrapped around the content, to a bounded depth. Makes no keys.

use std::borrow::Cow;

use crate::element::{Json, Member, Object};

/// Members of a message that say nothing of what it is: keys and context that come with any.
const BESIDE: [&str; 3] = [
    "messageContextInfo",
    "senderKeyDistributionMessage",
    "fastRatchetKeySenderKeyDistributionMessage",
];

/// Members that are a text.
const TEXT: [&str; 2] = ["conversation", "extendedTextMessage"];

/// Members that have the content in a `message` of theirs, and only say how to show it.
const WRAPPERS: [&str; 6] = [
    "ephemeralMessage",
    "viewOnceMessage",
    "viewOnceMessageV2",
    "viewOnceMessageV2Extension",
    "documentWithCaptionMessage",
    "deviceSentMessage",
];

/// How many wrappers are looked through. Nobody sends more than three.
const DEPTH: usize = 8;

/// Where some gateways have a message's text a second time, beside its content.
const BODIES: [&str; 3] = ["messageBody", "body", "text"];

/// What a message was changed to.
pub(in crate::scheme) struct Edit<'a> {
    /// The new content, without what is wrapped around it.
    pub(in crate::scheme) to: Json<'a>,
    /// The id of the message that was changed, where the edit names it: an edit may have an id of its
    /// own.
    pub(in crate::scheme) id: Option<Cow<'a, str>>,
}

/// The edit that this content is, if it is one. All its spellings have the same new content.
pub(in crate::scheme) fn edited(message: Json<'_>) -> Option<Edit<'_>> {
    let (mut content, mut edit) = (unwrapped(message), None);
    for _ in 0..DEPTH {
        let protocol = content.get("protocolMessage");
        let inner = content.get("editedMessage").or_else(|| protocol?.get("editedMessage"));
        let Some(inner) = inner.filter(|inner| inner.is_object()) else { break };
        let named = protocol.and_then(|protocol| id_in(protocol.get("key")?));
        let id = named.or_else(|| edit.and_then(|edit: Edit<'_>| edit.id));
        let message = inner.get("message").filter(|message| message.is_object());
        content = unwrapped(message.unwrap_or(inner));
        edit = Some(Edit { to: content, id });
    }
    edit
}

/// What this content is if it is no message of anybody's, but tells the client something: of another
/// message, such as that it was taken back, or of the account.
pub(in crate::scheme) fn protocol(message: Json<'_>) -> Option<Json<'_>> {
    unwrapped(message).get("protocolMessage").filter(|protocol| protocol.is_object())
}

/// Whether it tells that the message was taken back that its key names.
pub(in crate::scheme) fn revokes(protocol: Json<'_>) -> bool {
    let sort = protocol.get("type").and_then(Json::text);
    sort.is_some_and(|sort| sort == "0" || sort.eq_ignore_ascii_case("revoke"))
}

/// What sort of message this content is: `text`, `image`, `reaction`; `None` where it has none. Some
/// tell of a text by the text alone.
pub(in crate::scheme) fn message_type(message: Json<'_>) -> Option<Cow<'_, str>> {
    if let Some(text) = message.text() {
        return (!text.is_empty()).then_some(Cow::Borrowed("text"));
    }
    telling(&unwrapped(message).object()?).map(|member| type_of(member.name()))
}

/// The sort of message that a content of this name is.
pub(in crate::scheme) fn type_of(name: Cow<'_, str>) -> Cow<'_, str> {
    if TEXT.contains(&&*name) {
        return Cow::Borrowed("text");
    }
    match name.strip_suffix("Message") {
        Some(word) if !word.is_empty() => Cow::Owned(word.to_owned()),
        _ => name,
    }
}

/// Whether an element stands for a message that isn't there: it could not be decrypted yet, and will
/// come under the same id, or was never one. `word` is what the element calls itself.
pub(in crate::scheme) fn is_placeholder(element: &Object<'_>, word: Option<&str>) -> bool {
    let message = element.get("message");
    if message.and_then(message_type).is_some() {
        return false;
    }
    if element.text("messageStubType").is_some() {
        return true;
    }
    // A word beside an empty message is that of the message to come.
    let is_told = message.is_none() && word.is_some_and(|word| word != "unknown");
    let tells = is_told || BODIES.into_iter().any(|name| element.text(name).is_some());
    !tells && (message.is_some() || element.get("key").is_some_and(Json::is_object))
}

/// The content without what is wrapped around it.
pub(in crate::scheme) fn unwrapped(message: Json<'_>) -> Json<'_> {
    let mut content = message;
    for _ in 0..DEPTH {
        let Some(inner) = wrapped_in(content) else { break };
        content = inner;
    }
    content
}

/// An id that says something.
pub(in crate::scheme) fn id_in(key: Json<'_>) -> Option<Cow<'_, str>> {
    key.get("id").and_then(Json::text).filter(|id| !id.trim().is_empty())
}

fn wrapped_in(content: Json<'_>) -> Option<Json<'_>> {
    let object = content.object()?;
    let member = telling(&object).filter(|member| WRAPPERS.iter().any(|name| member.is(name)))?;
    member.value.get("message").filter(|inner| inner.is_object())
}

/// The first member that says what the message is.
fn telling<'o, 'a>(message: &'o Object<'a>) -> Option<&'o Member<'a>> {
    let tells =
        |member: &&Member<'_>| !member.value.is_null() && !BESIDE.contains(&&*member.name());
    message.members().iter().find(tells)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Json<'_> {
        Json::read(text.as_bytes()).unwrap()
    }

    #[test]
    fn a_message_is_what_its_first_telling_member_says() {
        let of = |text: &'static str| message_type(read(text));
        assert_eq!(of(r#"{"conversation":"hi"}"#).as_deref(), Some("text"));
        assert_eq!(
            of(r#"{"messageContextInfo":{},"extendedTextMessage":{}}"#).as_deref(),
            Some("text")
        );
        assert_eq!(of(r#"{"conversation":null,"imageMessage":{}}"#).as_deref(), Some("image"));
        assert_eq!(of(r#"{"Message":{}}"#).as_deref(), Some("Message"));
        assert_eq!(of(r#"{"messageContextInfo":{}}"#), None);
        assert_eq!((of("[]"), of("{}"), of("\"\"")), (None, None, None));
        assert_eq!(of("\"hi\"").as_deref(), Some("text"));
    }

    #[test]
    fn what_is_wrapped_around_a_message_is_not_its_sort() {
        for name in WRAPPERS {
            let text = format!(
                r#"{{"messageContextInfo":{{}},"{name}":{{"message":{{"conversation":"x"}}}}}}"#
            );
            assert_eq!(message_type(read(&text)).as_deref(), Some("text"), "{name}");
        }
        let document = r#"{"documentWithCaptionMessage":{"message":{"documentMessage":{}}}}"#;
        let twice = format!(r#"{{"ephemeralMessage":{{"message":{document}}}}}"#);
        assert_eq!(message_type(read(document)).as_deref(), Some("document"));
        assert_eq!(message_type(read(&twice)).as_deref(), Some("document"));
        assert_eq!(message_type(read(r#"{"ephemeralMessage":7}"#)).as_deref(), Some("ephemeral"));
    }

    #[test]
    fn an_edit_is_the_same_in_all_its_spellings() {
        let new = r#"{"conversation":"v2"}"#;
        let edit = format!(r#"{{"protocolMessage":{{"key":{{"id":"A"}},"editedMessage":{new}}}}}"#);
        for (text, id) in [
            (edit.clone(), Some("A")),
            (format!(r#"{{"editedMessage":{new}}}"#), None),
            (format!(r#"{{"editedMessage":{{"message":{new}}}}}"#), None),
            (format!(r#"{{"editedMessage":{{"message":{edit}}}}}"#), Some("A")),
            (format!(r#"{{"ephemeralMessage":{{"message":{edit}}}}}"#), Some("A")),
            (
                format!(
                    r#"{{"editedMessage":{{"message":{{"ephemeralMessage":{{"message":{new}}}}}}}}}"#
                ),
                None,
            ),
        ] {
            let edit = edited(read(&text)).unwrap();
            assert_eq!((edit.to.raw(), edit.id.as_deref()), (new, id), "{text}");
        }
        let gone = read(r#"{"ephemeralMessage":{"message":{"protocolMessage":{"type":0}}}}"#);
        assert!(edited(gone).is_none() && protocol(gone).is_some_and(revokes));
        assert!(
            protocol(read(r#"{"protocolMessage":{"type":3}}"#))
                .is_some_and(|protocol| !revokes(protocol))
        );
        assert!(protocol(read(new)).is_none());
        assert!(edited(read(new)).is_none());
    }
}
