//! Conservation: whatever a request holds, each of its elements comes out exactly once, byte for
//! byte, under the right key. The keys are computed here anew, from the table in the docs.

use hookonce::element::Json;
use hookonce::event::NewEvent;
use proptest::prelude::*;
use sha2::{Digest as _, Sha256};

use super::events;
use crate::bed::writer::Writer;

/// An element as it was put into a request, and what it must become.
struct Expected {
    raw: String,
    kind: String,
    /// `None` where the key is a hash of this place.
    key: Option<String>,
    place: String,
    lane: Option<String>,
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn each_element_comes_out_once_byte_for_byte_under_its_key(
        seed in any::<u64>(),
        // How many elements there are, in how many lists, changes and entries.
        shape in prop::collection::vec(
            prop::collection::vec(prop::collection::vec(0..4_usize, 0..4), 0..4), 0..4),
        ids in prop::collection::vec("\\PC{1,9}", 8),
    ) {
        let mut maker = Maker { json: Writer::new(seed, ids), expected: Vec::new() };
        let body = maker.request(&shape);
        let found = events(body.as_bytes());
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
    assert_eq!(element.raw(), right.raw, "{body}");
    assert_eq!(event.digest, <[u8; 32]>::from(Sha256::digest(&right.raw)));
    assert_eq!(event.kind.as_str(), right.kind, "{body}");
    let hash = || {
        let parts = [body, &right.place].map(|part| {
            [&u32::try_from(part.len()).unwrap().to_be_bytes(), part.as_bytes()].concat()
        });
        format!("hash:{}", hex::encode(Sha256::digest(parts.concat())))
    };
    assert_eq!(event.key.as_str(), right.key.clone().unwrap_or_else(hash), "{body}");
    assert_eq!(event.weak_key, right.key.is_none());
    assert_eq!(event.lane.as_ref().map(|lane| lane.as_str().to_owned()), right.lane);
    assert_eq!(event.unreadable, None);
}

/// Makes up a request, and keeps count of what is in it.
struct Maker {
    json: Writer,
    expected: Vec<Expected>,
}

/// Where a list stands.
#[derive(Clone)]
struct Around {
    place: String,
    number: String,
    field: &'static str,
}

impl Around {
    fn standby(&self) -> bool {
        self.place.contains("/standby/")
    }
}

/// An element that was made up: its members, and what it must become.
#[derive(Default)]
struct Made {
    members: Vec<(&'static str, String)>,
    kind: String,
    key: Option<String>,
    who: Option<&'static str>,
}

impl Made {
    fn key_of(&mut self, parts: &[&str]) {
        let parts: Vec<_> = parts.iter().map(|part| escape(part)).collect();
        self.key = Some(parts.join(":"));
    }
}

const LISTS: [&str; 13] = [
    "messages",
    "statuses",
    "calls",
    "message_echoes",
    "automatic_events",
    "user_preferences",
    "user_actions",
    "groups",
    "state_sync",
    "user_id_update",
    "errors",
    "history",
    "standby",
];

impl Maker {
    fn request(&mut self, shape: &[Vec<Vec<usize>>]) -> String {
        let mut entries = Vec::new();
        for (n, changes) in shape.iter().enumerate() {
            let (place, account) = (format!("/entry/{n}"), self.json.id());
            let mut written = Vec::new();
            for (n, sizes) in changes.iter().enumerate() {
                written.push(self.change(&format!("{place}/changes/{n}"), sizes, &account));
            }
            let written = self.json.array(&written);
            let id = self.json.text(&account);
            let entry = self.json.object(&[("id", id), ("changes", written)]);
            if changes.is_empty() {
                self.expect(&entry, "unknown.entry", None, &place, None);
            }
            entries.push(entry);
        }
        let (object, list) =
            (self.json.text("whatsapp_business_account"), self.json.array(&entries));
        let request = self.json.object(&[("object", object), ("entry", list)]);
        if shape.is_empty() {
            self.expect(&request, "unknown.request", None, "", None);
        }
        [self.json.space().to_owned(), request, self.json.space().to_owned()].concat()
    }

