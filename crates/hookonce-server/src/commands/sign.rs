//! Signs a file as the sender would, and prints the `curl` line that sends it.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;

use anyhow::{Context as _, Error, bail};
use serde_json::json;

use crate::cli::SignOptions;
use crate::config::{Config, Place};
use crate::curl::{self, Body};
use crate::out::{self, Format};
use crate::wiring;

pub(crate) fn run(place: &Place, options: &SignOptions, format: Format) -> anyhow::Result<()> {
    let config = Config::load_for_store(place)?;
    let name = &options.source;
    let source = config.source(name).map_err(Error::msg)?;
    let bytes = read(&options.file)?;
    let scheme = wiring::scheme(&config, name, source)?;
    let url = match &options.url {
        Some(base) => format!("{}/webhooks/{name}", checked(base)?.trim_end_matches('/')),
        None => curl::webhook_url(&config, &config.server.listen, name),
    };
    // An unverified source has no secret to sign with: the line is then sent as it is.
    let (url, headers) = curl::signed(&*scheme, url, &bytes)?;
    let line = if is_standard_input(&options.file) {
        let text = str::from_utf8(&bytes);
        let text = text.context("the body is not UTF-8; write it to a file and name that")?;
        curl::line(&url, &headers, Body::Inline(text))?
    } else {
        let path = std::path::absolute(&options.file)?;
        curl::line(&url, &headers, Body::File(&path))?
    };
    if format == Format::Json {
        let headers: BTreeMap<_, _> = headers.into_iter().collect();
        return out::json(&json!({ "url": url, "headers": headers, "curl": line }));
    }
    out::raw(&line)
}

/// Reads a request body: a file, or standard input for `-`.
pub(crate) fn read(file: &Path) -> anyhow::Result<Vec<u8>> {
    let mut bytes = vec![];
    if is_standard_input(file) {
        std::io::stdin().lock().read_to_end(&mut bytes).context("cannot read standard input")?;
        return Ok(bytes);
    }
    std::fs::read(file).with_context(|| format!("cannot read `{}`", file.display()))
}

/// The address of a server, if it is one: `curl` would take anything else for a name to look up.
fn checked(base: &str) -> anyhow::Result<&str> {
    let url = url::Url::parse(base).ok();
    if url.is_some_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host()) {
        return Ok(base);
    }
    bail!("--url `{base}` is no address; write such as `https://hooks.example.com`")
}

fn is_standard_input(file: &Path) -> bool {
    file == Path::new("-")
}
