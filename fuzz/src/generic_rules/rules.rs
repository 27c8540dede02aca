//! Rules that bytes choose.

use hookonce::event::Priority;
use hookonce::scheme::generic::{Condition, GenericOptions, Part, Pointer, Rule};

/// So many places, rules and parts of a rule are taken; one looks at each for every element.
const MOST: usize = 8;

/// What is known of a sender, and of the places that it names.
#[derive(Debug, Default)]
pub struct Rules {
    /// What the scheme is told.
    pub options: GenericOptions,
    /// Where a part looks from the body.
    roots: Vec<Pointer>,
}

impl Rules {
    /// Reads a line for each thing there is to know, a letter and a text: `e/messages` for a place of
    /// elements, `r` for another rule, and of that `E` a place, `k` a part of the key, `n` of the
    /// kind, `l` of the lane, `t` the time, `p` the priority, `c` the content, `w/type=a=b` a
    /// condition. What says nothing is passed over.
    pub fn read(text: &str) -> Self {
        let mut rules = Self::default();
        for line in text.split('\n') {
            let Some(letter) = line.chars().next().filter(char::is_ascii) else { continue };
            rules.line(letter, &line[1..]);
        }
        rules
    }

    fn line(&mut self, letter: char, text: &str) {
        if letter == 'e' {
            let others = &self.options.events;
            let is_apart = |place: &Pointer| {
                let apart = |other: &Pointer| {
                    let either_is_body = place.is_empty() != other.is_empty();
                    either_is_body || !(place.holds(other) || other.holds(place))
                };
                others.len() < MOST && others.iter().all(apart)
            };
            let place = pointer(text).filter(is_apart);
            self.options.events.extend(place);
            return;
        }
        let rules = &mut self.options.rules;
        if rules.is_empty() || letter == 'r' && rules.len() < MOST {
            rules.push(Rule::default());
        }
        let Some(rule) = rules.last_mut() else { return };
        let roots = &mut self.roots;
        let mut add = |parts: &mut Vec<Part>| {
            let part = part(text, roots).filter(|_| parts.len() < MOST);
            parts.extend(part);
        };
        match letter {
            'E' => {
                let events = rule.events.get_or_insert_default();
                events.extend(pointer(text).filter(|_| events.len() < MOST));
            }
            'k' => add(&mut rule.key),
            'n' => add(&mut rule.kind),
            'l' => add(&mut rule.lane),
            't' => rule.time = part(text, roots),
            'c' => rule.content = pointer(text),
            'p' => rule.priority = Priority::from_number(text.len().try_into().unwrap_or_default()),
            'w' if rule.when.len() < MOST => {
                let mut texts = text.split('=');
                let part = texts.next().and_then(|text| part(text, roots));
                let texts = texts.map(str::to_owned).collect();
                rule.when.extend(part.map(|part| Condition { part, texts }));
            }
            _ => {}
        }
    }

    /// The names on the way to each place of elements.
    pub fn places(&self) -> Vec<Vec<String>> {
        let names = |place: &Pointer| {
            let text = place.to_string();
            let names = text.split('/').skip(1);
            names.map(|name| name.replace("~1", "/").replace("~0", "~")).collect()
        };
        self.options.events.iter().map(names).collect()
    }

    /// What of an element may be its content.
    pub fn contents(&self) -> Vec<String> {
        self.options
            .rules
            .iter()
            .filter_map(|rule| Some(rule.content.as_ref()?.to_string()))
            .collect()
    }

    /// Whether a part looks from a body, which may be an array, at a place of elements: there is
    /// another one in the payload of each event.
    pub fn looks_elsewhere(&self, is_array: bool) -> bool {
        let counts = |place: &&Pointer| is_array || !place.is_empty();
        let mut places = self.options.events.iter().filter(counts);
        places.any(|place| self.roots.iter().any(|root| place.holds(root)))
    }
}

/// A pointer, which says what it was read from.
fn pointer(text: &str) -> Option<Pointer> {
    let pointer: Pointer = text.parse().ok()?;
    assert_eq!(pointer.to_string(), text);
    Some(pointer)
}

/// A part, which says what it was read from; keeps where it looks from the body.
fn part(text: &str, roots: &mut Vec<Pointer>) -> Option<Part> {
    let part: Part = text.parse().ok()?;
    assert_eq!(part.to_string(), text);
    let places = text.split(" or ").filter_map(|place| place.strip_prefix("root:"));
    roots.extend(places.filter_map(pointer));
    Some(part)
}
