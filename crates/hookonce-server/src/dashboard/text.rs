//! How numbers, times and states are written.

use std::time::Duration;

use jiff::Timestamp;
use maud::{Markup, html};

/// A number, in groups of three.
pub(super) fn number(n: u64) -> String {
    let digits = n.to_string();
    let groups: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .filter_map(|group| std::str::from_utf8(group).ok())
        .collect();
    groups.join("\u{202f}")
}

/// A time, for people, and to the millisecond for programs.
pub(super) fn time(at: Timestamp) -> Markup {
    html! { time datetime=(at.to_string()) title=(at.to_string()) { (at.strftime("%Y-%m-%d %H:%M:%S")) } }
}

/// A span, by its largest unit.
pub(super) fn span(span: Duration) -> String {
    let seconds = span.as_secs();
    match seconds {
        0 => format!("{} ms", span.as_millis()),
        1..=119 => format!("{seconds} s"),
        120..=7199 => format!("{} min", seconds / 60),
        7200..=172_799 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}

/// For how long something has been so.
pub(super) fn since(at: Timestamp, now: Timestamp) -> String {
    span(Duration::try_from(now.duration_since(at)).unwrap_or_default())
}

/// A state, told by a word and not by its colour alone.
pub(super) fn state(state: &str) -> Markup {
    html! { span.state data-state=(state) { (state) } }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{number, span};

    #[test]
    fn numbers_and_spans_are_short() {
        assert_eq!(
            [0, 999, 1000, 1_234_567].map(number),
            ["0", "999", "1\u{202f}000", "1\u{202f}234\u{202f}567"]
        );
        let seconds = |n| span(Duration::from_secs(n));
        assert_eq!(
            [1, 119, 120, 7200, 200_000].map(seconds),
            ["1 s", "119 s", "2 min", "2 h", "2 days"]
        );
        assert_eq!(span(Duration::from_millis(5)), "5 ms");
    }
}
