//! The times that senders give.

use jiff::Timestamp;

use crate::element::Json;

/// A time from here on is in milliseconds: in seconds it would be in the year 5138.
const MILLISECONDS_FROM: i64 = 100_000_000_000;

/// The time that `value` gives, see [`of_text`].
pub(super) fn of(value: Json<'_>) -> Option<Timestamp> {
    of_text(&value.text()?)
}

/// A time in seconds or milliseconds since 1970, or as text of RFC 3339; `None` if it can't be one.
pub(super) fn of_text(text: &str) -> Option<Timestamp> {
    let Ok(number) = text.parse::<i64>() else { return text.parse().ok() };
    // Nothing was sent in 1970 or before: a zero is a time that isn't known.
    if number <= 0 {
        None
    } else if number < MILLISECONDS_FROM {
        Timestamp::from_second(number).ok()
    } else {
        Timestamp::from_millisecond(number).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_and_milliseconds_are_told_apart_by_their_size() {
        let at = |text| of_text(text).map(|at| at.to_string());
        assert_eq!(at("1760000000").as_deref(), Some("2025-10-09T08:53:20Z"));
        assert_eq!(at("1760000000123").as_deref(), Some("2025-10-09T08:53:20.123Z"));
        assert_eq!(at("2026-01-01T00:00:00+01:00").as_deref(), Some("2025-12-31T23:00:00Z"));
        for none in ["", "0", "-5", "soon", "1e9", "99999999999999999999", "2026-01-01"] {
            assert_eq!(at(none), None, "{none}");
        }
    }
}
