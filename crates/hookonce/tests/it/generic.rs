//! The generic scheme: who is proven how, where elements are found, and what makes them events.

mod conservation;
mod finding;
mod naming;
mod proving;
mod token;

use hookonce::event::NewEvent;
use hookonce::scheme::generic::{Condition, Generic, GenericOptions, Part, Pointer, Rule};
use hookonce::scheme::{Proof, Secret};

use crate::bed::scheme;

/// A scheme that takes anything, finds elements at `events`, and has these rules.
fn open(events: &[&str], rules: Vec<Rule>) -> Generic {
    let events = pointers(events);
    Generic::new(GenericOptions { events, rules, ..Default::default() }, Proof::Unverified).unwrap()
}

fn pointers(texts: &[&str]) -> Vec<Pointer> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

fn parts(texts: &[&str]) -> Vec<Part> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

/// A rule of this key and kind.
fn rule(key: &[&str], kind: &[&str]) -> Rule {
    Rule { key: parts(key), kind: parts(kind), ..Rule::default() }
}

fn when(part: &str, texts: &[&str]) -> Vec<Condition> {
    let texts = texts.iter().map(|text| (*text).to_owned()).collect();
    vec![Condition { part: part.parse().unwrap(), texts }]
}

fn secrets(texts: &[&str]) -> Proof {
    Proof::Secrets(texts.iter().map(|text| Secret::new(text).unwrap()).collect())
}

fn events(scheme: &Generic, body: &str) -> Vec<NewEvent> {
    scheme::events(scheme, body.as_bytes())
}

/// The one event of a request.
fn event(scheme: &Generic, body: &str) -> NewEvent {
    let mut events = events(scheme, body);
    assert_eq!(events.len(), 1, "{body}");
    events.remove(0)
}
