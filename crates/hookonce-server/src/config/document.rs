//! The text of a configuration: its tables, with the line of every key, read section by section so
//! that every problem is found at once.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::de::{DeserializeOwned, IntoDeserializer as _};
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::later;
use super::problem::Problem;
use super::section::{section, sections};

/// The text, with what was found wrong in it so far.
#[derive(Debug)]
pub(crate) struct Document {
    /// Where its keys stand.
    pub(crate) lines: Lines,
    /// What is wrong.
    pub(crate) problems: Vec<Problem>,
    /// What works, but should be known.
    pub(crate) warnings: Vec<Problem>,
    /// The values that may be URLs, which nothing quotes: there may be a password in one, at whichever
    /// key it was written.
    urls: Vec<String>,
}

/// What stands in a message where a URL would.
const NOT_SHOWN: &str = "(a URL, which is not shown)";

/// The line of every key, by its path.
#[derive(Debug, Default)]
pub(crate) struct Lines(BTreeMap<String, usize>);

impl Lines {
    /// The line of a key, or of the nearest table around it.
    pub(crate) fn find(&self, key: &str) -> Option<usize> {
        let mut key = key;
        loop {
            if let Some(line) = self.0.get(key) {
                return Some(*line);
            }
            key = &key[..key.rfind(['.', '['])?];
        }
    }
}

/// A table of the text, whose values know where they stand.
pub(crate) type Table<'t> = DeTable<'t>;

impl Document {
    /// Reads the text as TOML. What can't be read is noted, and the rest is given.
    pub(crate) fn parse(text: &str) -> (Self, Table<'_>) {
        let (root, errors) = DeTable::parse_recoverable(text);
        let root = root.into_inner();
        let (lines, problems, warnings) = (Lines::default(), vec![], vec![]);
        let mut document = Self { lines, problems, warnings, urls: vec![] };
        for error in errors {
            let line = error.span().map(|span| line_of(text, span.start));
            let message = format!("this is not TOML: {}", error.message());
            document.problems.push(Problem { line, key: String::new(), message });
        }
        document.note_lines(text, "", &root);
        (document, root)
    }

    /// Notes something that is wrong with the key of this path.
    pub(crate) fn problem(&mut self, key: &str, message: impl Into<String>) {
        let problem = self.at(key, message.into());
        self.problems.push(problem);
    }

    /// Notes something about the key of this path that works, but should be known.
    pub(crate) fn warn(&mut self, key: &str, message: impl Into<String>) {
        let warning = self.at(key, message.into());
        self.warnings.push(warning);
    }

    /// Takes a section out of its table; `None` if it can't be used, with the reasons noted.
    pub(crate) fn read<T: DeserializeOwned + JsonSchema>(
        &mut self,
        path: &str,
        table: Table<'_>,
    ) -> Option<T> {
        self.read_beside(path, table, &[])
    }

