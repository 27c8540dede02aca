//! How far a long command has come, for a person who watches it at a terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::{Format, has_colours};

/// A bar on standard error; nothing where nobody watches. It is gone once it is dropped.
#[derive(Debug)]
pub(crate) struct Progress(Option<ProgressBar>);

impl Progress {
    /// A bar up to `total`.
    pub(crate) fn bar(format: Format, total: usize) -> Self {
        let template = "{bar:40} {pos} of {len} {msg} ({eta} left)";
        Self::new(format, template, Some(u64::try_from(total).unwrap_or(u64::MAX)))
    }

    /// A sign that something goes on whose end is not known.
    pub(crate) fn spinner(format: Format) -> Self {
        Self::new(format, "{spinner} {msg}", None)
    }

    /// Whether anybody sees it.
    pub(crate) fn is_shown(&self) -> bool {
        self.0.is_some()
    }

    /// Shows how many are done, and what is said of them.
    pub(crate) fn note(&self, done: usize, message: impl Into<std::borrow::Cow<'static, str>>) {
        if let Some(bar) = &self.0 {
            bar.set_position(u64::try_from(done).unwrap_or(u64::MAX));
            bar.set_message(message);
        }
    }

    fn new(format: Format, template: &str, total: Option<u64>) -> Self {
        if format == Format::Json || !has_colours() {
            return Self(None);
        }
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(100));
        Self(Some(bar))
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}
