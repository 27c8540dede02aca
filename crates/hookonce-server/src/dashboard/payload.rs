//! A payload as a person reads it, with the element in it that the event is.

use std::ops::Range;

use hookonce::element;
use maud::{Markup, html};

/// More is shown as it came.
const LIMIT: usize = 256 << 10;

/// Shows it.
pub(super) fn show(payload: &str, pointer: &str) -> Markup {
    let marked = element::pointer(payload, pointer).map(|element| {
        let from = element.as_ptr().addr() - payload.as_ptr().addr();
        from..from + element.len()
    });
    // What is whole is not marked.
    let marked = marked.filter(|range| range.len() < payload.trim().len()).unwrap_or(0..0);
    let is_json = serde_json::from_str::<serde::de::IgnoredAny>(payload).is_ok();
    let [before, within, after] = if is_json && payload.len() <= LIMIT {
        spread(payload, &marked)
    } else {
        [
            payload[..marked.start].to_owned(),
            payload[marked.clone()].to_owned(),
            payload[marked.end..].to_owned(),
        ]
    };
    html! {
        pre.payload tabindex="0" {
            (before) @if !within.is_empty() { mark { (within) } } (after)
        }
    }
}

/// JSON with a line for each member: what is in front of a range, within and behind it. Only white space
/// is changed, so that it is what came.
fn spread(json: &str, marked: &Range<usize>) -> [String; 3] {
    let mut parts = [String::new(), String::new(), String::new()];
    let (mut depth, mut is_text, mut is_escaped) = (0_usize, false, false);
    let (mut was_opened, mut last) = (false, 0);
    for (at, c) in json.char_indices() {
        let part = usize::from(at >= marked.start && !marked.is_empty())
            + usize::from(at >= marked.end && !marked.is_empty());
        // The range itself begins and ends with what is in it.
        let gap = if part == 1 { last } else { part };
        if is_text {
            parts[part].push(c);
            is_text = is_escaped || c != '"';
            is_escaped = c == '\\' && !is_escaped;
            continue;
        }
        if c.is_ascii_whitespace() {
            continue;
        }
        let closes = matches!(c, '}' | ']');
        if was_opened && !closes {
            depth += 1;
            line(&mut parts[gap], depth);
        } else if closes && !was_opened {
            depth = depth.saturating_sub(1);
            line(&mut parts[gap], depth);
        }
        let to = &mut parts[part];
        to.push(c);
        match c {
            ',' => line(to, depth),
            ':' => to.push(' '),
            _ => {}
        }
        last = part;
        was_opened = matches!(c, '{' | '[');
        is_text = c == '"';
    }
    parts
}

fn line(to: &mut String, depth: usize) {
    to.push('\n');
    // So deep nobody reads.
    to.extend(std::iter::repeat_n("  ", depth.min(40)));
}

#[cfg(test)]
mod tests {
    use super::{show, spread};

    #[test]
    fn only_white_space_is_changed_and_the_element_stands_alone() {
        let json = r#"{"a":[{"b":"x,\"}:"},2],"c":{},"d":[ ]}"#;
        let from = json.find("{\"b").unwrap();
        let [before, within, after] = spread(json, &(from..from + 14));
        assert_eq!(within, "{\n      \"b\": \"x,\\\"}:\"\n    }");
        let bare = |text: &str| text.replace(['\n', ' '], "");
        assert_eq!(bare(&[&*before, &within, &after].concat()), bare(json));
        assert!(after.ends_with("\"c\": {},\n  \"d\": []\n}"), "{after}");
    }

    #[test]
    fn what_a_sender_wrote_is_text() {
        let shown = show(r#"{"text":"<script>alert(1)</script>"}"#, "/text").into_string();
        assert!(shown.contains("<mark>&quot;&lt;script&gt;"), "{shown}");
        assert!(!shown.contains("<script"), "{shown}");
        assert!(show("<b>", "").into_string().contains("&lt;b&gt;"));
    }
}
