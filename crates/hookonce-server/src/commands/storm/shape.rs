//! What is sent: requests as a sender shapes them, with the ids of this run in them.

use std::ops::Range;

/// Templates of the schemes and presets, each a text message or what is nearest to it.
const TEMPLATES: [(&str, &str); 11] = [
    ("meta", include_str!("shapes/meta.json")),
    ("wasender", include_str!("shapes/wasender.json")),
    ("twilio", include_str!("shapes/twilio.form")),
    ("waha", include_str!("shapes/waha.json")),
    ("evolution", include_str!("shapes/evolution.json")),
    ("gupshup", include_str!("shapes/gupshup.json")),
    ("whapi", include_str!("shapes/whapi.json")),
    ("github", include_str!("shapes/github.json")),
    ("slack", include_str!("shapes/slack.json")),
    ("stripe", include_str!("shapes/stripe.json")),
    ("standard-webhooks", include_str!("shapes/standard-webhooks.json")),
];

/// Around what is repeated for each event of a request.
const EACH: [&str; 2] = ["{each}", "{/each}"];
/// How many events each person sends.
const OF_ONE: usize = 5;
/// Hex digits of a run, in front of as many of an event's number.
const DIGITS: usize = 16;

/// How a sender's requests look.
#[derive(Debug, Clone)]
pub(super) struct Shape {
    /// In front of what is repeated, that, and what is behind it; without the latter there is one
    /// event in a request.
    head: String,
    each: Option<(String, String)>,
    /// Tells the ids of this run from those of any other.
    run: String,
    /// When everything was sent, in seconds: copies are the same to the byte.
    time: i64,
}

impl Shape {
    /// The names of those that are known.
    pub(super) fn names() -> impl Iterator<Item = &'static str> {
        TEMPLATES.iter().map(|(name, _)| *name)
    }

    /// As a sender of this scheme or preset sends.
    pub(super) fn of_scheme(name: &str, run: u64, time: i64) -> Option<Self> {
        let (_, template) = TEMPLATES.iter().find(|(known, _)| *known == name)?;
        Self::of_template(template, run, time).ok()
    }

    /// As a template of the user's has it; the error says what is wrong with it.
    pub(super) fn of_template(template: &str, run: u64, time: i64) -> Result<Self, String> {
        let [from, to] = EACH;
        let (head, each) = match template.split_once(from) {
            None => (template.to_owned(), None),
            Some((head, rest)) => {
                let (each, tail) =
                    rest.split_once(to).ok_or_else(|| format!("no `{to}` follows `{from}`"))?;
                (head.to_owned(), Some((each.to_owned(), tail.to_owned())))
            }
        };
        let one = each.as_ref().map_or(&head, |(each, _)| each);
        if !one.contains("{id}") {
            return Err("`{id}` is not in what stands for an event".to_owned());
        }
        Ok(Self { head, each, run: format!("{run:016x}"), time })
    }

    /// Whether a request can have several events.
    pub(super) fn holds_several(&self) -> bool {
        self.each.is_some()
    }

    /// A request with these events, by number; more than one only where it can have several.
    pub(super) fn body(&self, events: &[usize]) -> String {
        let first = events.first().copied().unwrap_or_default();
        let Some((each, tail)) = &self.each else { return self.filled(&self.head, first) };
        let all: Vec<String> = events.iter().map(|event| self.filled(each, *event)).collect();
        format!("{}{}{}", self.filled(&self.head, first), all.join(","), self.filled(tail, first))
    }

    /// What tells an event from others, in hex.
    pub(super) fn token(&self, event: usize) -> String {
        format!("{}{event:016x}", self.run)
    }

    /// The id of an event as it is sent.
    pub(super) fn id(&self, event: usize) -> String {
        let one = self.each.as_ref().map_or(&self.head, |(each, _)| each);
        let at = one.find("{id}").unwrap_or_default();
        let is_edge = |c: char| !(c.is_ascii_alphanumeric() || "._-@:{}".contains(c));
        let from = one[..at].rfind(is_edge).map_or(0, |edge| edge + 1);
        let to = one[at..].find(is_edge).map_or(one.len(), |edge| at + edge);
        self.filled(&one[from..to], event)
    }

    /// The number of the event whose id is in a text.
    pub(super) fn event_in(&self, text: &str, events: Range<usize>) -> Option<usize> {
        let text = text.to_ascii_lowercase();
        let digits = text.match_indices(&self.run).find_map(|(at, run)| {
            let at = at + run.len();
            text.get(at..at + DIGITS).and_then(|digits| usize::from_str_radix(digits, 16).ok())
        });
        digits.filter(|event| events.contains(event))
    }

    fn filled(&self, template: &str, event: usize) -> String {
        let phone = 15_550_000_000 + event / OF_ONE;
        template
            .replace("{id}", &self.token(event))
            .replace("{phone}", &phone.to_string())
            .replace("{text}", &format!("storm{event}"))
            .replace("{time}", &self.time.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::Shape;

    #[test]
    fn an_event_is_found_by_its_id_in_whatever_was_written_down() {
        for name in Shape::names() {
            let shape = Shape::of_scheme(name, 0x00ab, 1).unwrap();
            for event in [0, 7, 99_999] {
                let (id, body) = (shape.id(event), shape.body(&[event]));
                assert!(body.contains(&id), "{name}: {id} is not in {body}");
                for text in [id.clone(), format!("meta:msg:{}", id.to_uppercase()), body] {
                    assert_eq!(shape.event_in(&text, 0..100_000), Some(event), "{name}: {text}");
                }
            }
            let other = Shape::of_scheme(name, 0x00ac, 1).unwrap();
            assert_eq!(shape.event_in(&other.id(7), 0..100_000), None);
            assert_eq!(shape.event_in(&shape.id(7), 0..7), None);
        }
        assert_eq!(Shape::of_scheme("meta", 1, 1).unwrap().id(2).len(), "wamid.".len() + 32);
        assert!(Shape::of_scheme("twilio", 1, 1).unwrap().id(2).starts_with("SM0"));
    }

    #[test]
    fn what_is_repeated_stands_between_what_is_not() {
        let shape = Shape::of_template("[{each}\"{id}\"{/each}]", 0, 0).unwrap();
        let token = |event| shape.token(event);
        assert_eq!(shape.body(&[1, 2]), format!("[\"{}\",\"{}\"]", token(1), token(2)));
        for wrong in ["{each}{id}", "{each}x{/each}{id}", "x"] {
            assert!(Shape::of_template(wrong, 0, 0).is_err(), "{wrong}");
        }
    }
}
