//! The tables as they are copied: what is in a row, in words that both stores share, and what a table
//! sums up to.

use sha2::{Digest as _, Sha256};

/// A table that is copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store) enum Table {
    Events,
    Arrivals,
    Tasks,
    Attempts,
    Steps,
    Sources,
    Routes,
    Audit,
    Minutes,
    Meta,
}

/// What sort of value a column has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store) enum Kind {
    /// A number, a truth, or a time in milliseconds.
    Number,
    Text,
    /// Bytes, or an id.
    Bytes,
}

/// One value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::store) enum Cell {
    Null,
    Number(i64),
    Text(String),
    Bytes(Vec<u8>),
}

/// The values of one row, in the order of the table's columns.
pub(in crate::store) type Row = Vec<Cell>;

type Columns = &'static [(&'static str, Kind)];

impl Table {
    /// Every table: first those whose rows belong to events.
    pub(in crate::store) const ALL: [Self; 10] = [
        Self::Events,
        Self::Arrivals,
        Self::Tasks,
        Self::Attempts,
        Self::Steps,
        Self::Sources,
        Self::Routes,
        Self::Audit,
        Self::Minutes,
        Self::Meta,
    ];
    /// How many of them belong to events.
    pub(in crate::store) const OF_EVENTS: usize = 5;

    pub(in crate::store) fn name(self) -> &'static str {
        match self {
            Self::Events => "events",
            Self::Arrivals => "arrivals",
            Self::Tasks => "tasks",
            Self::Attempts => "attempts",
            Self::Steps => "steps",
            Self::Sources => "sources",
            Self::Routes => "routes",
            Self::Audit => "audit",
            Self::Minutes => "minutes",
            Self::Meta => "meta",
        }
    }

    /// Its columns, in the order in which every statement of a copy has them. What numbers rows within
    /// one store alone is not among them.
    pub(in crate::store) fn columns(self) -> Columns {
        match self {
            Self::Events => &EVENTS,
            Self::Arrivals => &ARRIVALS,
            Self::Tasks => &TASKS,
            Self::Attempts => &ATTEMPTS,
            Self::Steps => &STEPS,
            Self::Sources => &SOURCES,
            Self::Routes => &ROUTES,
            Self::Audit => &AUDIT,
            Self::Minutes => &MINUTES,
            Self::Meta => &META,
        }
    }

    /// Where a column stands.
    pub(in crate::store) fn at(self, column: &str) -> usize {
        let found = self.columns().iter().position(|(name, _)| *name == column);
        found.expect("a table is only asked for columns that it has")
    }
}

use Kind::{Bytes, Number, Text};

const EVENTS: [(&str, Kind); 14] = [
    ("seq", Number),
    ("id", Bytes),
    ("source", Text),
    ("key", Text),
    ("kind", Text),
    ("lane", Text),
    ("priority", Number),
    ("content_type", Text),
    ("element", Text),
    ("digest", Bytes),
    ("weak_key", Number),
    ("sent_at", Number),
    ("received_at", Number),
    ("payload", Text),
];

const ARRIVALS: [(&str, Kind); 5] =
    [("seq", Number), ("at", Number), ("n", Number), ("mismatch", Number), ("element", Text)];

const TASKS: [(&str, Kind); 20] = [
    ("seq", Number),
    ("route", Text),
    ("event_id", Bytes),
    ("source", Text),
    ("lane_id", Bytes),
    ("priority", Number),
    ("state", Text),
    ("attempt", Number),
    ("max_attempts", Number),
    ("run", Number),
    ("epoch", Number),
    ("token", Bytes),
    ("due_at", Number),
    ("lease_until", Number),
    ("worker", Text),
    ("error", Text),
    ("claimed_at", Number),
    ("finished_at", Number),
    ("first_route", Text),
    ("replayed_at", Number),
];

const ATTEMPTS: [(&str, Kind); 10] = [
    ("seq", Number),
    ("route", Text),
    ("epoch", Number),
    ("run", Number),
    ("attempt", Number),
    ("worker", Text),
    ("started_at", Number),
    ("ended_at", Number),
    ("outcome", Text),
    ("error", Text),
];

const STEPS: [(&str, Kind); 6] = [
    ("seq", Number),
    ("route", Text),
    ("run", Number),
    ("name", Text),
    ("state", Text),
    ("result", Text),
];

const SOURCES: [(&str, Kind); 2] = [("name", Text), ("scope", Text)];

const ROUTES: [(&str, Kind); 9] = [
    ("name", Text),
    ("sources", Text),
    ("kinds", Text),
    ("max_attempts", Number),
    ("retry_min", Number),
    ("retry_max", Number),
    ("on_dead", Text),
    ("order", Text),
    ("worker", Text),
];

const AUDIT: [(&str, Kind); 4] =
    [("at", Number), ("who", Text), ("action", Text), ("details", Text)];

const MINUTES: [(&str, Kind); 4] =
    [("minute", Number), ("source", Text), ("what", Text), ("n", Number)];

const META: [(&str, Kind); 2] = [("name", Text), ("value", Number)];

/// How many rows a table has and what they sum up to, in whatever order they come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::store) struct Sum {
    pub(in crate::store) rows: u64,
    sum: u128,
}

impl Sum {
    pub(in crate::store) fn add(&mut self, row: &Row) {
        let mut hash = Sha256::new();
        for cell in row {
            // Each begins with its sort and length, so that no two rows are hashed alike.
            match cell {
                Cell::Null => hash.update([0]),
                Cell::Number(number) => {
                    hash.update([1]);
                    hash.update(number.to_be_bytes());
                }
                Cell::Text(text) => add_bytes(&mut hash, 2, text.as_bytes()),
                Cell::Bytes(bytes) => add_bytes(&mut hash, 3, bytes),
            }
        }
        let hash: [u8; 32] = hash.finalize().into();
        let (first, _) = hash.split_at(16);
        let number = first.iter().fold(0_u128, |number, byte| number << 8 | u128::from(*byte));
        self.rows += 1;
        self.sum = self.sum.wrapping_add(number);
    }

    pub(in crate::store) fn checksum(&self) -> String {
        format!("{:032x}", self.sum)
    }
}

fn add_bytes(hash: &mut Sha256, sort: u8, bytes: &[u8]) {
    hash.update([sort]);
    hash.update(bytes.len().to_be_bytes());
    hash.update(bytes);
}
