//! What each source says, and what no section can say of itself.

mod generic;

use super::super::document::{Document, join};
use super::super::section::RouteConfig;
use super::super::source::{
    EvolutionConfig, EvolutionSignatureName, MetaConfig, MetaSignatureName, SchemeConfig,
    SourceConfig,
};
use super::{Config, secret_at};

/// Checks that every secret of a source is at hand.
pub(super) fn secrets(config: &Config, document: &mut Document) {
    for (name, source) in &config.sources {
        for (n, secret) in source.secrets.iter().enumerate() {
            let path = format!("sources.{name}.secrets[{n}]");
            secret_at(config, document, &path, secret);
            if let SchemeConfig::Generic(own) = &source.own {
                generic::secret(config, document, &path, (own, secret));
            }
        }
        if let SchemeConfig::Meta(MetaConfig { verify_token: Some(token), .. }) = &source.own {
            secret_at(config, document, &format!("sources.{name}.verify_token"), token);
        }
    }
}

/// Checks the sources.
pub(super) fn check(config: &Config, document: &mut Document) {
    if config.sources.is_empty() {
        document.warn("", "there is no `[sources.NAME]`: nothing can be received");
    }
    for (name, source) in &config.sources {
        let path = join("sources", name);
        check_proof(document, &path, source);
        check_address(config, document, &path, source);
        check_scheme(document, &path, source);
        if source.scope.as_ref().is_some_and(|scope| scope.trim().is_empty()) {
            document
                .problem(&join(&path, "scope"), "it is empty; leave it out for the source's name");
        }
        let takes = |route: &RouteConfig| {
            route.sources.as_ref().is_none_or(|sources| sources.contains(name))
        };
        if !config.routes.iter().any(takes) {
            let message = "no route takes its events: they are recorded, and nothing handles them";
            document.warn(&path, message);
        }
    }
}

fn check_proof(document: &mut Document, path: &str, source: &SourceConfig) {
    match (source.secrets.is_empty(), source.unverified) {
        (true, false) => {
            let message = "without `secrets` nobody can prove to be the sender; give the secret \
                           that it signs with, or `unverified = true` to take requests from anybody";
            document.problem(path, message);
        }
        (false, true) => {
            let message = "`unverified` would leave the `secrets` unused; remove one of the two";
            document.problem(&join(path, "unverified"), message);
        }
        (true, true) => {
            let message = "UNVERIFIED: anybody who knows the address can send events";
            document.warn(&join(path, "unverified"), message);
        }
        (false, false) => {}
    }
}

/// Checks what only this scheme has.
fn check_scheme(document: &mut Document, path: &str, source: &SourceConfig) {
    match &source.own {
        SchemeConfig::Meta(meta) => check_meta(document, path, meta),
        SchemeConfig::Generic(own) => generic::check(document, path, source, own),
        SchemeConfig::Wasender(_) => check_wasender(document, path, source),
        SchemeConfig::Twilio(_) | SchemeConfig::Waha(_) => {}
        SchemeConfig::Evolution(evolution) => {
            check_evolution(document, path, evolution, source.unverified);
        }
    }
}

/// Checks the address that the sender was given, where it signs that: without it, nothing could be
/// proven.
fn check_address(config: &Config, document: &mut Document, path: &str, source: &SourceConfig) {
    let Some(text) = &source.public_url else {
        if !source.unverified && source.own.signs_address() && config.server.proxies.is_empty() {
            let message = "without `public_url` nothing can be proven, for the sender signs the \
                           address that it was given; write that address (or `server.proxies`, if \
                           a proxy of yours tells it)";
            document.problem(path, message);
        }
        return;
    };
    let url = url::Url::parse(text).ok();
    let url = url.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    let message = match url {
        None => "it is no address; write such as \"https://hooks.example.com/webhooks/NAME\"",
        Some(url) if url.query().is_some() || url.fragment().is_some() => {
            "leave out what begins with `?` or `#`: a request brings its own query, and no fragment"
        }
        Some(_) => return,
    };
    document.problem(&join(path, "public_url"), message);
}

fn check_evolution(
    document: &mut Document,
    path: &str,
    evolution: &EvolutionConfig,
    unverified: bool,
) {
    let key = join(path, "header");
    match (evolution.signature, &evolution.header) {
        (EvolutionSignatureName::Jwt, None) => {}
        (EvolutionSignatureName::Jwt, Some(_)) => {
            let message = "no header is looked at for a secret unless `signature = \"header\"`; \
                           write that, or remove it";
            document.problem(&key, message);
        }
        (EvolutionSignatureName::Header, None) => {
            let message = "`header` is missing: name the one that has the secret, such as \
                           \"X-Webhook-Secret\"";
            document.problem(path, message);
        }
        (EvolutionSignatureName::Header, Some(name)) => {
            if axum::http::HeaderName::try_from(name).is_err() {
                document.problem(&key, format!("`{name}` is no name of a header"));
            }
        }
    }
    if !unverified {
        warn_of_unsigned(document, path);
    }
}

fn check_wasender(document: &mut Document, path: &str, source: &SourceConfig) {
    if !source.unverified {
        warn_of_unsigned(document, path);
    }
}

/// Says of a source what the proof of its sender doesn't cover.
fn warn_of_unsigned(document: &mut Document, path: &str) {
    let message = "nothing signs the body of its requests: whoever sees one can make up others. Let \
                   it come by HTTPS only, and change the secret as you would a password";
    document.warn(path, message);
}

fn check_meta(document: &mut Document, path: &str, meta: &MetaConfig) {
    match (meta.signature, &meta.verify_token) {
        (MetaSignatureName::Meta, None) => {
            let message = "there is no `verify_token`: the sender's challenge will be refused, so \
                           the webhook can't be set up at the sender";
            document.warn(path, message);
        }
        (MetaSignatureName::Dialog360, Some(_)) => {
            let message = "360dialog asks no challenge; remove it";
            document.problem(&join(path, "verify_token"), message);
        }
        (MetaSignatureName::Meta, Some(_)) | (MetaSignatureName::Dialog360, None) => {}
    }
}
