//! Durations and sizes as people write them: `"30s"`, `"4MiB"`.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;
use std::time::Duration;

use serde::de::{Deserialize, Deserializer, Visitor};
use serde::{Serialize, Serializer};

/// A length of time: a whole number with its unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Period(Duration);

/// A number of bytes: a whole number with its unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Size(u64);

/// How often something may happen: a whole number and the time it is for, such as `"50/s"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rate {
    n: u32,
    /// The place among [`RATE_UNITS`].
    unit: usize,
}

/// The times of a rate in seconds.
const RATE_UNITS: [(&str, u32); 3] = [("s", 1), ("m", 60), ("h", 3600)];

/// The units of a period in milliseconds, the smallest first.
const PERIOD_UNITS: [(&str, u64); 5] =
    [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

/// The units of a size in bytes, the smallest first.
const SIZE_UNITS: [(&str, u64); 4] =
    [("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)];

/// A hundred years: what a calendar can still be asked to add.
const PERIOD_LIMIT: u64 = 36_500 * 86_400_000;

impl Period {
    pub(crate) const fn milliseconds(n: u64) -> Self {
        Self(Duration::from_millis(n))
    }

    pub(crate) const fn seconds(n: u64) -> Self {
        Self(Duration::from_secs(n))
    }

    pub(crate) const fn days(n: u64) -> Self {
        Self(Duration::from_secs(n * 86_400))
    }

    pub(crate) const fn get(self) -> Duration {
        self.0
    }
}

impl Size {
    pub(crate) fn bytes(n: usize) -> Self {
        Self(u64::try_from(n).unwrap_or(u64::MAX))
    }

    pub(crate) const fn mebibytes(n: u64) -> Self {
        Self(n << 20)
    }

    pub(crate) const fn get(self) -> u64 {
        self.0
    }
}

impl Rate {
    pub(crate) fn a_second(self) -> f64 {
        f64::from(self.n) / f64::from(RATE_UNITS[self.unit].1)
    }
}

impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let read = || {
            let (n, unit) = text.split_once('/')?;
            let n = n.trim().parse().ok().filter(|n| (1..=1_000_000).contains(n))?;
            let unit = RATE_UNITS.iter().position(|(name, _)| *name == unit.trim())?;
            Some(Self { n, unit })
        };
        read().ok_or_else(|| {
            format!(
                "`{text}` is no rate; write a whole number from 1 to 1000000 with /s, /m or /h \
                 behind it, such as \"50/s\""
            )
        })
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.n, RATE_UNITS[self.unit].0)
    }
}

impl<'de> Deserialize<'de> for Rate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Quoted(PhantomData, "a rate in quotes, such as \"50/s\""))
    }
}

impl Serialize for Rate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl FromStr for Period {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match number_with_unit(text, &PERIOD_UNITS) {
            Some(milliseconds) if milliseconds <= PERIOD_LIMIT => {
                Ok(Self(Duration::from_millis(milliseconds)))
            }
            Some(_) => Err(format!("`{text}` is longer than a hundred years")),
            None => Err(format!(
                "`{text}` is no duration; write a whole number with ms, s, m, h or d behind it, \
                 such as \"30s\""
            )),
        }
    }
}

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        number_with_unit(text, &SIZE_UNITS).map(Self).ok_or_else(|| {
            format!(
                "`{text}` is no size; write a whole number with B, KiB, MiB or GiB behind it, such \
                 as \"4MiB\""
            )
        })
    }
}

impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let milliseconds = u64::try_from(self.0.as_millis()).unwrap_or(u64::MAX);
        f.write_str(&with_largest_unit(milliseconds, &PERIOD_UNITS))
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&with_largest_unit(self.0, &SIZE_UNITS))
    }
}

/// Multiplies the number in front by the unit behind it.
fn number_with_unit(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let unit = text[digits..].trim_start();
    let (_, factor) = units.iter().find(|(name, _)| *name == unit)?;
    text[..digits].parse::<u64>().ok()?.checked_mul(*factor)
}

/// Writes `n` in the largest unit that leaves a whole number above one, so that a minute is `60s`.
fn with_largest_unit(n: u64, units: &[(&str, u64)]) -> String {
    let fits = |factor: u64| n.is_multiple_of(factor) && (n > factor || factor == 1_000);
    let found = units.iter().rev().find(|(_, factor)| fits(*factor));
    let (name, factor) = found.unwrap_or(&units[0]);
    format!("{}{name}", n / factor)
}

/// Reads a quantity from a string, and says what was expected instead of anything else.
struct Quoted<T>(PhantomData<T>, &'static str);

impl<T: FromStr<Err = String>> Visitor<'_> for Quoted<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.1)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }
}

impl<'de> Deserialize<'de> for Period {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Quoted(PhantomData, "a duration in quotes, such as \"30s\""))
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Quoted(PhantomData, "a size in quotes, such as \"4MiB\""))
    }
}

impl Serialize for Period {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Serialize for Size {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantity_is_read_as_it_is_written() {
        for text in ["1s", "30s", "60s", "90s", "5m", "2h", "30d", "250ms", "1500ms"] {
            assert_eq!(text.parse::<Period>().unwrap().to_string(), text);
        }
        for text in ["4MiB", "256MiB", "2GiB", "1023B", "0B"] {
            assert_eq!(text.parse::<Size>().unwrap().to_string(), text);
        }
        assert_eq!("120 s".parse::<Period>().unwrap(), Period::seconds(120));
    }

    #[test]
    fn a_rate_is_a_number_for_a_time() {
        for (text, a_second) in [("50/s", 50.0), ("30/m", 0.5), ("36/h", 0.01)] {
            let rate: Rate = text.parse().unwrap();
            assert_eq!(rate.to_string(), text);
            assert!((rate.a_second() - a_second).abs() < 1e-9, "{text}");
        }
        for text in ["", "50", "0/s", "-1/s", "1.5/s", "5/d", "50 per second", "9999999/s"] {
            assert!(text.parse::<Rate>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_number_without_unit_or_beyond_all_bounds_is_refused() {
        for text in
            ["", "30", "s", "-1s", "1.5h", "1w", "30 sec", "99999999999999999999s", "99999d"]
        {
            assert!(text.parse::<Period>().is_err(), "{text}");
        }
        for text in ["", "4", "4MB", "4 mib", "99999999999GiB"] {
            assert!(text.parse::<Size>().is_err(), "{text}");
        }
    }
}
