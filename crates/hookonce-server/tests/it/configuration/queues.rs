//! What is wrong with a sink that is a queue.

use crate::program::Place;

/// A configuration whose one sink has these keys.
fn said(keys: &str) -> String {
    let place = Place::new();
    place.write(
        "hookonce.toml",
        &format!(
            "[sources.s]\nscheme = \"waha\"\nsecrets = [\"s\"]\n[[routes]]\nname = \"r\"\n\
             steps = [\"q\"]\n[sinks.q]\n{keys}\n"
        ),
    );
    let said = place.run(&["check"]);
    [said.stdout, said.stderr].concat()
}

#[test]
fn a_stream_that_cannot_be_written_to_is_refused_and_no_password_is_shown() {
    let good = "type = \"redis-stream\"\nurl = \"redis://u@h:1/2\"\nstream = \"q\"";
    let tls = good.replace("redis:", "rediss:");
    assert!(said(good).contains("is fine"), "{}", said(good));
    for (keys, expected) in [
        (good.replace("redis:", "http:"), "sinks.q.url: this is no address of a Redis"),
        (good.replace("/2", "/hunter2"), "sinks.q.url: this is no address of a Redis"),
        (good.replace("u@", "u:hun#ter2@"), "sinks.q.url: this is no address of a Redis"),
        (good.replace("\"q\"", "\"\""), "sinks.q.stream: it is empty"),
        (good.replace("stream =", "streem ="), "sinks.q.streem: there is no key `streem`"),
        (format!("{good}\nmax_length = 0"), "sinks.q.max_length: nothing would be kept"),
        (format!("{good}\nmax_length = 1\nmax_age = \"1d\""), "one of `max_length` and `max_age`"),
        (format!("{good}\nmax_age = \"0s\""), "sinks.q.max_age: it can't be 0"),
        (format!("{good}\ntimeout = \"0s\""), "sinks.q.timeout: it can't be 0"),
        (format!("{good}\nconcurrency = 0"), "sinks.q.concurrency: write a number"),
        (format!("{good}\nca = \"ca.pem\""), "sinks.q.ca: it is for TLS"),
        (format!("{tls}\nca = \"ca.pem\""), "sinks.q.ca: cannot read `ca.pem`"),
        (format!("{good}\npassword = \"file:no\""), "sinks.q.password: cannot read `no`"),
        (
            format!("{}\npassword = \"hunter2\"", good.replace("u@", "u:hunter2@")),
            "sinks.q.password: there is a password in `url`",
        ),
    ] {
        let said = said(&keys);
        assert!(said.contains(expected), "{keys}\n{said}");
        assert!(!said.contains("ter2"), "{keys}\n{said}");
    }
}

#[test]
fn a_queue_of_bullmq_that_cannot_be_written_to_is_refused() {
    let good = "type = \"bullmq\"\nurl = \"redis://u@h:1/2\"\nqueue = \"q\"";
    assert!(said(good).contains("is fine"), "{}", said(good));
    for (keys, expected) in [
        (good.replace("redis:", "h:"), "sinks.q.url: this is no address of a Redis"),
        (good.replace("\"q\"", "\"q:r\""), "sinks.q.queue: write the name of a queue"),
        (format!("{good}\nprefix = \"\""), "sinks.q.prefix: it is empty"),
        (format!("{good}\nattempts = 0"), "sinks.q.attempts: write at least 1"),
        (format!("{good}\nbackoff = \"0s\""), "sinks.q.backoff: it can't be 0"),
        (format!("{good}\nkeep = \"10ms\""), "sinks.q.keep: write at least \"1s\""),
        (format!("{good}\non_unknown = \"hold\""), "sinks.q.on_unknown: there is no key"),
        (format!("{good}\nca = \"ca.pem\""), "sinks.q.ca: it is for TLS"),
        (format!("{good}\npassword = \"file:no\""), "sinks.q.password: cannot read `no`"),
    ] {
        let said = said(&keys);
        assert!(said.contains(expected), "{keys}\n{said}");
    }
}

