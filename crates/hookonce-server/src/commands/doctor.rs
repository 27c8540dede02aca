//! Looks at everything that is here, and says what is fine, what should be known and what is wrong,
//! each with what to do next. Changes nothing, and sends nothing.

mod postgres;
mod redis;
mod sinks;
mod sqlite;
mod store;
mod work;

use hookonce::listener::ListenerOptions;
use serde::Serialize;

use crate::config::{Config, Place, Problem};
use crate::out::{self, Format, Reported};

pub(crate) async fn run(place: &Place, format: Format) -> anyhow::Result<()> {
    let mut report = Report::default();
    examine(place, &mut report).await;
    let is_wrong = report.findings.iter().any(|finding| finding.state == State::Wrong);
    match format {
        Format::Json => out::json(&report.findings)?,
        Format::Text => out::text(&report.shown())?,
    }
    if is_wrong { Err(Reported.into()) } else { Ok(()) }
}

async fn examine(place: &Place, report: &mut Report) {
    let Some(config) = configuration(place, report) else { return };
    descriptors(report);
    // Without a store there is nothing to ask of it.
    if let Some(store) = store::examine(&config, report).await {
        store::statements(&config, &*store, report).await;
        work::examine(&config, &*store, report).await;
    }
    sinks::examine(&config, report).await;
}

/// What was looked at, and how it is.
#[derive(Debug, Serialize)]
struct Finding {
    check: &'static str,
    state: State,
    message: String,
}

/// How a thing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    Fine,
    Warning,
    Wrong,
}

impl State {
    fn as_str(self) -> &'static str {
        match self {
            Self::Fine => "fine",
            Self::Warning => "warning",
            Self::Wrong => "wrong",
        }
    }
}

/// What was found, in the order in which it was looked for.
#[derive(Debug, Default)]
struct Report {
    findings: Vec<Finding>,
}

impl Report {
    fn fine(&mut self, check: &'static str, message: impl Into<String>) {
        self.add(check, State::Fine, message);
    }

    fn warning(&mut self, check: &'static str, message: impl Into<String>) {
        self.add(check, State::Warning, message);
    }

    fn wrong(&mut self, check: &'static str, message: impl Into<String>) {
        self.add(check, State::Wrong, message);
    }

    fn add(&mut self, check: &'static str, state: State, message: impl Into<String>) {
        // What a database says may go over several lines.
        let message = message.into().split_whitespace().collect::<Vec<_>>().join(" ");
        self.findings.push(Finding { check, state, message });
    }

    /// A line for each.
    fn shown(&self) -> String {
        let line = |Finding { check, state, message }: &Finding| {
            format!("{:<7}  {check:<13}  {message}", state.as_str())
        };
        self.findings.iter().map(line).collect::<Vec<_>>().join("\n")
    }
}

/// The configuration, its secrets, and how long it keeps things; `None` if it can't be used.
fn configuration(place: &Place, report: &mut Report) -> Option<Config> {
    let file = place.file();
    let shown = |problem: &Problem| problem.display(file);
    let config = match Config::load_for_store(place) {
        Ok(config) => config,
        Err(problems) => {
            for problem in &problems.list {
                report.wrong("configuration", shown(problem));
            }
            return None;
        }
    };
    report.fine("configuration", format!("`{}` is read", file.display()));
    for warning in &config.warnings {
        report.warning("configuration", shown(warning));
    }
    match Config::load(place) {
        Ok(_) => report.fine("secrets", "every secret is at hand"),
        // The server's environment may have those that this one has not.
        Err(problems) => {
            for problem in &problems.list {
                report.wrong("secrets", shown(problem));
            }
        }
    }
    let key = config.retention.key;
    let message = format!("keys are kept for {key}, no less than the senders send again");
    report.fine("retention", message);
    Some(config)
}

/// How many files the process may have open: a server started the same way may have as many.
fn descriptors(report: &mut Report) {
    let check = "descriptors";
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    let Some(limit) = limit else { return report.fine(check, "file descriptors are not limited") };
    let wanted = u64::try_from(ListenerOptions::default().connections).unwrap_or(u64::MAX);
    if limit / 2 >= wanted {
        return report.fine(check, format!("{limit} file descriptors may be open"));
    }
    report.warning(
        check,
        format!(
            "only {limit} file descriptors may be open here, half of them for connections: if the \
             server is started like this, raise it (`ulimit -n {}`, or `LimitNOFILE=` of its unit)",
            wanted * 2
        ),
    );
}
