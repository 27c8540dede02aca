//! What an answer of the server, or none, means for an event.

use std::error::Error as _;
use std::time::Duration;

use async_nats::jetstream;
use async_nats::jetstream::context::{PublishError, PublishErrorKind};

use super::link::Link;
use super::options::Target;
use crate::sink::quote;
use crate::step::Failure;

/// The server's own numbers for errors, as its list of them has them.
mod code {
    /// `JetStream` is not there, or not for this account.
    pub(super) const NOT_ENABLED: [u64; 2] = [10076, 10039];
    /// The message is larger than the stream takes, or its header is.
    pub(super) const TOO_LARGE: [u64; 2] = [10054, 10097];
    /// Another stream has the subject than the one that is named.
    pub(super) const OTHER_STREAM: u64 = 10060;
}

/// What it means that an event could not be given to the connection.
pub(super) fn of_sending(error: &PublishError, target: &Target, link: &Link) -> Failure {
    match error.kind() {
        // It ended meanwhile, and nothing was sent.
        PublishErrorKind::Other => {
            Failure::SinkDown(format!("the connection is lost: {}", said(error)))
        }
        _ => of(error, target, link),
    }
}

/// What it means that an event was not acknowledged.
pub(super) fn of(error: &PublishError, target: &Target, link: &Link) -> Failure {
    match error.kind() {
        PublishErrorKind::MaxPayloadExceeded => {
            Failure::Permanent(format!("it is longer than the server takes: {}", said(error)))
        }
        PublishErrorKind::StreamNotFound => {
            let subject = target.subject.every();
            let error = format!(
                "no stream listens to `{subject}`: make one, or name a `stream` and set `declare`"
            );
            Failure::Unavailable { error, retry_after: None, may_have_happened: false }
        }
        PublishErrorKind::TimedOut | PublishErrorKind::BrokenPipe => {
            let more = link.said().map(|said| format!("; the server said: {said}"));
            Failure::Unknown(format!(
                "no acknowledgement came; whether it was published is unknown{}",
                more.unwrap_or_default()
            ))
        }
        _ => refused(error, target),
    }
}

/// No answer came in time.
pub(super) fn silent(link: &Link, timeout: Duration) -> Failure {
    let said = link.said().map(|said| format!(": {said}")).unwrap_or_default();
    Failure::Unknown(format!(
        "not acknowledged within {timeout:?}; whether it was published is unknown{said}"
    ))
}

/// The server has dropped it, and says so to nobody who waits.
pub(super) fn forbidden(subject: &str) -> Failure {
    let error = format!("the user may not publish under `{subject}`: let it, or correct `subject`");
    Failure::Unavailable { error, retry_after: None, may_have_happened: false }
}

/// The server refused it: nothing was stored.
fn refused(error: &PublishError, target: &Target) -> Failure {
    let answer = error.source().and_then(|source| source.downcast_ref::<jetstream::Error>());
    let text = said(error);
    let Some(answer) = answer else {
        return Failure::Unknown(format!(
            "no acknowledgement came; whether it was published is unknown: {text}"
        ));
    };
    let number = answer.error_code().0;
    if code::TOO_LARGE.contains(&number) {
        return Failure::Permanent(format!("the stream refused it: {text}"));
    }
    if code::NOT_ENABLED.contains(&number) {
        return Failure::SinkDown(format!("JetStream is not enabled here: {text}"));
    }
    if number == code::OTHER_STREAM {
        let stream = target.stream.as_ref().map_or("none", |stream| &stream.name);
        let subject = target.subject.every();
        let error = format!(
            "the stream `{stream}` does not listen to it, of `{subject}`; correct either: {text}"
        );
        return Failure::Unavailable { error, retry_after: None, may_have_happened: false };
    }
    // It is full, or short of something, or has no leader now.
    let error = format!("the stream refused it: {text}");
    Failure::Unavailable { error, retry_after: None, may_have_happened: false }
}

/// What the client says, on one line.
fn said(error: &PublishError) -> String {
    quote::first(error.to_string().as_bytes())
}