#[test]
fn of_two_routes_that_add_to_one_queue_it_is_said_that_an_event_of_both_is_one_job() {
    let sink = |queue: &str| format!("type = \"bullmq\"\nurl = \"redis://h\"\nqueue = \"{queue}\"");
    let with_another = |queue: &str| {
        let route = "[[routes]]\nname = \"r2\"\nsteps = [\"q2\"]";
        said(&format!("{}\n{route}\n[sinks.q2]\n{}", sink("q"), sink(queue)))
    };
    let warning = "sinks.q.queue: the routes `r` and `r2` add to this queue";
    assert!(with_another("q").contains(warning), "{}", with_another("q"));
    assert!(!with_another("q2").contains("add to this queue"), "{}", with_another("q2"));
}

#[test]
#[cfg(feature = "nats")]
fn a_stream_of_nats_that_cannot_be_published_to_is_refused_and_no_password_is_shown() {
    let good = "type = \"nats\"\nurl = \"nats://u@h\"\nsubject = \"a.{kind}\"\nstream = \"s\"";
    assert!(said(good).contains("is fine"), "{}", said(good));
    for (keys, expected) in [
        (good.replace("nats://u", "nats:u"), "sinks.q.url: this is no address of a NATS server"),
        (
            good.replace("//u@", "//u:hunter2@") + "\npassword = \"x\"",
            "sinks.q.password: there is a",
        ),
        (format!("{good}\ncredentials = \"file:no\""), "sinks.q.credentials: they say who comes"),
        (format!("{good}\nca = \"ca.pem\""), "sinks.q.ca: it is for TLS"),
        (good.replace("{kind}", "{id}"), "sinks.q.subject: between dots there may be"),
        (good.replace("{kind}", "*"), "sinks.q.subject: this is no subject to publish under"),
        (good.replace("\"s\"", "\"s.t\""), "sinks.q.stream: a stream's name has no dot"),
        (good.replace("stream = \"s\"", "declare = true"), "sinks.q.declare: there is no `stream`"),
        (format!("{good}\ntimeout = \"0s\""), "sinks.q.timeout: it can't be 0"),
    ] {
        let said = said(&keys);
        assert!(said.contains(expected), "{keys}\n{said}");
        assert!(!said.contains("hunter2"), "{keys}\n{said}");
    }
}

#[test]
#[cfg(feature = "sqs")]
fn a_queue_of_sqs_that_cannot_be_sent_to_is_refused_and_no_secret_is_shown() {
    let good = "type = \"sqs\"\nurl = \"https://sqs.eu-central-1.amazonaws.com/1/q.fifo\"";
    let local = good.replace("sqs.eu-central-1.amazonaws.com", "localhost:4566");
    assert!(said(good).contains("is fine"), "{}", said(good));
    let with_region = format!("{local}\nregion = \"eu-central-1\"");
    assert!(said(&with_region).contains("is fine"), "{}", said(&with_region));
    for (keys, expected) in [
        (good.replace("https:", "arn:"), "sinks.q.url: this is no URL of a queue"),
        (good.replace("/1/q.fifo", ""), "sinks.q.url: this is no URL of a queue"),
        (good.replace("sqs.eu", "u:hunter2@sqs.eu"), "sinks.q.url: this is no URL of a queue"),
        (local, "sinks.q: `url` names no region; write `region`"),
        (format!("{good}\nendpoint = \"vpce\""), "sinks.q.endpoint: this is no address of a"),
        (format!("{good}\naccess_key = \"a\""), "sinks.q.access_key: it goes with `secret_key`"),
        (
            format!("{good}\nsecret_key = \"hunter2\""),
            "sinks.q.secret_key: it goes with `access_key`",
        ),
        (
            format!("{good}\naccess_key = \"a\"\nsecret_key = \"file:no\""),
            "sinks.q.secret_key: cannot read `no`",
        ),
        (format!("{good}\ntimeout = \"0s\""), "sinks.q.timeout: it can't be 0"),
        (format!("{good}\nconcurrency = 0"), "sinks.q.concurrency: write a number"),
    ] {
        let said = said(&keys);
        assert!(said.contains(expected), "{keys}\n{said}");
        assert!(!said.contains("ter2"), "{keys}\n{said}");
    }
}
