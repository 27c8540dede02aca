//! What is wrong with how a `RabbitMQ` is reached, and with where events go there.

use url::Url;

use super::super::Config;
use super::super::document::{Document, join};
use super::super::sink::{AmqpConfig, ExchangeName};
use super::{check_limits, secret_at};

/// Half of the channels that a broker gives a connection when nobody has said otherwise.
const CHANNELS: usize = 1000;

/// Checks a sink, without what the password and the file contain.
pub(super) fn check(document: &mut Document, path: &str, sink: &AmqpConfig) {
    check_address(document, path, sink);
    check_topology(document, path, sink);
    check_limits(document, path, sink.timeout, sink.concurrency);
    if sink.concurrency > CHANNELS {
        let message = format!("each has a channel of its own meanwhile; write at most {CHANNELS}");
        document.problem(&join(path, "concurrency"), message);
    }
}

/// The address is not repeated: there may be a password in it.
fn check_address(document: &mut Document, path: &str, sink: &AmqpConfig) {
    let is_fine = |url: &Url| {
        matches!(url.scheme(), "amqp" | "amqps")
            && url.host_str().is_some_and(|host| !host.is_empty())
            && url.fragment().is_none()
            // The name of a virtual host has its slashes encoded.
            && !url.path().trim_start_matches('/').contains('/')
    };
    let Some(url) = Url::parse(&sink.url).ok().filter(is_fine) else {
        let message = "this is no address of a broker; write `amqp://USER@HOST:PORT/VHOST`, or \
                       `amqps://…` for TLS";
        document.problem(&join(path, "url"), message);
        return;
    };
    if url.password().is_some() && sink.password.is_some() {
        let message = "there is a password in `url`, too; remove it there";
        document.problem(&join(path, "password"), message);
    }
    if url.scheme() == "amqp" && sink.ca.is_some() {
        let message = "it is for TLS; write `amqps://…` in `url`, or remove it";
        document.problem(&join(path, "ca"), message);
    }
}

fn check_topology(document: &mut Document, path: &str, sink: &AmqpConfig) {
    if sink.exchange.is_none() && sink.queue.is_none() {
        let message = "there is nowhere to publish to; name a `queue` or an `exchange`";
        document.problem(path, message);
    }
    for (key, name) in [("exchange", &sink.exchange), ("queue", &sink.queue)] {
        if name.as_ref().is_some_and(|name| name.is_empty() || name.len() > 255) {
            document.problem(&join(path, key), "a name is 1 to 255 bytes long; correct it");
        }
    }
    let declares = sink.declare && sink.exchange.is_some() && sink.queue.is_some();
    if declares && sink.exchange_type == ExchangeName::Direct {
        let message = "a queue is bound by `#`, which a direct exchange takes literally; write \
                       \"topic\", or remove `queue` and bind it yourself";
        document.problem(&join(path, "exchange_type"), message);
    }
    let Some(key) = &sink.routing_key else { return };
    let at = join(path, "routing_key");
    if sink.exchange.is_none() {
        let message = "without an `exchange` the routing key is the queue's name; remove it, or name \
                       an exchange";
        document.problem(&at, message);
    }
    let rest = ["{kind}", "{source}", "{route}"].iter().fold(key.clone(), |k, p| k.replace(p, ""));
    if rest.contains(['{', '}']) {
        let message = "in braces there may be `{kind}`, `{source}` and `{route}`; correct it";
        document.problem(&at, message);
    } else if rest.len() > 255 {
        document.problem(&at, "it may be 255 bytes long; shorten it");
    }
}

/// Checks that the password and the certificates are at hand.
pub(super) fn secrets(config: &Config, document: &mut Document, path: &str, sink: &AmqpConfig) {
    if let Some(password) = &sink.password {
        secret_at(config, document, &join(path, "password"), password);
    }
    if let Some(Err(message)) = sink.ca.as_ref().map(|file| config.file(file)) {
        document.problem(&join(path, "ca"), message);
    }
}
