//! What is wrong with a configuration: every problem at once, each with its line.

use std::fmt;
use std::path::PathBuf;

/// Everything that was found wrong in one configuration.
#[derive(Debug, Default)]
pub(crate) struct Problems {
    /// The file as the user named it.
    pub(crate) file: PathBuf,
    /// In order of their lines.
    pub(crate) list: Vec<Problem>,
}

/// One thing that is wrong, or worth a warning: where, what, and what to do next.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub(crate) struct Problem {
    /// The line, from 1; none where it isn't about the file's text.
    pub(crate) line: Option<usize>,
    /// The key, such as `sources.whatsapp.secrets`.
    pub(crate) key: String,
    /// What is wrong and what to do next.
    pub(crate) message: String,
}

impl Problem {
    /// The problem as one line, with the file in front.
    pub(crate) fn display(&self, file: &std::path::Path) -> String {
        let line = self.line.map(|line| format!(":{line}")).unwrap_or_default();
        let key = if self.key.is_empty() { String::new() } else { format!("{}: ", self.key) };
        format!("{}{line}: {key}{}", file.display(), self.message)
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, problem) in self.list.iter().enumerate() {
            if n > 0 {
                writeln!(f)?;
            }
            f.write_str(&problem.display(&self.file))?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}
