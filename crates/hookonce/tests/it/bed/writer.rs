//! JSON as noisy as it may be: spaces, escapes, unknown members, overridden members.

use std::fmt::Write as _;

use fastrand::Rng;

/// Writes JSON; of one seed always the same.
pub(crate) struct Writer {
    pub(crate) rng: Rng,
    ids: Vec<String>,
    count: usize,
}

const NOISE: [&str; 7] = [
    "null",
    "-0.10e+5",
    "9007199254740993",
    r#""\u0000\ud83d\\""#,
    r#"[ [],{"messages":[{"id":"1"}]} ]"#,
    r#"{"a":{"a" : [{}]},"a":"]}"}"#,
    r#"[{"id":"overridden"}]"#,
];

impl Writer {
    pub(crate) fn new(seed: u64, ids: Vec<String>) -> Self {
        Self { rng: Rng::with_seed(seed), ids, count: 0 }
    }

    pub(crate) fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.rng.usize(..choices.len())]
    }

    /// An id that no other element has.
    pub(crate) fn id(&mut self) -> String {
        self.count += 1;
        let text = self.ids[self.rng.usize(..self.ids.len())].replace('\u{fffd}', "");
        format!("{text}{}", self.count)
    }

    pub(crate) fn space(&mut self) -> &'static str {
        self.one_of(&["", "", "", " ", "\n\t", "\r\n  "])
    }

    /// A string literal, each character escaped or not.
    pub(crate) fn text(&mut self, text: &str) -> String {
        let mut literal = "\"".to_owned();
        for c in text.chars() {
            if matches!(c, '"' | '\\') || self.rng.u8(..4) == 0 {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    write!(literal, "\\u{unit:04x}").expect("a string takes everything");
                }
            } else {
                literal.push(c);
            }
        }
        literal + "\""
    }

    pub(crate) fn array(&mut self, items: &[String]) -> String {
        let mut array = format!("[{}", self.space());
        for (n, item) in items.iter().enumerate() {
            array += if n > 0 { "," } else { "" };
            array.extend([self.space(), item, self.space()]);
        }
        array + "]"
    }

    /// An object of these members in this order, between unknown and overridden ones.
    pub(crate) fn object(&mut self, members: &[(&str, String)]) -> String {
        let mut written = Vec::new();
        for (name, value) in members {
            if self.rng.u8(..6) == 0 {
                self.count += 1;
                let unknown = format!("unknown {}", self.count);
                written.push((self.text(&unknown), self.one_of(&NOISE).to_owned()));
            }
            if self.rng.u8(..8) == 0 {
                written.push((self.text(name), self.one_of(&NOISE).to_owned()));
            }
            written.push((self.text(name), value.clone()));
        }
        let mut object = format!("{{{}", self.space());
        for (n, (name, value)) in written.iter().enumerate() {
            object += if n > 0 { "," } else { "" };
            object.extend([
                self.space(),
                name,
                self.space(),
                ":",
                self.space(),
                value,
                self.space(),
            ]);
        }
        object + "}"
    }
}