    fn change(&mut self, place: &str, sizes: &[usize], account: &str) -> String {
        let own = self.json.rng.bool().then(|| self.json.id());
        let field = self.json.one_of(&["messages", "history", "standby", "brand_new"]);
        let number = own.clone().unwrap_or_else(|| account.to_owned());
        let around = |place: String| Around { place, number: number.clone(), field };
        let before = self.expected.len();
        let mut names = LISTS;
        self.json.rng.shuffle(&mut names);
        let mut members = Vec::new();
        for (name, size) in names.into_iter().zip(sizes) {
            let at = format!("{place}/value/{name}");
            let list = match name {
                "history" => self.history(&at, *size, &around),
                "standby" => {
                    let inner = self.json.one_of(&LISTS[..4]);
                    let list = self.list(inner, *size, &around(format!("{at}/{inner}")));
                    self.json.object(&[(inner, list)])
                }
                _ => self.list(name, *size, &around(at)),
            };
            members.push((name, list));
        }
        if let Some(own) = own {
            let own = self.json.text(&own);
            let metadata = self.json.object(&[("phone_number_id", own)]);
            members.insert(0, ("metadata", metadata));
        }
        // One contact has a user id, which is then who the phone number `p0` is.
        let contacts = [r#"{"wa_id":"p0","user_id":"u0"}"#, r#"{"wa_id":"p1"}"#, "{}"];
        members.push(("contacts", self.json.array(&contacts.map(str::to_owned))));
        let value = self.json.object(&members);
        if self.expected.len() == before {
            self.expect(&value, field, None, &format!("{place}/value"), None);
        }
        let field = self.json.text(field);
        self.json.object(&[("field", field), ("value", value)])
    }

    fn history(&mut self, at: &str, chunks: usize, around: &dyn Fn(String) -> Around) -> String {
        let mut written = Vec::new();
        for chunk in 0..chunks {
            let at = format!("{at}/{chunk}/threads");
            let messages = self.list("messages", 2, &around(format!("{at}/0/messages")));
            let thread = self.json.object(&[("id", "\"p1\"".into()), ("messages", messages)]);
            let empty = self.json.object(&[("id", "\"p1\"".into())]);
            self.expect(&empty, "history", None, &format!("{at}/1"), None);
            let threads = self.json.array(&[thread, empty]);
            written.push(self.json.object(&[("threads", threads)]));
        }
        self.json.array(&written)
    }

    fn list(&mut self, name: &str, size: usize, around: &Around) -> String {
        let mut written = Vec::new();
        for n in 0..size {
            let made = self.element(name, around);
            let element = self.json.object(&made.members);
            let [key_prefix, kind_prefix] =
                if around.standby() { ["standby:", "standby."] } else { [""; 2] };
            let key = made.key.map(|key| [key_prefix, &key].concat());
            let kind = [kind_prefix, &made.kind].concat();
            let who = made.who.filter(|_| !around.standby());
            let lane = who.map(|who| [&*around.number, who].map(escape).join(":"));
            self.expect(&element, &kind, key, &format!("{}/{n}", around.place), lane);
            written.push(element);
        }
        self.json.array(&written)
    }

    /// An element of the list of this name.
    fn element(&mut self, name: &str, around: &Around) -> Made {
        let id = self.json.id();
        let word = self.json.one_of(&["text", "Brand-New", "sent"]);
        let lower = word.to_lowercase().replace('-', "_");
        let mut made = Made { members: vec![("id", self.json.text(&id))], ..Made::default() };
        match name {
            "messages" => self.message(&mut made, &id, word, around),
            "statuses" => {
                let with = self.json.one_of(&[
                    ("", ""),
                    ("type", "call"),
                    ("recipient_participant_id", "p1"),
                    ("participant_recipient_id", "p1"),
                ]);
                self.put(&mut made, &[("status", word), with]);
                let first = if with.0 == "type" { "call_status" } else { "status" };
                made.kind = format!("{first}.{lower}");
                made.key_of(&[first, &around.number, &id, word]);
                if with.1 == "p1" {
                    made.key_of(&[first, &around.number, &id, word, "p1"]);
                }
            }
            "calls" => {
                let (direction, who) =
                    self.json.one_of(&[("USER_INITIATED", "u0"), ("BUSINESS_INITIATED", "p1")]);
                let sides =
                    [("from", "p0"), ("to", "p1"), ("event", word), ("direction", direction)];
                self.put(&mut made, &sides);
                (made.kind, made.who) = (format!("call.{lower}"), Some(who));
                made.key_of(&["call", &around.number, &id, word]);
            }
            "message_echoes" => {
                if around.standby() {
                    let (word, to) = (self.json.text(word), self.json.text("p0"));
                    made.members.push(("message", self.json.object(&[("type", word), ("to", to)])));
                } else {
                    self.put(&mut made, &[("type", word), ("to", "p0")]);
                }
                (made.kind, made.who) = (format!("echo.{lower}"), Some("u0"));
                made.key_of(&["echo", &around.number, &id]);
            }
            "automatic_events" => {
                self.put(&mut made, &[("event_name", word)]);
                made.kind = format!("automatic.{lower}");
                made.key_of(&["automatic", &around.number, &id, word]);
            }
            "user_preferences" => {
                let parts = [("wa_id", "p0"), ("category", word), ("value", "stop")];
                self.put(&mut made, &parts);
                self.put(&mut made, &[("timestamp", &id)]);
                made.kind = format!("user_preference.{lower}");
                made.key_of(&["user_preference", &around.number, "p0", word, "stop", &id]);
            }
            "user_actions" => {
                self.put(&mut made, &[("action_type", word)]);
                made.kind = format!("user_action.{lower}");
                if self.json.rng.bool() {
                    let click = self.json.text(&id);
                    let data = self.json.object(&[("click_id", click)]);
                    made.members.push(("marketing_messages_link_click_data", data));
                    made.key_of(&["user_action", &around.number, &id]);
                }
            }
            "groups" => self.hashed(&mut made, "group.", ("type", word), &lower),
            "state_sync" => self.hashed(&mut made, "contact_sync.", ("action", word), &lower),
            "errors" => made.kind = "error".into(),
            _ => made.kind.push_str(name),
        }
        made
    }

    fn message(&mut self, made: &mut Made, id: &str, word: &str, around: &Around) {
        let (name, text, who) = self.json.one_of(&[
            ("from", "p0", Some("u0")),
            ("from", "p1", Some("p1")),
            ("from_user_id", "u:9", Some("u:9")),
            ("group_id", "g", Some("g")),
            ("sender", "p0", None),
        ]);
        self.put(made, &[("type", word), (name, text)]);
        if around.place.contains("/threads/") {
            made.kind = "history.message".into();
            made.key_of(&["history", &around.number, id, word]);
        } else if around.field == "history" && !around.standby() {
            made.kind = "history.media".into();
            made.key_of(&["history_media", &around.number, id]);
        } else {
            made.kind = format!("message.{}", word.to_lowercase().replace('-', "_"));
            made.who = who;
            made.key_of(&["message", &around.number, id]);
        }
        if self.json.rng.u8(..6) == 0 {
            made.members.remove(0);
            made.key = None;
        }
    }

    fn hashed(&mut self, made: &mut Made, kind: &str, with: (&'static str, &str), lower: &str) {
        self.put(made, &[with]);
        made.kind = [kind, lower].concat();
    }

    fn put(&mut self, made: &mut Made, members: &[(&'static str, &str)]) {
        for (name, text) in members.iter().filter(|(name, _)| !name.is_empty()) {
            made.members.push((name, self.json.text(text)));
        }
    }

    fn expect(
        &mut self,
        raw: &str,
        kind: &str,
        key: Option<String>,
        place: &str,
        lane: Option<String>,
    ) {
        let (raw, kind, place) = (raw.to_owned(), kind.to_owned(), place.to_owned());
        self.expected.push(Expected { raw, kind, key, place, lane });
    }
}

fn escape(part: &str) -> String {
    part.replace('%', "%25").replace(':', "%3A")
}
