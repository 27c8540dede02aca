//! The corpus: requests that went wrong for others, each with the report that it was made from.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

/// One case; a line of `cases.jsonl`.
#[derive(Debug, Deserialize)]
pub(crate) struct Case {
    pub(crate) id: String,
    pub(crate) http: Http,
}

/// The request that shows it. A body that is too long to keep is made by the test.
#[derive(Debug, Deserialize)]
pub(crate) struct Http {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: BTreeMap<String, String>,
    body: Option<String>,
    body_b64: Option<String>,
}

impl Case {
    /// Every case there is.
    pub(crate) fn all() -> Vec<Self> {
        let lines = include_str!("cases.jsonl").lines();
        lines.map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The case with this id.
    pub(crate) fn of(id: &str) -> Self {
        Self::all().into_iter().find(|case| case.id == id).unwrap()
    }

    /// The bytes of its body.
    pub(crate) fn body(&self) -> Vec<u8> {
        match (&self.http.body, &self.http.body_b64) {
            (Some(text), _) => text.as_bytes().to_vec(),
            (_, Some(encoded)) => STANDARD.decode(encoded).unwrap(),
            _ => Vec::new(),
        }
    }

    /// Its body, which is text.
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body()).unwrap()
    }
}
