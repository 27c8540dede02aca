//! What each source says, and what no section can say of itself.

mod generic;

use super::super::document::{Document, join};
use super::super::section::RouteConfig;
use super::super::source::{MetaConfig, MetaSignatureName, SchemeConfig, SourceConfig};
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
            let which = match source.own {
                SchemeConfig::Meta(_) => "the App Secret",
                SchemeConfig::Generic(_) => "the one that the sender has",
            };
            let message = format!(
                "without `secrets` nobody can prove to be the sender; give {which}, or \
                 `unverified = true` to take requests from anybody"
            );
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
    }
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
