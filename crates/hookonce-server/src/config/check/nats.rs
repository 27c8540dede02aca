//! What is wrong with how a NATS server is reached, and with where events go there.

use url::Url;

use super::super::Config;
use super::super::document::{Document, join};
use super::super::sink::NatsConfig;
use super::{check_limits, secret_at};

/// What a subject may name.
const PLACES: [&str; 4] = ["{kind}", "{source}", "{route}", "{lane}"];

/// Checks a sink, without what the password and the files contain.
pub(super) fn check(document: &mut Document, path: &str, sink: &NatsConfig) {
    check_address(document, path, sink);
    check_subject(document, path, &sink.subject);
    check_limits(document, path, sink.timeout, sink.concurrency);
    if sink.declare && sink.stream.is_none() {
        document.problem(&join(path, "declare"), "there is no `stream` to declare; name one");
    }
    let is_bad = |name: &String| name.is_empty() || name.contains(['.', '*', '>', ' ', '/', '\\']);
    if sink.stream.as_ref().is_some_and(is_bad) {
        let message = "a stream's name has no dot, space, `*`, `>` or slash; correct it";
        document.problem(&join(path, "stream"), message);
    }
}

/// The address is not repeated: there may be a password in it.
fn check_address(document: &mut Document, path: &str, sink: &NatsConfig) {
    let is_fine = |url: &Url| {
        matches!(url.scheme(), "nats" | "tls")
            && url.host_str().is_some_and(|host| !host.is_empty())
            && url.path().trim_start_matches('/').is_empty()
            && url.query().is_none()
            && url.fragment().is_none()
    };
    let Some(url) = Url::parse(&sink.url).ok().filter(is_fine) else {
        let message = "this is no address of a NATS server; write `nats://USER@HOST:PORT`, or \
                       `tls://…` for TLS";
        document.problem(&join(path, "url"), message);
        return;
    };
    if url.password().is_some() && sink.password.is_some() {
        let message = "there is a password in `url`, too; remove it there";
        document.problem(&join(path, "password"), message);
    }
    if sink.credentials.is_some() && (sink.password.is_some() || !url.username().is_empty()) {
        let message = "they say who comes; remove the user in `url` and `password`";
        document.problem(&join(path, "credentials"), message);
    }
    if url.scheme() == "nats" && sink.ca.is_some() {
        let message = "it is for TLS; write `tls://…` in `url`, or remove it";
        document.problem(&join(path, "ca"), message);
    }
}

fn check_subject(document: &mut Document, path: &str, subject: &str) {
    let at = join(path, "subject");
    let is_place = |token: &&str| PLACES.contains(token);
    let rest = subject.split('.').filter(|token| !is_place(token));
    if subject.starts_with('{') || rest.clone().any(|token| token.contains(['{', '}'])) {
        let message = "between dots there may be `{kind}`, `{source}`, `{route}` and `{lane}`, but not \
                       at first; correct it";
        document.problem(&at, message);
        return;
    }
    let is_token = |token: &str| {
        let is_plain = |c: char| c.is_ascii_graphic() && !"*>".contains(c);
        !token.is_empty() && token.chars().all(is_plain)
    };
    let is_own = subject.starts_with('$') || subject.starts_with("_INBOX");
    if !rest.clone().all(is_token) || is_own {
        let message = "this is no subject to publish under: write words with a dot between two, such as \
                       `whatsapp.{kind}`";
        document.problem(&at, message);
    }
}

/// Checks that the password and the files are at hand.
pub(super) fn secrets(config: &Config, document: &mut Document, path: &str, sink: &NatsConfig) {
    for (key, secret) in [("password", &sink.password), ("credentials", &sink.credentials)] {
        if let Some(secret) = secret {
            secret_at(config, document, &join(path, key), secret);
        }
    }
    if let Some(Err(message)) = sink.ca.as_ref().map(|file| config.file(file)) {
        document.problem(&join(path, "ca"), message);
    }
}
