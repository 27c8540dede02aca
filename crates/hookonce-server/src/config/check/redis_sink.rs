//! What is wrong with how a Redis is reached, and with what is done there.

use url::Url;

use super::super::Config;
use super::super::document::{Document, join};
use super::super::sink::{BullmqConfig, RedisStreamConfig, SinkConfig};
use super::{above_zero, check_limits, secret_at};

/// Checks a sink that appends to a stream.
pub(super) fn stream(document: &mut Document, path: &str, sink: &RedisStreamConfig) {
    link(document, path, &sink.url, (&sink.password, &sink.ca));
    check_limits(document, path, sink.timeout, sink.concurrency);
    if sink.stream.is_empty() {
        document.problem(&join(path, "stream"), "it is empty; write the key of a stream");
    }
    if sink.max_length == Some(0) {
        document.problem(&join(path, "max_length"), "nothing would be kept; raise it");
    }
    if let Some(age) = sink.max_age {
        above_zero(document, &join(path, "max_age"), age);
    }
    if sink.max_length.is_some() && sink.max_age.is_some() {
        let message = "a stream is trimmed by one of `max_length` and `max_age`: remove the other";
        document.problem(&join(path, "max_age"), message);
    }
}

/// Checks a sink that adds jobs to a queue.
pub(super) fn bullmq(document: &mut Document, path: &str, sink: &BullmqConfig) {
    link(document, path, &sink.url, (&sink.password, &sink.ca));
    check_limits(document, path, sink.timeout, sink.concurrency);
    if sink.queue.is_empty() || sink.queue.contains(':') {
        let message = "write the name of a queue, which has no colon";
        document.problem(&join(path, "queue"), message);
    }
    if sink.prefix.is_empty() {
        document.problem(&join(path, "prefix"), "it is empty; remove it for `bull`");
    }
    if sink.attempts == 0 {
        document.problem(&join(path, "attempts"), "write at least 1");
    }
    above_zero(document, &join(path, "backoff"), sink.backoff);
    if sink.keep.get().as_secs() == 0 {
        document.problem(&join(path, "keep"), "write at least \"1s\"");
    }
}

/// Warns where several routes add to the queue of a sink: of what they both take one job is kept.
pub(super) fn shared(config: &Config, document: &mut Document, path: &str, sink: &BullmqConfig) {
    let is_same = |name: &String| {
        matches!(config.sinks.get(name), Some(SinkConfig::Bullmq(other))
            if (&other.url, &other.prefix, &other.queue) == (&sink.url, &sink.prefix, &sink.queue))
    };
    let routes = config.routes.iter().filter(|route| route.steps.iter().any(is_same));
    let names: Vec<String> = routes.map(|route| format!("`{}`", route.name)).collect();
    if names.len() > 1 {
        let message = format!(
            "the routes {} add to this queue, where an event that several of them take is one job, \
             that of the first; give each a queue of its own",
            names.join(" and ")
        );
        document.warn(&join(path, "queue"), message);
    }
}

/// Checks how it is reached, without what the password and the file contain. The address is not
/// repeated: there may be a password in it.
fn link(
    document: &mut Document,
    path: &str,
    url: &str,
    (password, ca): (&Option<String>, &Option<String>),
) {
    let is_fine = |url: &Url| {
        let number = url.path().trim_start_matches('/');
        matches!(url.scheme(), "redis" | "rediss")
            && url.has_host()
            && (number.is_empty() || number.parse::<u32>().is_ok())
            && url.query().is_none()
            && url.fragment().is_none()
    };
    let Some(url) = Url::parse(url).ok().filter(is_fine) else {
        let message = "this is no address of a Redis; write `redis://HOST:PORT`, or \
                       `rediss://HOST:PORT` for TLS, with `USER@` before and `/DATABASE` behind it if \
                       need be";
        document.problem(&join(path, "url"), message);
        return;
    };
    if url.password().is_some() && password.is_some() {
        let message = "there is a password in `url`, too; remove it there";
        document.problem(&join(path, "password"), message);
    }
    if url.scheme() == "redis" && ca.is_some() {
        let message = "it is for TLS; write `rediss://…` in `url`, or remove it";
        document.problem(&join(path, "ca"), message);
    }
}

/// Checks that the password and the certificates are at hand.
pub(super) fn secrets(
    config: &Config,
    document: &mut Document,
    path: &str,
    (password, ca): (&Option<String>, &Option<String>),
) {
    if let Some(password) = password {
        secret_at(config, document, &join(path, "password"), password);
    }
    if let Some(Err(message)) = ca.as_ref().map(|file| config.file(file)) {
        document.problem(&join(path, "ca"), message);
    }
}
