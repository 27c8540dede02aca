//! What the sections say together, and what no section can say of itself.

mod admin;
mod amqp;
mod nats;
mod network;
mod postgres;
mod redis;
mod redis_sink;
mod source;
mod sqs;

use std::collections::BTreeSet;

use hookonce::receiver::ReceiverOptions;
use hookonce::route::is_kind_glob;

use super::document::{Document, join, nearest};
use super::program;
use super::quantity::{Period, Size};
use super::section::{RouteConfig, WorkerName};
use super::sink::{BullmqConfig, ExecConfig, HttpConfig, RedisStreamConfig, SinkConfig};
use super::source::{AckName, SourceConfig};
use super::{Config, Named};

/// The first words of the kinds that senders are known to use; others may come any day.
const KINDS: [&str; 15] = [
    "message",
    "status",
    "call",
    "call_status",
    "echo",
    "history",
    "automatic",
    "standby",
    "user_preference",
    "user_action",
    "group",
    "contact_sync",
    "user_id_update",
    "error",
    "unreadable",
];

/// Less than this leaves a commit no time: 100 ms of it are kept for the answer itself.
const ACK_TIMEOUT: Period = Period::milliseconds(500);
/// Retries and lapsed claims are looked for this seldom at most.
const POLL: Period = Period::seconds(60);

/// Checks everything but secrets.
pub(crate) fn all(config: &Config, document: &mut Document) {
    check_server(config, document);
    admin::check(config, document);
    network::check(config, document);
    postgres::check(config, document);
    redis::check(config, document);
    check_retention(config, document);
    let mut names = BTreeSet::new();
    for (n, route) in config.routes.iter().enumerate() {
        let path = format!("routes[{n}]");
        name(document, &join(&path, "name"), &route.name);
        if !names.insert(&route.name) {
            let message = format!("there is a route `{}` already; rename one", route.name);
            document.problem(&join(&path, "name"), message);
        }
        check_steps(config, document, &path, route);
        check_wishes(config, document, &path, route);
        check_retry(document, &path, route);
    }
    for (name, sink) in &config.sinks {
        let path = join("sinks", name);
        match sink {
            SinkConfig::Http(http) => check_http(document, &path, http),
            SinkConfig::Exec(exec) => check_exec(config, document, &path, exec),
            SinkConfig::Sql(sql) => {
                check_limits(document, &path, sql.timeout, sql.concurrency);
                if sql.statement.trim().is_empty() {
                    document.problem(&join(&path, "statement"), "it is empty; write one statement");
                }
            }
            SinkConfig::Log(_) => {}
            SinkConfig::Amqp(sink) => amqp::check(document, &path, sink),
            SinkConfig::Nats(sink) => nats::check(document, &path, sink),
            SinkConfig::Sqs(sink) => sqs::check(document, &path, sink),
            SinkConfig::RedisStream(stream) => redis_sink::stream(document, &path, stream),
            SinkConfig::Bullmq(bullmq) => {
                redis_sink::bullmq(document, &path, bullmq);
                redis_sink::shared(config, document, &path, bullmq);
            }
        }
        if !config.routes.iter().any(|route| route.steps.contains(name)) {
            document.warn(&path, "no route has this sink among its steps");
        }
    }
    source::check(config, document);
}

/// Checks that every secret is at hand.
pub(crate) fn secrets(config: &Config, document: &mut Document) {
    admin::secrets(config, document);
    postgres::secrets(config, document);
    redis::secrets(config, document);
    source::secrets(config, document);
    for (name, sink) in &config.sinks {
        let path = join("sinks", name);
        match sink {
            SinkConfig::Http(HttpConfig { secret: Some(secret), .. }) => {
                secret_at(config, document, &join(&path, "secret"), secret);
            }
            SinkConfig::Amqp(sink) => amqp::secrets(config, document, &path, sink),
            SinkConfig::Nats(sink) => nats::secrets(config, document, &path, sink),
            SinkConfig::Sqs(sink) => sqs::secrets(config, document, &path, sink),
            SinkConfig::RedisStream(RedisStreamConfig { password, ca, .. })
            | SinkConfig::Bullmq(BullmqConfig { password, ca, .. }) => {
                redis_sink::secrets(config, document, &path, (password, ca));
            }
            _ => {}
        }
    }
}

/// Checks that the secret that is written at this path is at hand.
fn secret_at(config: &Config, document: &mut Document, path: &str, written: &str) {
    if let Err(message) = config.secret(written) {
        document.problem(path, message);
    }
}

