//! What is wrong with a sink that publishes to `RabbitMQ`.

use super::assert_said;

const QUEUE: &str = "type = \"amqp\"\nurl = \"amqp://u@h/v\"\nqueue = \"q\"";

/// What the type of the sink `ledger` is replaced by, and what is said of it then.
const WRONG: &[(&str, &str)] = &[
    ("type = \"amqp\"\nqueue = \"q\"", "11: sinks.ledger: `url` is missing"),
    (
        "type = \"amqp\"\nurl = \"rabbit:5672\"\nqueue = \"q\"",
        "13: sinks.ledger.url: this is no address of a broker; write `amqp://USER@HOST:PORT/VHOST`",
    ),
    (
        "type = \"amqp\"\nurl = \"amqp://u:hunter2@h/a/b\"\nqueue = \"q\"",
        "13: sinks.ledger.url: this is no address of a broker",
    ),
    (
        "type = \"amqp\"\nurl = \"amqp://u:hunter2@h\"\nqueue = \"q\"\npassword = \"x\"",
        "15: sinks.ledger.password: there is a password in `url`, too; remove it there",
    ),
    (
        "type = \"amqp\"\nurl = \"amqp://h\"",
        "11: sinks.ledger: there is nowhere to publish to; name a `queue` or an `exchange`",
    ),
    ("QUEUE\nrouting_key = \"x\"", "15: sinks.ledger.routing_key: without an `exchange` the"),
    (
        "QUEUE\nexchange = \"x\"\nrouting_key = \"{lane}\"",
        "16: sinks.ledger.routing_key: in braces there may be `{kind}`, `{source}` and `{route}`",
    ),
    (
        "QUEUE\nexchange = \"x\"\nexchange_type = \"direct\"\ndeclare = true",
        "16: sinks.ledger.exchange_type: a queue is bound by `#`, which a direct exchange takes",
    ),
    ("QUEUE\nexchange = \"\"", "15: sinks.ledger.exchange: a name is 1 to 255 bytes long"),
    ("QUEUE\nqueue_type = \"mirrored\"", "15: sinks.ledger.queue_type: unknown variant"),
    (
        "QUEUE\nqueu_type = \"quorum\"",
        "15: sinks.ledger.queu_type: there is no key `queu_type`; did",
    ),
    ("QUEUE\nconcurrency = 1001", "15: sinks.ledger.concurrency: each has a channel of its own"),
    ("QUEUE\ntimeout = \"0s\"", "15: sinks.ledger.timeout: it can't be 0"),
    ("QUEUE\nca = \"ca.pem\"", "15: sinks.ledger.ca: it is for TLS; write `amqps://…` in `url`"),
    ("QUEUE\npassword = \"env:UNSET\"", "15: sinks.ledger.password: the environment variable"),
];

#[test]
fn what_is_wrong_with_an_amqp_sink_is_said_without_connecting() {
    let replaced: Vec<_> =
        WRONG.iter().map(|(to, said)| (to.replace("QUEUE", QUEUE), *said)).collect();
    let cases: Vec<_> =
        replaced.iter().map(|(to, said)| ("type = \"log\"", &**to, *said)).collect();
    assert_said(&cases);
    let missing = QUEUE.replace("amqp:", "amqps:") + "\nca = \"missing.pem\"";
    assert_said(&[("type = \"log\"", &missing, "15: sinks.ledger.ca: cannot read `missing.pem`")]);
}

#[cfg(not(feature = "amqp"))]
#[test]
fn an_amqp_sink_is_refused_by_a_program_that_was_built_without_it() {
    let said = "12: sinks.ledger.type: this program was built without `amqp`; build it with";
    assert_said(&[("type = \"log\"", QUEUE, said)]);
}

#[cfg(feature = "amqp")]
#[test]
fn an_amqp_sink_with_every_key_is_accepted() {
    super::check_with("type = \"log\"", QUEUE).ok();
    super::check(&super::GOOD.replace(
        "type = \"log\"",
        r#"type = "amqp"
        url = "amqps://u@h:5671/%2f"
        password = "p"
        exchange = "x"
        exchange_type = "topic"
        routing_key = "wa.{source}.{kind}.{route}"
        queue = "q"
        queue_type = "classic"
        declare = true
        timeout = "1s"
        concurrency = 1000
        rate = "5/s"
        on_unknown = "hold""#,
    ))
    .ok();
}