    /// Takes a section out of its table from which the keys `also` were taken before.
    pub(crate) fn read_beside<T: DeserializeOwned + JsonSchema>(
        &mut self,
        path: &str,
        table: Table<'_>,
        also: &[String],
    ) -> Option<T> {
        let known = keys::<T>();
        let mut is_known = |key: &Spanned<DeString<'_>>| {
            let is_known = known.iter().any(|known| known == key.get_ref());
            if !is_known {
                let message = unknown_key(path, key.get_ref(), &[&known, also].concat());
                self.problem(&join(path, key.get_ref()), message);
            }
            is_known
        };
        let mut table: Table<'_> = table.into_iter().filter(|(key, _)| is_known(key)).collect();
        let mut whole = true;
        // One error is told at a time: the key it is about is taken out, and the rest read again.
        loop {
            let error = match T::deserialize(Spanned::new(0..0, table.clone()).into_deserializer())
            {
                Ok(read) => return whole.then_some(read),
                Err(error) => error,
            };
            whole = false;
            let at = error.span().and_then(|span| {
                let within = |value: &Spanned<DeValue<'_>>| {
                    value.span().start <= span.start && span.end <= value.span().end
                };
                table
                    .iter()
                    .find(|(_, value)| within(value))
                    .map(|(key, _)| key.get_ref().to_string())
            });
            let Some(name) = at else {
                self.note_missing(path, error.message());
                return None;
            };
            self.problem(&join(path, &name), wrong_value(&name, error.message()));
            table.remove(name.as_str());
        }
    }

    /// Takes the tables of a section such as `[sources.*]`, by name.
    pub(crate) fn named<'t>(
        &mut self,
        what: &str,
        table: &mut Table<'t>,
    ) -> Vec<(String, Table<'t>)> {
        let Some(value) = table.remove(what) else { return vec![] };
        let DeValue::Table(tables) = value.into_inner() else {
            self.problem(what, format!("write a table for each of them: `[{what}.NAME]`"));
            return vec![];
        };
        let mut named = vec![];
        for (name, value) in tables {
            let name = name.into_inner().into_owned();
            match value.into_inner() {
                DeValue::Table(table) => named.push((name, table)),
                _ => self.problem(
                    &join(what, &name),
                    format!("write a table for each of them: `[{what}.NAME]`"),
                ),
            }
        }
        named
    }

    /// Takes the tables of a section such as `[[routes]]`, in order; `what` is its whole path.
    pub(crate) fn listed<'t>(&mut self, what: &str, table: &mut Table<'t>) -> Vec<Table<'t>> {
        let key = what.rsplit('.').next().unwrap_or(what);
        let Some(value) = table.remove(key) else { return vec![] };
        let tables = match value.into_inner() {
            DeValue::Array(values) => values
                .into_iter()
                .map(|value| match value.into_inner() {
                    DeValue::Table(table) => Some(table),
                    _ => None,
                })
                .collect(),
            _ => None,
        };
        tables.unwrap_or_else(|| {
            self.problem(what, format!("write a table for each of them: `[[{what}]]`"));
            vec![]
        })
    }

    /// Takes a section such as `[server]`; `what` is its whole path.
    pub(crate) fn single<'t>(&mut self, what: &str, table: &mut Table<'t>) -> Table<'t> {
        let key = what.rsplit('.').next().unwrap_or(what);
        match table.remove(key).map(Spanned::into_inner) {
            None => Table::new(),
            Some(DeValue::Table(table)) => table,
            Some(_) => {
                self.problem(what, format!("write it as a table: `[{what}]`"));
                Table::new()
            }
        }
    }

    /// Gives the word that says what sort of section this is, if it is one of `words`.
    pub(crate) fn word<'w>(
        &mut self,
        path: &str,
        key: &str,
        table: &Table<'_>,
        words: &[&'w str],
    ) -> Option<&'w str> {
        let all = words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", ");
        let Some(value) = table.get(key) else {
            self.problem(path, format!("`{key}` is missing; say which: {all}"));
            return None;
        };
        let at = join(path, key);
        let Some(given) = value.get_ref().as_str() else {
            self.problem(&at, format!("write one of {all}"));
            return None;
        };
        let found = words.iter().find(|word| **word == given).copied();
        if found.is_none() {
            let message = if later::is_word(key, given) {
                format!("`{given}` is known, but {}; there is {all}", later::NOT_YET)
            } else {
                let hint = nearest(given, words).map(|word| format!("; did you mean `{word}`?"));
                format!("there is no `{given}`; there is {all}{}", hint.unwrap_or_default())
            };
            self.problem(&at, message);
        }
        found
    }

    fn at(&self, key: &str, message: String) -> Problem {
        let hide = |message: String, url: &String| {
            // A reader quotes it with escapes.
            let escaped = url.escape_debug().to_string();
            message.replace(url, NOT_SHOWN).replace(&escaped, NOT_SHOWN)
        };
        let message = self.urls.iter().fold(message, hide);
        Problem { line: self.lines.find(key), key: key.to_owned(), message }
    }

    fn note_missing(&mut self, path: &str, message: &str) {
        let Some(name) = message.strip_prefix("missing field `").and_then(|m| m.strip_suffix('`'))
        else {
            self.problem(path, message);
            return;
        };
        // It isn't missing if it was taken out above for another problem.
        if !self.problems.iter().any(|problem| problem.key == join(path, name)) {
            self.problem(path, format!("`{name}` is missing"));
        }
    }

    fn note_lines(&mut self, text: &str, path: &str, table: &Table<'_>) {
        for (key, value) in table {
            let path = join(path, key.get_ref());
            self.lines.0.insert(path.clone(), line_of(text, key.span().start));
            self.note_lines_within(text, &path, value);
        }
    }

    fn note_lines_within(&mut self, text: &str, path: &str, value: &Spanned<DeValue<'_>>) {
        match value.get_ref() {
            DeValue::Table(table) => self.note_lines(text, path, table),
            DeValue::Array(values) => {
                for (n, value) in values.iter().enumerate() {
                    let path = format!("{path}[{n}]");
                    self.lines.0.insert(path.clone(), line_of(text, value.span().start));
                    self.note_lines_within(text, &path, value);
                }
            }
            DeValue::String(text) if text.contains("://") || text.contains('@') => {
                self.urls.push(text.to_string());
                // So that none is left in part where one begins with another.
                self.urls.sort_by_key(|url| std::cmp::Reverse(url.len()));
            }
            _ => {}
        }
    }
}

