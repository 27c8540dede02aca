//! Shows one event with everything that is known of it.

use std::fmt::Write as _;

use anyhow::anyhow;
use hookonce::event::EventId;
use hookonce::store::EventDetails;
use jiff::Timestamp;

use crate::cli::ShowOptions;
use crate::config::{Config, Place};
use crate::out::{self, Format, table};
use crate::wiring;

pub(crate) async fn run(
    place: &Place,
    options: &ShowOptions,
    format: Format,
) -> anyhow::Result<()> {
    let config = Config::load_for_store(place)?;
    let id: EventId = options.id.trim().parse().map_err(|_| {
        anyhow!("`{}` is no event id; `hookonce list` shows the ids there are", options.id)
    })?;
    let store = wiring::open_existing(&config).await?;
    let details = store.get(id).await;
    let details = details.map_err(|error| wiring::not_done("cannot read the event", &error))?;
    let details = details.ok_or_else(|| anyhow!("there is no event `{id}`"))?;
    if format == Format::Json {
        return out::json(&details);
    }
    out::text(&shown(&details))
}

/// The event for a person: its fields, then a table of each list that has any rows.
fn shown(details: &EventDetails) -> String {
    let mut text = fields(details);
    let mut part = |title: &str, head: &[&str], rows: Vec<Vec<String>>| {
        if !rows.is_empty() {
            // Writing to a string can't fail.
            let _ = write!(text, "\n\n{title}\n{}", table(head, &rows));
        }
    };
    let tasks = details.summary.tasks.iter().map(|task| {
        let attempt = format!("{} of {}", task.attempt, task.max_attempts);
        let state = task.state.as_str().to_owned();
        let worker = task.worker.clone().unwrap_or_else(nothing);
        let error = task.error.as_deref().map_or_else(nothing, one_line);
        let (run, epoch) = (task.run.to_string(), task.epoch.to_string());
        let times = [task.due_at, task.lease_until, task.finished_at].map(time);
        let [due, lease, finished] = times;
        vec![task.route.clone(), state, attempt, run, epoch, due, lease, finished, worker, error]
    });
    let head = [
        "ROUTE",
        "STATE",
        "ATTEMPT",
        "RUN",
        "EPOCH",
        "DUE",
        "LEASE UNTIL",
        "FINISHED",
        "WORKER",
        "ERROR",
    ];
    part("tasks", &head, tasks.collect());
    let attempts = details.attempts.iter().map(|attempt| {
        let numbers = [attempt.epoch, attempt.run, attempt.attempt].map(|n| n.to_string());
        let [epoch, run, number] = numbers;
        let [started, ended] = [attempt.started_at, attempt.ended_at].map(|at| time(Some(at)));
        let error = attempt.error.as_deref().map_or_else(nothing, one_line);
        let (worker, outcome) = (attempt.worker.clone(), attempt.outcome.clone());
        vec![attempt.route.clone(), epoch, run, number, started, ended, outcome, worker, error]
    });
    let head =
        ["ROUTE", "EPOCH", "RUN", "ATTEMPT", "STARTED", "ENDED", "OUTCOME", "WORKER", "ERROR"];
    part("attempts", &head, attempts.collect());
    let steps = details.steps.iter().map(|step| {
        let result = step.result.as_deref().map_or_else(nothing, one_line);
        let (run, state) = (step.run.to_string(), step.state.as_str().to_owned());
        vec![step.route.clone(), run, step.name.clone(), state, result]
    });
    part("steps", &["ROUTE", "RUN", "STEP", "STATE", "RESULT"], steps.collect());
    let arrivals = details.arrivals.iter().map(|arrival| {
        let element = arrival.element.as_deref().map_or_else(nothing, one_line);
        vec![time(Some(arrival.at)), arrival.n.to_string(), element]
    });
    part(
        "arrivals after the first",
        &["AT", "COPIES", "ELEMENT IF IT DIFFERED"],
        arrivals.collect(),
    );
    let payload = details.payload.as_deref();
    let payload = payload.map_or_else(|| "pruned".to_owned(), indented);
    let _ = write!(text, "\n\npayload\n{payload}");
    text
}

fn fields(details: &EventDetails) -> String {
    let summary = &details.summary;
    let event = &summary.event;
    let fields = [
        ("id", event.id.to_string()),
        ("seq", event.seq.to_string()),
        ("source", event.source.clone()),
        ("key", event.key.clone()),
        ("weak key", event.weak_key.to_string()),
        ("kind", event.kind.clone()),
        ("lane", event.lane.clone().unwrap_or_else(nothing)),
        ("priority", (event.priority as u8).to_string()),
        ("content type", event.content_type.clone()),
        ("element", event.element.clone()),
        ("sent at", time(event.sent_at)),
        ("received at", time(Some(event.received_at))),
        ("copies", summary.copies.to_string()),
        ("mismatches", summary.mismatches.to_string()),
        ("state", summary.state.to_owned()),
    ];
    let line = |(name, value): &(&str, String)| format!("{name:<12}  {value}");
    fields.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn nothing() -> String {
    "-".to_owned()
}

fn time(at: Option<Timestamp>) -> String {
    at.map_or_else(nothing, |at| format!("{at:.3}"))
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Puts each member of a JSON text on a line of its own, every token kept as it was written: a
/// parsed and printed one would lose large numbers and the order of members. Other text is given
/// as it is.
fn indented(text: &str) -> String {
    if serde_json::from_str::<&serde_json::value::RawValue>(text).is_err() {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len() * 2);
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    let mut chars = text.trim().chars().peekable();
    while let Some(c) = chars.next() {
        if in_string {
            out.push(c);
            in_string = escaped || c != '"';
            escaped = c == '\\' && !escaped;
            continue;
        }
        match c {
            '{' | '[' => {
                while chars.next_if(char::is_ascii_whitespace).is_some() {}
                out.push(c);
                if let Some(end) = chars.next_if(|c| matches!(c, '}' | ']')) {
                    out.push(end);
                } else {
                    depth += 1;
                    new_line(&mut out, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                new_line(&mut out, depth);
                out.push(c);
            }
            ',' => {
                out.push(c);
                new_line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            c if c.is_ascii_whitespace() => {}
            c => {
                in_string = c == '"';
                out.push(c);
            }
        }
    }
    out
}

fn new_line(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth));
}

#[cfg(test)]
mod tests {
    use super::indented;

    #[test]
    fn json_is_indented_and_its_tokens_are_kept() {
        let text = r#"{"b":[ ],"a":{ },"n":12345678901234567890123,"s":"x, {\"y\": \\"}"#;
        let lines = [
            "{",
            r#"  "b": [],"#,
            r#"  "a": {},"#,
            r#"  "n": 12345678901234567890123,"#,
            r#"  "s": "x, {\"y\": \\""#,
            "}",
        ];
        assert_eq!(indented(text), lines.join("\n"));
        assert_eq!(indented("a=1&b=2"), "a=1&b=2");
    }
}
