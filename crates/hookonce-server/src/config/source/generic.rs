//! What `scheme = "generic"`, and every preset that is made of it, adds to a source.

use hookonce::scheme::generic::{Part, Pointer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::document::{Document, Table, join};
use super::super::quantity::Period;
use super::signature::SignatureConfig;
use super::written::{Several, When, Written};

/// Tables that stand within a generic source.
const TABLES: [&str; 2] = ["signature", "rules"];

/// Any sender that posts JSON: you say how it signs, where its events are and what makes each one.
///
/// Places are written so: `/pointer`, a JSON pointer from the element; `root:/pointer`, one from the
/// body; `header:NAME`; `digest`, the SHA-256 of the element; `literal:TEXT`. Several with ` or `
/// between them are tried one after the other: `"/wamid or /id"`. Where a list of them is asked for,
/// one may stand without the list.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct GenericConfig {
    /// Where the events are: JSON pointers to arrays of them, or to objects that are one. `""` is the
    /// body itself, where nothing is at the others. Without it: the body.
    #[schemars(with = "Option<Vec<String>>")]
    pub(crate) events: Option<Several<Pointer>>,
    /// The places of which the key is made; `literal:` parts tell those of different kinds apart.
    /// Strings and numbers are taken as they stand. Where one is missing, empty or anything else, the
    /// key is a hash (`weak_key`), and the event sent in another request is another event. `digest` as
    /// a last part makes changed content under a known id a new event.
    #[schemars(with = "Option<Vec<String>>")]
    pub(crate) key: Option<Several<Part>>,
    /// The places of which the kind is made, with dots between; missing ones are left out. `unknown`
    /// where nothing but literals is left.
    #[schemars(with = "Option<Vec<String>>")]
    pub(crate) kind: Option<Several<Part>>,
    /// The places of which the lane is made: what tells one conversation from another. Where one is
    /// missing, the event has no lane.
    #[schemars(with = "Option<Vec<String>>")]
    pub(crate) lane: Option<Several<Part>>,
    /// The place of the sender's time: seconds or milliseconds since 1970, or RFC 3339.
    #[schemars(with = "Option<String>")]
    pub(crate) time: Option<Written<Part>>,
    /// 0 for messages and whatever somebody waits for, 1 for everything else, 2 for history; 1 where
    /// it is not given.
    pub(crate) priority: Option<u8>,
    /// JSON pointer from the element to what is the same in every copy of it, where not all is. A
    /// copy in which that differs is a mismatch.
    #[schemars(with = "Option<String>")]
    pub(crate) content: Option<Written<Pointer>>,
    /// Refuses this configuration where a part of a key may come from what the signature doesn't
    /// cover: someone could then send a captured request again under another key.
    pub(crate) require_signed_key: bool,
    /// For how long the sender comes again without a 200. `retention.key` is refused below it.
    #[schemars(with = "Option<String>")]
    pub(crate) retries: Option<Period>,
    /// The place of the text to answer where the sender asks by POST whether you are who it thinks.
    /// What is asked is no event.
    #[schemars(with = "Option<String>")]
    pub(crate) challenge: Option<Written<Part>>,
    /// What tells that question from events, as a table like `when` of a rule.
    #[schemars(with = "std::collections::BTreeMap<String, Vec<String>>", default)]
    pub(crate) challenge_when: When,
    /// How it signs.
    #[serde(skip)]
    #[schemars(skip)]
    pub(crate) signature: Option<SignatureConfig>,
    /// What holds of some of its events.
    #[serde(skip)]
    #[schemars(skip)]
    pub(crate) rules: Vec<RuleConfig>,
}

/// What makes some of a generic source's elements events. The first rule that takes an element
/// decides. What a rule doesn't say, and what no rule takes, is as the source itself says.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct RuleConfig {
    /// The places of `events` that it is for; all where it is not given.
    #[schemars(with = "Option<Vec<String>>")]
    pub(crate) events: Option<Several<Pointer>>,
    /// What must hold of an element: a table of places, each with the text that must be there, or a
    /// list of texts that may be; `"*"` is any. `when = { "/type" = ["sent", "read"], "/id" = "*" }`.
    #[schemars(with = "std::collections::BTreeMap<String, Vec<String>>", default)]
    pub(crate) when: When,
    /// As `key` of the source.
    #[schemars(with = "Option<Vec<String>>")]
    pub(crate) key: Option<Several<Part>>,
    /// As `kind` of the source.
    #[schemars(with = "Option<Vec<String>>")]
    pub(crate) kind: Option<Several<Part>>,
    /// As `lane` of the source; `[]` for none.
    #[schemars(with = "Option<Vec<String>>")]
    pub(crate) lane: Option<Several<Part>>,
    /// As `time` of the source.
    #[schemars(with = "Option<String>")]
    pub(crate) time: Option<Written<Part>>,
    /// As `priority` of the source.
    pub(crate) priority: Option<u8>,
    /// As `content` of the source.
    #[schemars(with = "Option<String>")]
    pub(crate) content: Option<Written<Pointer>>,
}

impl GenericConfig {
    /// Reads a source's own keys and the tables within it; `also` are the keys that every source has.
    pub(super) fn read(
        document: &mut Document,
        path: &str,
        mut table: Table<'_>,
        also: &[String],
    ) -> Option<Self> {
        let signature = if table.contains_key("signature") {
            let path = join(path, "signature");
            let signature = document.single(&path, &mut table);
            document.read(&path, signature).map(Some)
        } else {
            Some(None)
        };
        let rules = join(path, "rules");
        let tables = document.listed(&rules, &mut table).into_iter().enumerate();
        let rules: Vec<_> =
            tables.map(|(n, table)| document.read(&format!("{rules}[{n}]"), table)).collect();
        let rules: Option<Vec<_>> = rules.into_iter().collect();
        let also = [also, &TABLES.map(str::to_owned)].concat();
        let own: Option<Self> = document.read_beside(path, table, &also);
        Some(Self { signature: signature?, rules: rules?, ..own? })
    }

    /// Every place that events are looked for at, each once.
    pub(crate) fn places(&self) -> Vec<Pointer> {
        let rules = self.rules.iter().map(|rule| &rule.events);
        let lists = std::iter::once(&self.events).chain(rules).flatten();
        let mut places: Vec<Pointer> = vec![];
        for place in lists.flat_map(|list| &list.0) {
            if !places.contains(place) {
                places.push(place.clone());
            }
        }
        if places.is_empty() { vec![Pointer::default()] } else { places }
    }
}
