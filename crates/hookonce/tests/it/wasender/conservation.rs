//! Conservation: whatever a request holds, and in whichever form, each of its elements comes out
//! exactly once, byte for byte, under the right key. The keys are computed here anew, from the table
//! in the docs.

use hookonce::element::Json;
use hookonce::event::{Key, Lane, NewEvent, RequestHash};
use proptest::prelude::*;
use sha2::{Digest as _, Sha256};

use super::events;
use crate::bed::writer::Writer;

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn each_element_comes_out_once_byte_for_byte_under_its_key(
        seed in any::<u64>(),
        // How many elements there are, in how many items of `data`.
        shape in prop::collection::vec(0..4_usize, 0..4),
        ids in prop::collection::vec("\\PC{1,9}", 8),
    ) {
        let mut maker = Maker { json: Writer::new(seed, ids), expected: Vec::new() };
        let body = maker.request(&shape);
        let found = events(body.as_bytes());
        if maker.expected.is_empty() {
            prop_assert_eq!(found.len(), 1, "{}", body);
            // What needs no id is an event by its name alone.
            let kinds = ["unknown.request", "groups.upsert", "unknown.message.brand.new"];
            prop_assert!(kinds.contains(&found[0].kind.as_str()), "{}", body);
            return Ok(());
        }
        prop_assert_eq!(found.len(), maker.expected.len(), "{}", body);
        for (event, right) in found.iter().zip(&maker.expected) {
            check(event, right, &body);
            // An event's payload is a request that gives this event and no other.
            let again = events(event.payload.as_bytes());
            prop_assert_eq!(again.len(), 1);
            prop_assert_eq!(&again[0].kind, &event.kind);
            prop_assert_eq!(&again[0].lane, &event.lane);
            prop_assert_eq!(&again[0].element, &event.element);
            prop_assert_eq!(again[0].digest, event.digest);
            prop_assert_eq!(&again[0].payload, &event.payload);
            prop_assert!(event.weak_key || again[0].key == event.key);
        }
    }
}

fn check(event: &NewEvent, right: &Expected, body: &str) {
    let payload = Json::read(event.payload.as_bytes()).unwrap();
    let element = payload.pointer(&event.element).expect("the element is where its pointer says");
    assert_eq!(element.raw(), right.made.raw, "{body}");
    assert_eq!(event.kind.as_str(), right.made.kind, "{body}");
    let hash = || Key::hash(&RequestHash::of(body.as_bytes()), &right.place);
    let key = right.made.key.as_ref();
    let key = key.map(|parts| Key::of(&parts.iter().map(String::as_str).collect::<Vec<_>>()));
    assert_eq!(event.key, key.unwrap_or_else(hash), "{body}");
    assert_eq!(event.weak_key, right.made.key.is_none());
    assert_eq!(event.lane.as_ref().map(Lane::as_str), right.made.lane, "{body}");
    assert_eq!(event.unreadable, None);
    assert_eq!(event.sent_at.unwrap().as_second(), 1_760_000_000);
}

/// An element as it was put into a request, and what it must become.
struct Expected {
    made: Made,
    /// Where it is in the request.
    place: String,
}

/// An element that was made up.
struct Made {
    raw: String,
    kind: String,
    /// The parts of its key; `None` where that is a hash.
    key: Option<Vec<String>>,
    lane: Option<&'static str>,
}

/// Makes up a request, and keeps count of what is in it.
struct Maker {
    json: Writer,
    expected: Vec<Expected>,
}

/// Names by what their elements are, in some of their spellings, with the members of `data` that may
/// hold the elements.
const FAMILIES: [(&str, &[&str], &[&str]); 9] = [
    (
        "message",
        &["messages.upsert", "MESSAGES_RECEIVED", "messages-group.received", "messageUpsert"],
        &["messages", "message"],
    ),
    ("update", &["messages.update", "message_update"], &["messages", "updates", "message"]),
    ("receipt", &["message-receipt.update", "MESSAGE_RECEIPT_UPDATE"], &["receipts", "message"]),
    ("reaction", &["messages.reaction", "messages_reaction"], &["reactions", "message"]),
    ("delete", &["messages.delete", "MESSAGES-DELETE"], &["keys"]),
    ("poll", &["poll.results", "POLL_RESULTS"], &["polls", "message"]),
    ("call", &["call", "call.received", "CALL"], &["calls", "call"]),
    ("groups", &["groups.upsert"], &[]),
    ("unknown", &["message.brand-new"], &[]),
];

const CHATS: [(&str, &str); 5] = [
    ("15550001111@s.whatsapp.net", "15550001111"),
    ("+15550001111", "15550001111"),
    ("900001:7@lid", "900001@lid"),
    ("1203-16@g.us", "1203-16@g.us"),
    ("1@newsletter", "1@newsletter"),
];

impl Maker {
    fn request(&mut self, shape: &[usize]) -> String {
        let (family, names, lists) = self.json.one_of(&FAMILIES);
        let name = self.json.one_of(names);
        let data = if let [_] = shape
            && self.json.rng.bool()
        {
            self.holder(family, lists, shape[0], "/data")
        } else {
            let items = shape.iter().enumerate();
            let items: Vec<_> = items
                .map(|(n, count)| self.holder(family, lists, *count, &format!("/data/{n}")))
                .collect();
            self.json.array(&items)
        };
        let timestamp = self.json.one_of(&["1760000000", "1760000000000", "\"1760000000\""]);
        let name = self.json.text(name);
        let members = [("event", name), ("timestamp", timestamp.into()), ("data", data)];
        // As it is stored, so that a hash is over these bytes.
        self.json.object(&members).replacen('{', "{\"sessionId\":\"REDACTED\",", 1)
    }

