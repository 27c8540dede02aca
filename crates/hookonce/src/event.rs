//! What was seen: an event, its identity and its parts.
//!
//! Nothing here does I/O or asks for the time.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Serialize, Serializer};
use sha2::{Digest as _, Sha256};

/// The longest key that is stored as it is, in bytes.
const KEY_LIMIT: usize = 512;
/// The longest lane that is stored as it is, in bytes.
const LANE_LIMIT: usize = 256;
/// The longest kind, in bytes.
const KIND_LIMIT: usize = 64;

/// The content type of a payload that is JSON.
pub const JSON: &str = "application/json";
/// The content type of a payload that is a form.
pub const FORM: &str = "application/x-www-form-urlencoded";
/// The content type of a payload that is text of no form we know.
pub const PLAIN_TEXT: &str = "text/plain; charset=utf-8";
/// The content type of a payload that is bytes, kept as base64 because a store's text can't hold
/// them as they are.
pub const BASE64: &str = "application/octet-stream;base64";

/// One event on its way into a store: a valid webhook of its sender with exactly one element.
#[derive(Debug, Clone)]
pub struct NewEvent {
    /// The same on every node and in every store.
    pub id: EventId,
    /// The name of the source it came in by.
    pub source: Arc<str>,
    /// What its id was computed from, beside the key; a store may keep events of one scope together.
    pub scope: Arc<str>,
    /// What makes it the same event when it is sent again.
    pub key: Key,
    /// What sort of event it is.
    pub kind: Kind,
    /// The conversation it belongs to, if any.
    pub lane: Option<Lane>,
    /// How urgent it is.
    pub priority: Priority,
    /// The text as received, cut down to this one element.
    pub payload: String,
    /// The media type of `payload`.
    pub content_type: &'static str,
    /// JSON pointer to the element within `payload`.
    pub element: String,
    /// SHA-256 of the element's bytes; tells a mismatch from a duplicate.
    pub digest: [u8; 32],
    /// The key is a hash, for want of an id.
    pub weak_key: bool,
    /// The sender's own time, where it gives one.
    pub sent_at: Option<Timestamp>,
    /// When the request reached us.
    pub received_at: Timestamp,
    /// Why it can't be handled, if it can't: its tasks are then dead on arrival.
    pub unreadable: Option<&'static str>,
    /// The routes that want it.
    pub tasks: Vec<NewTask>,
}

/// A task that is to be stored with its event.
#[derive(Debug, Clone)]
pub struct NewTask {
    /// The name of the route that wants the event.
    pub route: Arc<str>,
    /// After how many attempts the task is dead.
    pub max_attempts: u32,
    /// The task waits for the earlier ones of its event's lane.
    pub ordered: bool,
}

impl NewEvent {
    /// The event as a store keeps it that refuses its text: same id, key and routes, the payload as
    /// base64, and its tasks dead.
    #[must_use]
    pub fn refused(self, why: &'static str) -> Self {
        use base64::Engine as _;
        let payload = base64::engine::general_purpose::STANDARD.encode(&self.payload);
        let (kind, content_type) = (Kind::unreadable(), BASE64);
        Self { payload, kind, content_type, element: String::new(), unreadable: Some(why), ..self }
    }
}

/// An event as it is stored.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Event {
    /// The same on every node and in every store.
    pub id: EventId,
    /// Number of arrival in this store.
    pub seq: i64,
    /// The name of the source it came in by.
    pub source: String,
    /// What makes it the same event when it is sent again.
    pub key: String,
    /// What sort of event it is.
    pub kind: String,
    /// The conversation it belongs to, if any.
    pub lane: Option<String>,
    /// How urgent it is: 0 messages and calls, 1 everything else, 2 history.
    #[cfg_attr(feature = "schema", schemars(with = "u8", range(max = 2)))]
    pub priority: Priority,
    /// The media type of `payload`.
    pub content_type: String,
    /// JSON pointer to the element within `payload`.
    pub element: String,
    /// The key is a hash, for want of an id.
    pub weak_key: bool,
    /// The sender's own time, where it gives one.
    #[cfg_attr(feature = "schema", schemars(with = "Option<TimeText>"))]
    pub sent_at: Option<Timestamp>,
    /// When the request reached us.
    #[cfg_attr(feature = "schema", schemars(with = "TimeText"))]
    pub received_at: Timestamp,
    /// The text as received; `None` once it was pruned. Serialized only where it is asked for.
    #[serde(skip)]
    pub payload: Option<String>,
}

