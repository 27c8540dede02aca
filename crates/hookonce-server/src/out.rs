//! The one door to standard output and standard error.
//!
//! Logs don't go through here; they are `tracing`'s, on standard error.

mod progress;

use std::io::{self, IsTerminal as _, Write};
use std::ops::ControlFlow;

use anyhow::Context as _;
use rustix::event::{PollFd, PollFlags};
use serde::Serialize;

pub(crate) use progress::Progress;

const CANNOT_WRITE: &str = "cannot write to standard output";

/// For whom a command says what it found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// For a person.
    Text,
    /// For a program.
    Json,
}

/// Writes a result as lines for a person.
pub(crate) fn text(text: &str) -> anyhow::Result<()> {
    write_result(&printable(text))
}

/// Writes a result exactly as it is.
pub(crate) fn raw(text: &str) -> anyhow::Result<()> {
    write_result(text)
}

/// Writes a result as one line of JSON.
pub(crate) fn json<T: Serialize>(value: &T) -> anyhow::Result<()> {
    write_result(&serde_json::to_string(value)?)
}

/// Writes a line of a result that goes on; breaks off once nobody reads it any more.
pub(crate) fn line(line: &str) -> anyhow::Result<ControlFlow<()>> {
    match write_lines(io::stdout().lock(), &printable(line)) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(ControlFlow::Break(())),
        written => written.map(ControlFlow::Continue).context(CANNOT_WRITE),
    }
}

/// Whether the reader of a result that goes on has gone away, such as `head` once it has its lines.
pub(crate) fn has_no_reader() -> bool {
    let stdout = io::stdout();
    let mut asked = [PollFd::new(&stdout, PollFlags::empty())];
    let now = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
    let answered = rustix::event::poll(&mut asked, Some(&now));
    answered.is_ok() && asked[0].revents().intersects(PollFlags::ERR | PollFlags::HUP)
}

/// Writes a remark beside the result, or why there is none.
pub(crate) fn remark(text: &str) {
    // There is nowhere left to say that this failed.
    let _ = write_lines(io::stderr().lock(), &printable(text));
}

/// Standard output for a sink, which writes whole lines of its own.
pub(crate) fn standard_output() -> Box<dyn Write + Send> {
    Box::new(io::stdout())
}

/// Whether remarks and logs are read by a person at a terminal.
pub(crate) fn has_colours() -> bool {
    io::stderr().is_terminal()
}

/// A command failed and has said why itself.
#[derive(Debug)]
pub(crate) struct Reported;

impl std::fmt::Display for Reported {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("it failed, and said why")
    }
}

impl std::error::Error for Reported {}

/// Columns for a person: each as wide as its longest cell, two spaces between.
pub(crate) fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let width = |n: usize| {
        let cells = rows.iter().filter_map(|row| row.get(n)).map(|cell| cell.chars().count());
        cells.chain([head[n].chars().count()]).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let padded = cells.zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let mut lines = vec![line(&mut head.iter().copied())];
    lines.extend(rows.iter().map(|row| line(&mut row.iter().map(String::as_str))));
    lines.join("\n")
}

/// A number of things, with the word for them.
pub(crate) fn counted<N: Copy + PartialEq + From<u8> + std::fmt::Display>(
    n: N,
    what: &str,
) -> String {
    format!("{n} {what}{}", if n == N::from(1) { "" } else { "s" })
}

/// Cuts `text` to at most `limit` characters, and shows that it did.
pub(crate) fn shortened(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        None => text.to_owned(),
        Some(_) => text.chars().take(limit - 1).chain(['…']).collect(),
    }
}

/// What senders wrote must not steer the terminal.
fn printable(text: &str) -> String {
    let hidden = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    text.chars().map(|c| if hidden(c) { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

fn write_result(text: &str) -> anyhow::Result<()> {
    match write_lines(io::stdout().lock(), text) {
        // A reader that has gone away, such as `head`, wants nothing more: that is no failure.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.context(CANNOT_WRITE),
    }
}

fn write_lines(mut to: impl Write, text: &str) -> io::Result<()> {
    let end = if text.ends_with('\n') { "" } else { "\n" };
    write!(to, "{text}{end}").and_then(|()| to.flush())
}
