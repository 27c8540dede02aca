//! Credentials put into a body where its bytes ask for them, none of which may be seen again.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hookonce::element::Json;
use hookonce::event::{BASE64, Lane, NewEvent};
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// Where a credential goes: this byte, which is in no JSON, and two that say how its name is spelled
/// and what its value is.
const MARK: u8 = 1;
/// A value, and one of digits only.
const VALUES: [&str; 2] = ["zq7jk2vx9wp4", "735501298461733550"];

/// A body in which credentials stand where `bytes` ask for them, under any of `names`; `None` if one
/// stands there by chance.
pub fn plant(bytes: &[u8], names: &[&str]) -> Option<Vec<u8>> {
    let mut body = Vec::with_capacity(bytes.len() + 64);
    let mut rest = bytes;
    while let Some(at) = rest.iter().position(|byte| *byte == MARK) {
        body.extend_from_slice(&rest[..at]);
        let [name, value] = [1, 2].map(|n| rest.get(at + n).copied().unwrap_or_default());
        body.push(b'"');
        body.extend(spelled(names[usize::from(name) % names.len()], name));
        body.extend([&b"\":"[..], b"\" : ", b"\"\n:\t"][usize::from(value >> 6) % 3]);
        body.extend(self::value(value).into_bytes());
        rest = rest.get(at + 3..).unwrap_or_default();
    }
    body.extend_from_slice(rest);
    let found = VALUES.iter().any(|value| has(bytes, value));
    (!found).then_some(body)
}

/// The name in one of its spellings.
fn spelled(name: &str, seed: u8) -> Vec<u8> {
    let mut state = u32::from(seed).wrapping_mul(2_654_435_761);
    let mut spelled = Vec::new();
    for letter in name.bytes() {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let letter = if state & (1 << 20) == 0 { letter } else { letter.to_ascii_uppercase() };
        // The first spelling of each name is its own.
        match if seed < 8 { 0 } else { state >> 29 } {
            1 => spelled.extend(format!("\\u{letter:04x}").bytes()),
            2 => spelled.extend(format!("\\u{letter:04X}").bytes()),
            3 => spelled.extend([b'_', letter]),
            4 => spelled.extend([&b"\\u002D"[..], &[letter]].concat()),
            5 => spelled.extend([b'-', b'_', letter]),
            _ => spelled.push(letter),
        }
    }
    spelled
}

fn value(seed: u8) -> String {
    let [text, digits] = VALUES;
    match seed % 10 {
        0 => format!("\"{text}\""),
        1 => format!("\"\\\"{text}\\\\\""),
        2 => digits.to_owned(),
        3 => format!("-{digits}.5e7"),
        4 => format!(r#"{{"a":["{text}"],"b":{{"c":"}}{text}"}}}}"#),
        5 => format!("[\"{text}\",{digits}]"),
        6 => format!("\"{text}"),
        7 => format!("[{{\"a\":\"{text}\""),
        8 => text.to_owned(),
        _ => format!("'{text}'"),
    }
}

/// Checks that nothing planted is seen in any event, unless the body says it in other ways than as
/// the value of one of these names.
pub fn check_unseen(body: &[u8], events: &[NewEvent], names: &[&str]) {
    if Json::read(body).is_ok() {
        let mut says = false;
        let mut json = serde_json::Deserializer::from_slice(body);
        let read = Within { names, says: &mut says }.deserialize(&mut json);
        // What isn't read here is what that parser doesn't take: nothing is known of it.
        if read.is_err() || says {
            return;
        }
    }
    for event in events {
        let is_base64 = event.content_type == BASE64;
        let decoded = is_base64.then(|| STANDARD.decode(&event.payload).expect("it is base64"));
        let payload = decoded.as_deref().unwrap_or(event.payload.as_bytes());
        let texts = [event.key.as_str(), event.kind.as_str(), &event.element];
        let lane = event.lane.as_ref().map_or("", Lane::as_str);
        let seen = texts.iter().chain([&lane]).any(|text| is_said(text.as_bytes()));
        assert!(!seen && !is_said(payload), "it is seen: {}", String::from_utf8_lossy(payload));
    }
}

fn is_said(text: &[u8]) -> bool {
    VALUES.iter().any(|value| has(text, value))
}

fn has(text: &[u8], value: &str) -> bool {
    text.windows(value.len()).any(|part| part.eq_ignore_ascii_case(value.as_bytes()))
}

/// One value that is looked through.
struct Within<'s, 'n> {
    names: &'n [&'n str],
    says: &'s mut bool,
}

impl Within<'_, '_> {
    fn again(&mut self) -> Within<'_, '_> {
        Within { names: self.names, says: self.says }
    }

    fn is_secret(&self, name: &str) -> bool {
        let letters: String = name.chars().filter(|c| !matches!(c, '_' | '-' | '\0')).collect();
        self.names.iter().any(|known| letters.eq_ignore_ascii_case(known))
    }

    fn hears(self, text: &str) {
        *self.says |= is_said(text.as_bytes());
    }
}

impl<'de> DeserializeSeed<'de> for Within<'_, '_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Within<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, number: i64) -> Result<(), E> {
        self.hears(&number.to_string());
        Ok(())
    }

    fn visit_u64<E>(self, number: u64) -> Result<(), E> {
        self.hears(&number.to_string());
        Ok(())
    }

    /// The last of its digits are lost.
    fn visit_f64<E>(self, number: f64) -> Result<(), E> {
        *self.says |= format!("{:e}", number.abs()).starts_with("7.355012984617");
        Ok(())
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.hears(text);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(self.again())?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut members: A) -> Result<(), A::Error> {
        while let Some(name) = members.next_key::<String>()? {
            if self.is_secret(&name) {
                members.next_value::<IgnoredAny>()?;
            } else {
                self.again().hears(&name);
                members.next_value_seed(self.again())?;
            }
        }
        Ok(())
    }
}