/// Checks the name of a source, route, sink or token: it becomes part of paths, headers and labels.
pub(crate) fn name(document: &mut Document, path: &str, name: &str) {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-');
    if name.is_empty() || name.len() > 64 || !name.chars().all(plain) {
        let message = "a name is 1 to 64 of the characters a-z, 0-9, _ and -; rename it";
        document.problem(path, message);
    }
}

fn check_server(config: &Config, document: &mut Document) {
    let server = &config.server;
    address(document, "server.listen", &server.listen, "127.0.0.1:8080");
    check_body_limit(config, document);
    let waits = |source: &SourceConfig| source.ack == AckName::Handled;
    if config.sources.values().any(waits) && server.handled_timeout < server.ack_timeout {
        let message = format!(
            "{} is shorter than `ack_timeout`, {}, within which events are stored; raise it",
            server.handled_timeout, server.ack_timeout
        );
        document.problem("server.handled_timeout", message);
    }
    if server.ack_timeout < ACK_TIMEOUT {
        let message = format!(
            "100 ms of it are kept for the answer, so {} leaves too little to store anything and \
             every request would be answered 503; write at least \"{ACK_TIMEOUT}\"",
            server.ack_timeout
        );
        document.problem("server.ack_timeout", message);
    }
    above_zero(document, "worker.poll", config.worker.poll);
    if config.worker.poll > POLL {
        let message = format!(
            "retries and the tasks of a worker that died are looked for this often, so {} would \
             leave them waiting; write at most \"{POLL}\"",
            config.worker.poll
        );
        document.problem("worker.poll", message);
    }
    if !(1..=4096).contains(&config.worker.slots) {
        document.problem("worker.slots", "write a number from 1 to 4096");
    }
}

/// Checks that something can listen there.
fn address(document: &mut Document, path: &str, listen: &str, example: &str) {
    let port = listen.rsplit_once(':').filter(|(host, _)| !host.is_empty());
    if port.is_none_or(|(_, port)| port.parse::<u16>().is_err()) {
        let message =
            format!("`{listen}` is no address; write host and port, such as \"{example}\"");
        document.problem(path, message);
    }
}

fn check_body_limit(config: &Config, document: &mut Document) {
    let limit = config.server.body_limit;
    // A body of more than all together may take could never be received.
    let held = Size::bytes(ReceiverOptions::default().bytes_in_flight);
    let key = "server.body_limit";
    if limit.get() == 0 {
        document.problem(key, "nothing could be received; raise it");
    } else if limit > held {
        let message = format!(
            "{limit} is more than the {held} that all requests together may take in memory; \
             lower it"
        );
        document.problem(key, message);
    }
    for source in config.sources.values() {
        let Some((longest, said)) = source.own.longest() else { continue };
        if limit < longest {
            let message = format!(
                "{said}, and one longer than {limit} is answered 413 however often it comes; write \
                 at least \"{longest}\""
            );
            document.warn(key, message);
            return;
        }
    }
}

fn check_retention(config: &Config, document: &mut Document) {
    let kept = config.retention.key;
    for (name, source) in &config.sources {
        let Some((horizon, sender)) = source.own.horizon() else { continue };
        if kept < horizon {
            let message = format!(
                "{kept} is shorter than the {horizon} for which {sender} sends again (source \
                 `{name}`): a copy that comes later would be handled twice; write at least \
                 \"{horizon}\""
            );
            document.problem("retention.key", message);
            return;
        }
    }
}

fn check_steps(config: &Config, document: &mut Document, path: &str, route: &RouteConfig) {
    match route.worker {
        WorkerName::Server if route.steps.is_empty() => {
            let message = "it is empty; name at least one sink, or write `worker = \"external\"` to \
                           leave its tasks to programs of yours";
            document.problem(&join(path, "steps"), message);
        }
        WorkerName::External if !route.steps.is_empty() => {
            let message =
                "a route with `worker = \"external\"` has no steps: remove one of the two";
            document.problem(&join(path, "steps"), message);
        }
        WorkerName::Server | WorkerName::External => {}
    }
    for (n, step) in route.steps.iter().enumerate() {
        let path = format!("{path}.steps[{n}]");
        if !config.sinks.contains_key(step) {
            document.problem(&path, names_nothing("sink", step, &config.sinks));
        } else if route.steps[..n].contains(step) {
            let message = format!(
                "`{step}` is a step of this route already, and a step is done once; give the \
                 second a sink of its own"
            );
            document.problem(&path, message);
        }
    }
}

