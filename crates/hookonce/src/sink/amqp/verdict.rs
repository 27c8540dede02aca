//! What an answer of the broker, or none, means for an event.

use std::time::Duration;

use lapin::protocol::{AMQPErrorKind, AMQPSoftError};
use lapin::{Confirmation, Error, ErrorKind};

use super::options::{Target, Topology};
use crate::sink::quote;
use crate::step::Failure;

/// How long an event waits for which the connection has no channel left.
const NO_CHANNEL: Duration = Duration::from_secs(1);

/// No channel was opened, so nothing was sent.
pub(super) fn of_no_channel(error: &Error) -> Failure {
    if matches!(error.kind(), ErrorKind::ChannelsLimitReached) {
        let error = "every channel of the connection is in use: lower `concurrency`".to_owned();
        return Failure::NotYet { error, after: NO_CHANNEL };
    }
    Failure::SinkDown(format!("can't open a channel: {}", said(error)))
}

/// The message could not be given to the connection. Where the channel was closed before, nothing was
/// sent.
pub(super) fn of_publishing(error: &Error, target: &Target) -> Failure {
    match error.kind() {
        ErrorKind::InvalidChannelState(..) | ErrorKind::InvalidConnectionState(_) => {
            Failure::SinkDown(format!("the connection is lost: {}", said(error)))
        }
        _ => of_no_confirmation(error, target),
    }
}

/// The channel or the connection ended before the broker confirmed. Only where the broker closed the
/// channel is it known that it didn't take the message: nothing else was on that channel.
pub(super) fn of_no_confirmation(error: &Error, target: &Target) -> Failure {
    let text = said(error);
    let ErrorKind::ProtocolError(answer) = error.kind() else { return unknown(&text) };
    let AMQPErrorKind::Soft(answer) = answer.kind() else { return unknown(&text) };
    match answer {
        AMQPSoftError::PRECONDITIONFAILED | AMQPSoftError::CONTENTTOOLARGE => {
            Failure::Permanent(format!("the broker refused it: {text}"))
        }
        AMQPSoftError::NOTFOUND => Failure::SinkDown(format!(
            "there is no exchange `{}`: declare it, or set `declare`: {text}",
            target.exchange
        )),
        _ => {
            let error = format!("the broker refused it: {text}");
            Failure::Unavailable { error, retry_after: None, may_have_happened: false }
        }
    }
}

fn unknown(text: &str) -> Failure {
    Failure::Unknown(format!("the connection broke before the broker confirmed: {text}"))
}

/// The broker answered with something else than that it has the message.
pub(super) fn of_refusal(confirmation: Confirmation, target: &Target) -> Failure {
    let (error, may_have_happened) = match confirmation {
        Confirmation::Ack(Some(returned)) | Confirmation::Nack(Some(returned)) => {
            let (code, text) =
                (returned.reply_code, quote::first(returned.reply_text.as_str().as_bytes()));
            let what = match &target.topology {
                Topology::Queue { name, .. } => {
                    format!("there is no queue `{name}`: declare it, or set `declare`")
                }
                Topology::Exchange { name, .. } => format!(
                    "no queue takes it from the exchange `{name}`: bind one, or correct `routing_key`"
                ),
            };
            (format!("{what} ({code} {text})"), false)
        }
        // Of several queues some may have it.
        Confirmation::Nack(None) => {
            ("the broker refused it, as it does where a queue is full".to_owned(), true)
        }
        Confirmation::Ack(None) | Confirmation::NotRequested => {
            return unknown("the broker was not asked to confirm");
        }
    };
    Failure::Unavailable { error, retry_after: None, may_have_happened }
}

/// What the broker or the system said, on one line. Neither has the URL in it.
pub(super) fn said(error: &Error) -> String {
    let text = match error.kind() {
        ErrorKind::ProtocolError(answer) => answer.get_message().to_string(),
        ErrorKind::IOError(error) => error.to_string(),
        _ => error.to_string(),
    };
    quote::first(text.as_bytes())
}