/// The identity of an event: a `UUIDv8` made of its scope and key.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub struct EventId(
    #[cfg_attr(feature = "schema", schemars(with = "String", extend("format" = "uuid")))] [u8; 16],
);

impl EventId {
    /// Computes the id of the event that has `key` within `scope`: the first 16 bytes of SHA-256
    /// over both, each with its length in front, version and variant bits set.
    pub fn of(scope: &str, key: &str) -> Self {
        let mut hash = Sha256::new();
        for part in [scope, key] {
            update_with_length(&mut hash, part.as_bytes());
        }
        let mut id = [0; 16];
        id.copy_from_slice(&hash.finalize()[..16]);
        id[6] = (id[6] & 0x0f) | 0x80;
        id[8] = (id[8] & 0x3f) | 0x80;
        Self(id)
    }

    /// Takes an id as it is stored.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The id as it is stored.
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl std::str::FromStr for EventId {
    type Err = uuid::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self(uuid::Uuid::try_parse(text)?.into_bytes()))
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        uuid::Uuid::from_bytes(self.0).hyphenated().fmt(f)
    }
}

impl fmt::Debug for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for EventId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// What makes an event the same event when it is sent again: opaque and case-sensitive.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Key(String);

impl Key {
    /// Joins `parts` by `:`; a `:` or `%` inside a part is percent-escaped, so that no two lists of
    /// parts give one key. A key that is too long or not printable is stored as its SHA-256.
    pub fn of(parts: &[&str]) -> Self {
        let mut key = String::with_capacity(parts.iter().map(|part| part.len() + 1).sum());
        for (n, part) in parts.iter().enumerate() {
            if n > 0 {
                key.push(':');
            }
            if part.contains([':', '%']) {
                key.push_str(&part.replace('%', "%25").replace(':', "%3A"));
            } else {
                key.push_str(part);
            }
        }
        Self(shorten(key, KEY_LIMIT))
    }

    /// The key of an element without an id: its place within these very request bytes. A
    /// redelivery of the request is a duplicate, an equal element in another request is new.
    pub fn hash(request: &RequestHash, pointer: &str) -> Self {
        let mut hash = request.0.clone();
        update_with_length(&mut hash, pointer.as_bytes());
        Self(format!("hash:{}", hex::encode(hash.finalize())))
    }

    /// The key as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The hash of a whole request body, computed once for all its elements.
#[derive(Debug, Clone)]
pub struct RequestHash(Sha256);

impl RequestHash {
    /// Hashes a request body.
    pub fn of(body: &[u8]) -> Self {
        let mut hash = Sha256::new();
        update_with_length(&mut hash, body);
        Self(hash)
    }
}

/// What sort of event: dotted, of `[a-z0-9_.]`, at most 64 bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kind(String);

impl Kind {
    /// The kind of an event that can't be read.
    pub fn unreadable() -> Self {
        Self("unreadable".to_owned())
    }

    /// Puts `word` behind `prefix`, lower-cased, every other character made `_`; a missing or
    /// empty word is `unknown`.
    pub fn of(prefix: &str, word: Option<&str>) -> Self {
        let word = word.filter(|word| !word.is_empty()).unwrap_or("unknown");
        let dot = if prefix.is_empty() { "" } else { "." };
        let letters = word.chars().map(|c| match c.to_ascii_lowercase() {
            c @ ('a'..='z' | '0'..='9' | '_' | '.') => c,
            _ => '_',
        });
        Self([prefix, dot].concat().chars().chain(letters).take(KIND_LIMIT).collect())
    }

