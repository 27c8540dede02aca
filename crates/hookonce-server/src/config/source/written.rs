//! Values that are written as text with a syntax of its own, alone or several in a list.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use hookonce::scheme::generic::{Condition, Part};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::{Serialize, Serializer};

/// A value that is written as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Written<T>(pub(crate) T);

/// Several such values, of which one may be written without a list around it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Several<T>(pub(crate) Vec<T>);

/// What must hold of an event, as a table of places with the texts that may be there.
#[derive(Debug, Clone, Default)]
pub(crate) struct When(pub(crate) Vec<Condition>);

impl<'de, T: FromStr<Err: fmt::Display>> Deserialize<'de> for Written<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Text(PhantomData)).map(Self)
    }
}

impl<T: fmt::Display> Serialize for Written<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

struct Text<T>(PhantomData<T>);

impl<T: FromStr<Err: fmt::Display>> Visitor<'_> for Text<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text in quotes")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }
}

impl<'de, T: FromStr<Err: fmt::Display>> Deserialize<'de> for Several<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Texts(PhantomData)).map(Self)
    }
}

impl<T: fmt::Display> Serialize for Several<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(ToString::to_string))
    }
}

struct Texts<T>(PhantomData<T>);

impl<'de, T: FromStr<Err: fmt::Display>> Visitor<'de> for Texts<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text in quotes, or a list of them")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Vec<T>, E> {
        Ok(vec![text.parse().map_err(E::custom)?])
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<T>, A::Error> {
        let mut values = vec![];
        while let Some(Written(value)) = list.next_element()? {
            values.push(value);
        }
        Ok(values)
    }
}

impl<'de> Deserialize<'de> for When {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Table).map(Self)
    }
}

impl Serialize for When {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let entries = self.0.iter();
        serializer.collect_map(entries.map(|entry| (entry.part.to_string(), &entry.texts)))
    }
}

struct Table;

impl<'de> Visitor<'de> for Table {
    type Value = Vec<Condition>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table of places and what is there, such as { \"/type\" = \"message\" }")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Vec<Condition>, A::Error> {
        let mut conditions = vec![];
        while let Some((Written(part), texts)) = map.next_entry::<Written<Part>, Words>()? {
            conditions.push(Condition { part, texts: texts.0 });
        }
        Ok(conditions)
    }
}

/// The texts of one condition: one or a list; numbers and truth values as they are written.
struct Words(Vec<String>);

/// One of them.
struct Word(String);

impl<'de> Deserialize<'de> for Words {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OneOrMore).map(Self)
    }
}

impl<'de> Deserialize<'de> for Word {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut words = deserializer.deserialize_any(OneOrMore)?;
        match (words.pop(), words.is_empty()) {
            (Some(word), true) => Ok(Self(word)),
            _ => Err(D::Error::custom("a list within a list; write one list of texts")),
        }
    }
}

struct OneOrMore;

impl<'de> Visitor<'de> for OneOrMore {
    type Value = Vec<String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, a whole number, true or false, or a list of these")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Vec<String>, E> {
        Ok(vec![text.to_owned()])
    }

    fn visit_bool<E: Error>(self, word: bool) -> Result<Vec<String>, E> {
        Ok(vec![word.to_string()])
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Vec<String>, E> {
        Ok(vec![number.to_string()])
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<String>, A::Error> {
        let mut words = vec![];
        while let Some(Word(word)) = list.next_element()? {
            words.push(word);
        }
        Ok(words)
    }
}