/// The names of a section's keys.
pub(crate) fn keys<T: JsonSchema>() -> Vec<String> {
    section::<T>("").keys.into_iter().map(|key| key.name).collect()
}

/// Takes those keys out of a table that are `names`.
pub(crate) fn take<'t>(table: &mut Table<'t>, names: &[String]) -> Table<'t> {
    let (taken, left) = std::mem::take(table)
        .into_iter()
        .partition(|(key, _)| names.iter().any(|name| name == key.get_ref()));
    *table = left;
    taken
}

/// Puts a key behind the path of its table.
pub(crate) fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// The one of `words` that was probably meant.
pub(crate) fn nearest<'w>(given: &str, words: &[&'w str]) -> Option<&'w str> {
    let distance = |word: &&&str| strsim::damerau_levenshtein(given, word);
    let best = words.iter().min_by_key(distance)?;
    let limit = (best.len() / 3).max(1);
    (distance(&best) <= limit).then_some(*best)
}

/// What to say of a value that can't be what it is for: what the reader says, which quotes it, but for
/// secrets.
fn wrong_value(name: &str, message: &str) -> String {
    const SECRET: [&str; 5] = ["secrets", "secret", "verify_token", "token", "password"];
    if !SECRET.contains(&name) {
        return message.to_owned();
    }
    let expected = message.rsplit_once("expected ").map_or("something else", |(_, what)| what);
    format!(
        "what is written there is not shown, and not {expected}; write a text in quotes, and \
             several of them as `[\"…\", \"…\"]`"
    )
}

/// What to say of a key that its section doesn't have.
fn unknown_key(path: &str, name: &str, known: &[String]) -> String {
    const SECTIONS: [&str; 9] = [
        "server",
        "admin",
        "worker",
        "retention",
        "postgres",
        "redis",
        "sources",
        "routes",
        "sinks",
    ];
    let mut words: Vec<&str> = known.iter().map(String::as_str).collect();
    match path {
        "" => words.extend(SECTIONS),
        "admin" => words.push("tokens"),
        "server" => words.push("tls"),
        _ => {}
    }
    if let Some(word) = nearest(name, &words) {
        return format!("there is no key `{name}`; did you mean `{word}`?");
    }
    let sections = sections();
    let elsewhere = sections.iter().find(|section| section.keys.iter().any(|key| key.name == name));
    match elsewhere {
        Some(section) if section.heading.is_empty() => {
            format!("there is no key `{name}` here; it belongs before the first section")
        }
        Some(section) => {
            format!("there is no key `{name}` here; it belongs in `{}`", section.heading)
        }
        None if words.is_empty() => format!("there is no key `{name}`; this section has no others"),
        None => format!("there is no key `{name}`; there are {}", words.join(", ")),
    }
}

fn line_of(text: &str, at: usize) -> usize {
    text.get(..at).unwrap_or(text).matches('\n').count() + 1
}