    /// The kind as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Events to be handled one after another: one conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lane(String);

impl Lane {
    /// Joins `parts` as [`Key::of`] does; a lane that is too long or not printable is stored as its
    /// SHA-256.
    pub fn of(parts: &[&str]) -> Self {
        Self(shorten(Key::of(parts).0, LANE_LIMIT))
    }

    /// The lane as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// How urgent an event is; the smaller number goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// Messages and calls: somebody waits for an answer.
    Urgent = 0,
    /// Everything else.
    Normal = 1,
    /// History that is synchronised, by the thousand.
    History = 2,
}

impl Priority {
    /// Every priority, the most urgent first.
    pub const ALL: [Self; 3] = [Self::Urgent, Self::Normal, Self::History];

    /// Reads a stored number; an unknown one is [`Priority::Normal`].
    pub fn from_number(number: i64) -> Self {
        match number {
            0 => Self::Urgent,
            2 => Self::History,
            _ => Self::Normal,
        }
    }
}

impl Serialize for Priority {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u8(*self as u8)
    }
}

/// How a time is shown: as text of RFC 3339.
#[cfg(feature = "schema")]
#[derive(schemars::JsonSchema)]
#[schemars(inline)]
pub(crate) struct TimeText(
    #[schemars(extend("format" = "date-time"))]
    #[expect(dead_code, reason = "only its schema is used")]
    String,
);

fn update_with_length(hash: &mut Sha256, bytes: &[u8]) {
    // A request body is bounded far below 4 GiB, a name further still.
    hash.update(u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_be_bytes());
    hash.update(bytes);
}

/// Keeps `text` where it is printable and no longer than `limit`, else takes its SHA-256.
fn shorten(text: String, limit: usize) -> String {
    // Nearly all are, and need not be taken apart into characters.
    let is_ascii = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    let odd = |c: char| c.is_control() || c == '\u{fffd}';
    let plain = text.len() <= limit && (is_ascii || !text.chars().any(odd));
    if plain { text } else { format!("sha256:{}", hex::encode(Sha256::digest(text.as_bytes()))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_made_of_scope_and_key_alone() {
        let id = EventId::of("whatsapp", "message:200000000000001:wamid.TEST0001");
        assert_eq!(id.to_string(), "c0fa7022-8b40-85d9-86c1-3f71bb80f8c7");
        assert_eq!(id.to_string().parse::<EventId>().unwrap(), id);
        assert_ne!(EventId::of("a", "bc"), EventId::of("ab", "c"));
    }

    #[test]
    fn no_two_lists_of_parts_give_one_key() {
        assert_ne!(Key::of(&["a:b", "c"]), Key::of(&["a", "b:c"]));
        assert_ne!(Key::of(&["a%3Ab"]), Key::of(&["a:b"]));
        assert_eq!(Key::of(&["message", "1", "x:y%"]).as_str(), "message:1:x%3Ay%25");
    }

    #[test]
    fn a_long_or_unprintable_key_is_stored_as_its_hash() {
        let long = "x".repeat(6000);
        let other = format!("{}y", &long[1..]);
        let (a, b) = (Key::of(&["message", &long]), Key::of(&["message", &other]));
        assert!(a.as_str().starts_with("sha256:") && a != b);
        assert!(Key::of(&["a\0b"]).as_str().starts_with("sha256:"));
        assert!(Key::of(&[&"k".repeat(512)]).as_str().starts_with("kkk"));
        assert!(Lane::of(&[&"k".repeat(257)]).as_str().starts_with("sha256:"));
    }

    #[test]
    fn a_kind_has_only_lower_case_letters_digits_dots_and_underscores() {
        assert_eq!(Kind::of("status", Some("Delivered")).as_str(), "status.delivered");
        assert_eq!(Kind::of("message", Some("é/…x")).as_str(), "message.___x");
        assert_eq!(Kind::of("message", None).as_str(), "message.unknown");
        assert_eq!(Kind::of("", Some("account_update")).as_str(), "account_update");
        assert_eq!(Kind::of("m", Some(&"y".repeat(100))).as_str().len(), 64);
    }
}
