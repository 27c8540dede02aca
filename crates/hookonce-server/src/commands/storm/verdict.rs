//! What became of the events, by count and never by answers.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use super::effects::Effects;
use super::sender::{Seen, Sender};
use crate::out::{counted, shortened};

/// How many ids are named to a person.
const NAMED: usize = 10;
/// Meta's own standard: the median, and what no more than one in a hundred may exceed.
const META: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(1)];

/// The report.
#[derive(Debug, Serialize)]
pub(in crate::commands) struct Verdict {
    events: usize,
    requests: usize,
    effects: u64,
    /// None where only as many effects were counted as there are events: a loss and a copy may cancel out.
    exactly_once: Option<bool>,
    /// Ids of events that were taken and have no effect.
    lost: Vec<String>,
    /// Ids of events that have several effects.
    doubled: Vec<Doubled>,
    /// Ids of events that were never taken and have no effect.
    refused: Vec<String>,
    /// How many requests got each answer.
    answers: BTreeMap<String, u64>,
    /// Requests that were cut off, or whose answer was not waited for, beside those.
    cut: u64,
    /// Rows that came meanwhile and name no event of this run: how many, and one of them.
    strange: Option<(u64, String)>,
    /// For how long nothing has changed at the end.
    still_s: f64,
    took_s: f64,
    p50_ms: f64,
    p99_ms: f64,
    seed: u64,
}

#[derive(Debug, Serialize)]
struct Doubled {
    id: String,
    effects: u64,
}

/// What the storm was.
#[derive(Debug, Clone, Copy)]
pub(super) struct Storm {
    pub(super) events: usize,
    pub(super) requests: usize,
    pub(super) took: Duration,
    /// For how long the count has stood still.
    pub(super) still: Duration,
    pub(super) seed: u64,
}

impl Verdict {
    /// Judges by what was counted before and after.
    pub(super) fn new(storm: Storm, sender: &Sender, before: &Effects, after: &Effects) -> Self {
        let (mut lost, mut doubled, mut refused) = (Vec::new(), Vec::new(), Vec::new());
        let mut strange = None;
        let effects = match (before, after) {
            (_, Effects::Each { each, others, other }) => {
                let before = if let Effects::Each { others, .. } = before { *others } else { 0 };
                if others > &before {
                    strange = other.clone().map(|row| (others - before, row));
                }
                for (event, effects) in each.iter().enumerate() {
                    let id = || sender.shape.id(event);
                    match effects {
                        0 if sender.tally.was_taken(event) => lost.push(id()),
                        0 => refused.push(id()),
                        1 => {}
                        effects => doubled.push(Doubled { id: id(), effects: *effects }),
                    }
                }
                each.iter().sum()
            }
            (Effects::All(before), Effects::All(after)) => after.saturating_sub(*before),
            (Effects::Each { .. }, Effects::All(after)) => *after,
        };
        let named = lost.is_empty() && doubled.is_empty() && refused.is_empty();
        let Seen { answers, mut times, cut, .. } = sender.tally.seen();
        times.sort_unstable();
        Self {
            events: storm.events,
            requests: storm.requests,
            effects,
            exactly_once: match after {
                Effects::All(_) if effects == storm.events as u64 => None,
                _ => Some(named && effects == storm.events as u64),
            },
            strange,
            lost,
            doubled,
            refused,
            answers,
            cut,
            still_s: storm.still.as_secs_f64(),
            took_s: storm.took.as_secs_f64(),
            p50_ms: percentile(&times, 50),
            p99_ms: percentile(&times, 99),
            seed: storm.seed,
        }
    }

    /// Whether each event has its effect, once, as far as that was counted.
    pub(in crate::commands) fn is_right(&self) -> bool {
        self.exactly_once != Some(false)
    }

    /// For a person.
    pub(in crate::commands) fn shown(&self) -> String {
        let mut lines = vec![format!(
            "{}, {}, {}: {}",
            counted(self.events, "event"),
            counted(self.requests, "request"),
            counted(self.effects, "effect"),
            self.judged()
        )];
        let answers: Vec<String> =
            self.answers.iter().map(|(answer, n)| format!("{answer}: {n}")).collect();
        lines.push(format!(
            "answers: {}; {} cut off; p50 {:.1} ms, p99 {:.1} ms; {:.1} s, and {:.0} s without a change; seed {}",
            answers.join(", "),
            self.cut,
            self.p50_ms,
            self.p99_ms,
            self.took_s,
            self.still_s,
            self.seed
        ));
        let slow = [self.p50_ms, self.p99_ms]
            .iter()
            .zip(META)
            .any(|(ms, most)| *ms > most.as_secs_f64() * 1000.0);
        if slow {
            lines.push(
                "slow: Meta asks for a median of 250 ms at most, and 1 s for all but one in a hundred"
                    .to_owned(),
            );
        }
        let doubled: Vec<String> = self
            .doubled
            .iter()
            .map(|event| format!("{} ({} times)", event.id, event.effects))
            .collect();
        lines.extend(named("lost: taken with a 2xx, and without effect", &self.lost));
        lines.extend(named("doubled", &doubled));
        lines.extend(named("refused: never taken with a 2xx", &self.refused));
        if let Some((n, row)) = &self.strange {
            lines.push(format!(
                "{} came meanwhile without an id of these events, such as `{}`: does the count give what \
                 the sender calls them?",
                counted(*n, "row"),
                shortened(row, 80)
            ));
        }
        lines.join("\n")
    }

    fn judged(&self) -> String {
        match self.exactly_once {
            Some(true) => return "exactly once".to_owned(),
            None => {
                return "as many as there are events, which is no proof: a loss and a copy may cancel out; \
                        let the count give ids"
                    .to_owned();
            }
            Some(false) => {}
        }
        let parts = [
            (self.lost.len(), "lost"),
            (self.doubled.len(), "doubled"),
            (self.refused.len(), "refused"),
        ];
        let parts: Vec<String> =
            parts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
        if !parts.is_empty() {
            return parts.join(", ");
        }
        // Only their number is known.
        let events = self.events as u64;
        if self.effects > events {
            return format!(
                "{} too many; let the count give ids to see which",
                self.effects - events
            );
        }
        format!("{} missing; let the count give ids to see which", events - self.effects)
    }
}

fn named(what: &str, ids: &[String]) -> Vec<String> {
    if ids.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![format!("{what}:")];
    lines.extend(ids.iter().take(NAMED).map(|id| format!("  {}", shortened(id, 100))));
    if ids.len() > NAMED {
        lines.push(format!("  and {} more; --json has them all", ids.len() - NAMED));
    }
    lines
}

/// Of sorted times, in milliseconds; 0 where there are none.
fn percentile(times: &[Duration], percent: usize) -> f64 {
    let at = (times.len() * percent / 100).min(times.len().saturating_sub(1));
    times.get(at).map_or(0.0, |time| (time.as_secs_f64() * 10_000.0).round() / 10.0)
}
