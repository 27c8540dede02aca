//! The two ways through events by their numbers.

/// Which way a page goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    NewestFirst,
    OldestFirst,
}

impl Way {
    /// A number before that of every event.
    pub(super) fn start(self) -> i64 {
        match self {
            Self::NewestFirst => i64::MAX,
            Self::OldestFirst => i64::MIN,
        }
    }

    /// A number that no event's is beyond.
    pub(super) fn end(self) -> i64 {
        match self {
            Self::NewestFirst => i64::MIN,
            Self::OldestFirst => i64::MAX,
        }
    }

    /// The number just before that of one event.
    pub(super) fn just_before(self, seq: i64) -> i64 {
        match self {
            Self::NewestFirst => seq + 1,
            Self::OldestFirst => seq - 1,
        }
    }

    /// Of two numbers the one that is come to first.
    pub(super) fn nearer(self, one: i64, other: i64) -> i64 {
        match self {
            Self::NewestFirst => one.max(other),
            Self::OldestFirst => one.min(other),
        }
    }
}
