//! Writes a commented configuration file to start from.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::path::Path;

use anyhow::{Context as _, bail};
use serde_json::json;

use crate::cli::InitOptions;
use crate::config::{FILE, Place};
use crate::out::{self, Format};

pub(crate) fn run(place: &Place, options: &InitOptions, format: Format) -> anyhow::Result<()> {
    let file = match place {
        Place::File(file) => file,
        Place::Development => Path::new(FILE),
    };
    let text = include_str!("init.toml")
        .replace("{secret}", &random_hex()?)
        .replace("{token}", &random_hex()?)
        .replace("{admin}", &random_hex()?);
    if options.force && file.exists() {
        std::fs::remove_file(file)
            .with_context(|| format!("cannot replace `{}`", file.display()))?;
    }
    let shown = file.display().to_string();
    match write_private(file, &text) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            bail!("`{shown}` is there already; --force overwrites it, its secrets included")
        }
        written => written.with_context(|| format!("cannot write `{shown}`"))?,
    }
    if format == Format::Json {
        return out::json(&json!({ "file": shown }));
    }
    out::text(&format!(
        "wrote `{shown}`; put your App Secret in it, then `hookonce check` and `hookonce serve`"
    ))
}

/// Writes a new file that only its owner can read: it holds secrets.
pub(crate) fn write_private(file: &Path, text: &str) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(file)?.write_all(text.as_bytes())
}

/// A new secret: 128 random bits.
pub(crate) fn random_hex() -> anyhow::Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).context("the operating system gives no random bytes")?;
    Ok(hex::encode(bytes))
}