    /// So many elements in a list, or one that is there itself.
    fn holder(&mut self, family: &str, lists: &[&str], count: usize, place: &str) -> String {
        if lists.is_empty() || (count == 1 && self.json.rng.bool()) {
            return self.put(family, place);
        }
        let name = self.json.one_of(lists);
        let place = format!("{place}/{name}");
        let list = if count == 1 && self.json.rng.bool() {
            self.put(family, &place)
        } else {
            let items: Vec<_> =
                (0..count).map(|n| self.put(family, &format!("{place}/{n}"))).collect();
            self.json.array(&items)
        };
        // An empty one of this name is content that says nothing.
        let name = if count == 0 { lists[0] } else { name };
        self.json.object(&[(name, list)])
    }

    fn put(&mut self, family: &str, place: &str) -> String {
        let made = self.make(family);
        let raw = made.raw.clone();
        self.expected.push(Expected { made, place: place.to_owned() });
        raw
    }

    fn make(&mut self, family: &str) -> Made {
        let id = self.json.id();
        let (jid, chat) = self.json.one_of(&CHATS);
        let known = |raw: String, kind: &str, key: &[&str], lane: Option<&'static str>| {
            let key = Some(key.iter().map(|part| (*part).to_owned()).collect());
            Made { raw, kind: kind.to_owned(), key, lane }
        };
        let (id_text, jid_text) = (self.json.text(&id), self.json.text(jid));
        let mut key_members = vec![("id", id_text), ("remoteJid", jid_text)];
        match family {
            "message" => return self.message(&id, key_members, chat),
            "groups" | "unknown" => {
                let kind =
                    if family == "groups" { "groups.upsert" } else { "unknown.message.brand.new" };
                let raw = self.json.object(&key_members);
                return Made { raw, kind: kind.to_owned(), key: None, lane: None };
            }
            "delete" => {
                let raw = self.json.object(&key_members);
                return known(raw, "delete", &["delete", &id], Some(chat));
            }
            "call" => {
                let status = self.json.one_of(&["offer", "Timeout"]);
                key_members.push(("status", self.json.text(status)));
                let (raw, status) = (self.json.object(&key_members), status.to_lowercase());
                let key = ["call", &id, &status];
                return known(raw, &format!("call.{status}"), &key, Some(chat));
            }
            _ => {}
        }
        let key = self.json.object(&key_members);
        match family {
            "update" => self.update(&id, key, chat),
            "receipt" => {
                let user = self.json.text("15550001112:3@s.whatsapp.net");
                let read = ("readTimestamp", "1760000000".to_owned());
                let receipt = self.json.object(&[("userJid", user), read]);
                let raw = self.json.object(&[("key", key), ("receipt", receipt)]);
                known(raw, "receipt.read", &["receipt", &id, "15550001112", "read"], None)
            }
            "reaction" => {
                let (text, own) = (self.json.text("👍"), self.json.text("own"));
                let own = self.json.object(&[("id", own)]);
                let reaction = self.json.object(&[("text", text), ("key", own)]);
                let raw = self.json.object(&[("key", key), ("reaction", reaction)]);
                known(raw, "reaction", &["reaction", &id, "own", "👍"], Some(chat))
            }
            _ => {
                let result = self.json.text("a");
                let hash = hex::encode(Sha256::digest(&result));
                let raw = self.json.object(&[("key", key), ("pollResult", result)]);
                known(raw, "poll.results", &["poll", &id, &hash], Some(chat))
            }
        }
    }

    /// A message: of either side, at times without an id.
    fn message(
        &mut self,
        id: &str,
        mut key: Vec<(&'static str, String)>,
        chat: &'static str,
    ) -> Made {
        let (prefix, own) = self.json.one_of(&[("message", "false"), ("echo", "true")]);
        key.push(("fromMe", own.to_owned()));
        let has_id = self.json.rng.u8(..6) > 0;
        if !has_id {
            key.remove(0);
        }
        let (word, name) = self.json.one_of(&[("text", "conversation"), ("image", "imageMessage")]);
        // Without anything unknown in it, which would be taken for its type.
        let content = format!("{{{}:{}}}", self.json.text(name), self.json.text("x"));
        let key = self.json.object(&key);
        let raw = self.json.object(&[("key", key), ("message", content)]);
        let key = has_id.then(|| vec![prefix.to_owned(), id.to_owned()]);
        Made { raw, kind: format!("{prefix}.{word}"), key, lane: Some(chat) }
    }

    /// A status, or an edit.
    fn update(&mut self, id: &str, key: String, chat: &'static str) -> Made {
        let statuses = [("3", "delivered"), ("\"READ\"", "read"), ("7", "7"), ("", "edit")];
        let (status, word) = self.json.one_of(&statuses);
        if word != "edit" {
            let update = self.json.object(&[("status", status.to_owned())]);
            let raw = self.json.object(&[("key", key), ("update", update)]);
            let key = ["status", id, word].map(str::to_owned).to_vec();
            return Made { raw, kind: format!("status.{word}"), key: Some(key), lane: None };
        }
        let text = self.json.text("v2");
        let edited = self.json.object(&[("conversation", text)]);
        let hash = hex::encode(Sha256::digest(&edited));
        let message = self.json.object(&[("editedMessage", edited)]);
        let update = self.json.object(&[("message", message)]);
        let raw = self.json.object(&[("key", key), ("update", update)]);
        let key = ["update", id, &hash].map(str::to_owned).to_vec();
        Made { raw, kind: "update.edit".to_owned(), key: Some(key), lane: Some(chat) }
    }
}
