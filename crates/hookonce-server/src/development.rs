//! Development mode: a working server without any file of the user's.

use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context as _, anyhow};
use hookonce::store::Clock;
use serde_json::json;

use crate::commands::init::{random_hex, write_private};
use crate::config::{Config, DEVELOPMENT_FILE, SchemeConfig, SourceConfig};
use crate::curl::{self, Body};
use crate::wiring;

/// Makes the file with the settings and secrets of development mode, unless it is there already.
pub(crate) fn prepare() -> anyhow::Result<()> {
    let text = include_str!("development.toml")
        .replace("{secret}", &random_hex()?)
        .replace("{token}", &random_hex()?)
        .replace("{admin}", &random_hex()?);
    match write_private(Path::new(DEVELOPMENT_FILE), &text) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        written => written.with_context(|| {
            format!("cannot write `{DEVELOPMENT_FILE}`; start in a directory that can be written")
        }),
    }
}

/// The first token of the admin API, if there is one.
pub(crate) fn admin_token(config: &Config) -> Option<String> {
    let token = config.tokens.first()?;
    config.secret(&token.token).ok().map(|token| token.expose().to_owned())
}

/// The `curl` line that sends a message nobody has seen, to the first source of Meta's there is.
pub(crate) fn sample(config: &Config, listen: &str) -> anyhow::Result<String> {
    let is_metas = |(_, source): &(_, &SourceConfig)| matches!(source.own, SchemeConfig::Meta(_));
    let source = config.sources.iter().find(is_metas);
    let (name, source) = source.ok_or_else(|| anyhow!("there is no source of scheme `meta`"))?;
    let body = sample_body(Clock::system().now().as_second(), &random_hex()?);
    let scheme = wiring::scheme(config, name, source)?;
    let (url, headers) =
        curl::signed(&*scheme, curl::webhook_url(config, listen, name), body.as_bytes())?;
    curl::line(&url, &headers, Body::Inline(&body))
}

/// A text message as Meta sends it. Its id is new each time: one that was sent before would be a
/// duplicate, and not be printed.
fn sample_body(now: i64, random: &str) -> String {
    let message = json!({
        "from": "15550001111", "id": format!("wamid.{random}"), "timestamp": now.to_string(),
        "type": "text", "text": { "body": "Hello, once" }
    });
    let value = json!({
        "messaging_product": "whatsapp",
        "metadata": {
            "display_phone_number": "15550002222", "phone_number_id": "200000000000001"
        },
        "contacts": [{ "profile": { "name": "Test User" }, "wa_id": "15550001111" }],
        "messages": [message]
    });
    let change = json!({ "field": "messages", "value": value });
    let entry = json!({ "id": "100000000000001", "changes": [change] });
    json!({ "object": "whatsapp_business_account", "entry": [entry] }).to_string()
}