/// Checks which sources and kinds a route wants.
fn check_wishes(config: &Config, document: &mut Document, path: &str, route: &RouteConfig) {
    for (key, list) in [("sources", &route.sources), ("kinds", &route.kinds)] {
        if list.as_ref().is_some_and(Vec::is_empty) {
            let message =
                format!("it is empty, so the route takes nothing; leave it out for all {key}");
            document.problem(&join(path, key), message);
        }
    }
    for (n, source) in route.sources.iter().flatten().enumerate() {
        if !config.sources.contains_key(source) {
            let message = names_nothing("source", source, &config.sources);
            document.problem(&format!("{path}.sources[{n}]"), message);
        }
    }
    for (n, kind) in route.kinds.iter().flatten().enumerate() {
        let path = format!("{path}.kinds[{n}]");
        if !is_kind_glob(kind) {
            let message = format!(
                "`{kind}` never matches: a kind has only a-z, 0-9, _ and ., and * stands for any of \
                 them"
            );
            document.problem(&path, message);
            continue;
        }
        let (first, rest) = kind.split_at(kind.find(['.', '*']).unwrap_or(kind.len()));
        if let Some(word) = nearest(first, &KINDS).filter(|word| *word != first) {
            document.warn(&path, format!("is `{kind}` meant to be `{word}{rest}`?"));
        }
    }
}

fn check_retry(document: &mut Document, path: &str, route: &RouteConfig) {
    above_zero(document, &join(path, "retry_min"), route.retry_min);
    if route.lease.get().as_millis() < 100 {
        document.problem(&join(path, "lease"), "write at least \"100ms\"");
    }
    if let Some(max_age) = route.max_age {
        above_zero(document, &join(path, "max_age"), max_age);
    }
    if route.max_attempts == 0 {
        document.problem(&join(path, "max_attempts"), "write at least 1");
    }
    if route.retry_min > route.retry_max {
        let message = format!(
            "{} is more than `retry_max`, {}; lower it or raise `retry_max`",
            route.retry_min, route.retry_max
        );
        document.problem(&join(path, "retry_min"), message);
    }
}

fn check_http(document: &mut Document, path: &str, http: &HttpConfig) {
    let rest = http.url.strip_prefix("http://").or_else(|| http.url.strip_prefix("https://"));
    if rest.is_none_or(|rest| rest.is_empty() || rest.starts_with('/')) {
        let message = "this is no URL; write one that starts with http:// or https://";
        document.problem(&join(path, "url"), message);
    }
    check_limits(document, path, http.timeout, http.concurrency);
    for (n, status) in http.permanent.iter().enumerate() {
        if !(400..600).contains(status) || matches!(status, 425 | 429) {
            let message =
                format!("{status} can't be permanent; write 4xx or 5xx but not 425 or 429");
            document.problem(&format!("{path}.permanent[{n}]"), message);
        }
    }
    if http.sign_as.is_some() && http.secret.is_none() {
        document.problem(&join(path, "sign_as"), "there is nothing to sign with; give a `secret`");
    }
}

fn check_exec(config: &Config, document: &mut Document, path: &str, exec: &ExecConfig) {
    let command = join(path, "command");
    check_limits(document, path, exec.timeout, exec.concurrency);
    for (n, word) in exec.command.iter().enumerate() {
        if word.contains('\0') {
            let message = "no program can be given a NUL character; remove it";
            document.problem(&format!("{command}[{n}]"), message);
        }
    }
    let Some(program) = exec.command.first().filter(|program| !program.trim().is_empty()) else {
        let message = "there is no program; write one and its arguments, such as [\"./book.sh\"]";
        document.problem(&command, message);
        return;
    };
    if !program::is_there(program, &config.dir, super::search_path().as_deref()) {
        let place = if program.contains('/') { "there" } else { "in PATH" };
        let message = format!(
            "there is no program `{program}` {place}; install it, make it executable, or correct \
             its name"
        );
        document.warn(&command, message);
    }
}

/// Checks how long and how often at once a sink may be at work.
fn check_limits(document: &mut Document, path: &str, timeout: Period, concurrency: usize) {
    above_zero(document, &join(path, "timeout"), timeout);
    if !(1..=4096).contains(&concurrency) {
        document.problem(&join(path, "concurrency"), "write a number from 1 to 4096");
    }
}

fn above_zero(document: &mut Document, path: &str, period: Period) {
    if period.get().is_zero() {
        document.problem(path, "it can't be 0; write a duration such as \"1s\"");
    }
}

fn names_nothing<T>(what: &str, name: &str, known: &Named<T>) -> String {
    let words: Vec<&str> = known.keys().map(String::as_str).collect();
    let hint = match nearest(name, &words) {
        Some(word) => format!("did you mean `{word}`?"),
        None if words.is_empty() => format!("there is none yet; write `[{what}s.{name}]`"),
        None => format!("there are {}", words.join(", ")),
    };
    format!("there is no {what} `{name}`; {hint}")
}
