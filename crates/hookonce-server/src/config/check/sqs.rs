//! What is wrong with how a queue of SQS is reached.

use super::super::Config;
use super::super::document::{Document, join};
use super::super::sink::SqsConfig;
use super::{check_limits, secret_at};

/// Checks a sink, without what the secret contains.
pub(super) fn check(document: &mut Document, path: &str, sink: &SqsConfig) {
    check_address(document, path, sink);
    check_limits(document, path, sink.timeout, sink.concurrency);
    let (given, missing) = match (&sink.access_key, &sink.secret_key) {
        (Some(_), None) => ("access_key", "secret_key"),
        (None, Some(_)) => ("secret_key", "access_key"),
        _ => return,
    };
    let message =
        format!("it goes with `{missing}`; write both, or neither to use the machine's role");
    document.problem(&join(path, given), message);
}

#[cfg(feature = "sqs")]
fn check_address(document: &mut Document, path: &str, sink: &SqsConfig) {
    use hookonce::sink::sqs::{SqsOptions, SqsSinkError};

    let (region, endpoint) = (sink.region.clone(), sink.endpoint.clone());
    let options = SqsOptions { region, endpoint, ..SqsOptions::new(&sink.url) };
    if let Err(error) = options.check() {
        let at = match error {
            SqsSinkError::Url => join(path, "url"),
            SqsSinkError::Endpoint => join(path, "endpoint"),
            _ => path.to_owned(),
        };
        document.problem(&at, error.to_string());
    }
}

/// The type itself is refused.
#[cfg(not(feature = "sqs"))]
fn check_address(_: &mut Document, _: &str, _: &SqsConfig) {}

/// Checks that the keys are at hand.
pub(super) fn secrets(config: &Config, document: &mut Document, path: &str, sink: &SqsConfig) {
    for (key, secret) in [("access_key", &sink.access_key), ("secret_key", &sink.secret_key)] {
        if let Some(secret) = secret {
            secret_at(config, document, &join(path, key), secret);
        }
    }
}
