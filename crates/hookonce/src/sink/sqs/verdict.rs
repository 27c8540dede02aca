//! What an answer of the queue, or none, means for an event.

use std::error::Error;
use std::time::Duration;

use aws_credential_types::Credentials;
use aws_credential_types::provider::error::CredentialsError;
use aws_sdk_sqs::config::http::HttpResponse;
use aws_sdk_sqs::error::{ProvideErrorMetadata as _, SdkError};
use aws_sdk_sqs::operation::send_message::SendMessageError;

use super::options::Target;
use crate::sink::quote;
use crate::step::Failure;

/// How long to wait where the queue says that it is asked too much.
const THROTTLED: Duration = Duration::from_secs(1);
/// Parts of the words for who we are, what we may do and with which key the queue encrypts: what they refuse
/// they refuse of every event.
const RIGHTS: [&str; 17] = [
    "AccessDenied",
    "ExpiredToken",
    "IncompleteSignature",
    "InvalidAddress",
    "InvalidClientTokenId",
    "InvalidSecurity",
    "InvalidSignature",
    "KMS.",
    "Kms",
    "MissingAuthenticationToken",
    "MissingParameter",
    "NotAuthorized",
    "OptInRequired",
    "RequestExpired",
    "SignatureDoesNotMatch",
    "UnrecognizedClient",
    "UnsupportedOperation",
];

/// Somebody says yes who is no queue.
pub(super) fn of_strange_success() -> Failure {
    Failure::Unknown(
        "the answer has no message id, so it is none of a queue; correct `url` or `endpoint`"
            .to_owned(),
    )
}

/// Fails where whoever should know as whom we send doesn't, or doesn't say so in time.
pub(super) fn of_credentials(
    told: Option<Result<Credentials, CredentialsError>>,
    limit: Duration,
) -> Result<(), Failure> {
    let why = match told {
        Some(Ok(_)) => return Ok(()),
        Some(Err(error)) => said(&error),
        None => format!("no answer within {limit:?}"),
    };
    Err(Failure::SinkDown(format!(
        "there is nobody to send as: give `access_key` and `secret_key`, or the machine a role: {why}"
    )))
}

/// What it means that an event was not taken.
pub(super) fn of(error: &SdkError<SendMessageError, HttpResponse>, target: &Target) -> Failure {
    match error {
        SdkError::ServiceError(refusal) => {
            refused(refusal.err(), refusal.raw().status().as_u16(), target)
        }
        SdkError::TimeoutError(_) => Failure::Unknown(format!(
            "no answer within {:?}; whether it was sent is unknown",
            target.timeout
        )),
        SdkError::ResponseError(answer) => {
            let status = answer.raw().status().as_u16();
            let error = format!("an answer that can't be read, of status {status}");
            // One that is cut off may be that of a success.
            of_status(if status < 400 { 500 } else { status }, error)
        }
        SdkError::DispatchFailure(_) if is_after_connecting(error) => Failure::Unknown(format!(
            "the connection broke before an answer came; whether it was sent is unknown: {}",
            said(error)
        )),
        _ => Failure::SinkDown(format!("the queue can't be asked: {}", said(error))),
    }
}

/// The queue refused it: nothing was stored, unless the server failed.
fn refused(refusal: &SendMessageError, status: u16, target: &Target) -> Failure {
    let code = refusal.code().unwrap_or("no code");
    let message = refusal.message().unwrap_or("no message");
    let said = quote::first(format!("{code}: {message}").as_bytes());
    if code.contains("Throttl") || code == "OverLimit" {
        return Failure::NotYet { error: said, after: THROTTLED };
    }
    if code.contains("NonExistentQueue") || code.contains("QueueDoesNotExist") {
        let url = &target.url;
        return Failure::SinkDown(format!(
            "there is no queue `{url}`: create it, or correct `url`"
        ));
    }
    if RIGHTS.iter().any(|word| code.contains(word)) {
        return Failure::SinkDown(format!("the queue refuses us: {said}"));
    }
    if code.contains("InvalidMessageContents") || message.contains("must be shorter") {
        return Failure::Permanent(format!("the queue refuses it: {said}"));
    }
    of_status(status, said)
}

fn of_status(status: u16, error: String) -> Failure {
    match status {
        401 | 403 => Failure::SinkDown(format!("the queue refuses us: {error}")),
        502..=504 => {
            Failure::Unavailable { error, retry_after: None, may_have_happened: status != 503 }
        }
        500.. => Failure::Unknown(format!("{error}; whether it was sent is unknown")),
        _ => Failure::transient(error),
    }
}

/// Whether what went wrong did so on a connection that was made.
fn is_after_connecting(error: &(dyn Error + 'static)) -> bool {
    if causes(error).any(<dyn Error>::is::<CredentialsError>) {
        return false;
    }
    let mut of_client =
        causes(error).filter_map(|cause| cause.downcast_ref::<hyper_util::client::legacy::Error>());
    // Without one it never came to that: there is nobody to ask as, or no connection in time.
    of_client.next().is_some_and(|error| !error.is_connect())
}

/// An error and what it comes from.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    let mut next = Some(error);
    std::iter::from_fn(move || {
        let error = next?;
        next = error.source();
        Some(error)
    })
}

/// What the client says, on one line.
fn said(error: &(dyn Error + 'static)) -> String {
    let causes: Vec<String> = causes(error).map(ToString::to_string).collect();
    quote::first(causes.join(": ").as_bytes())
}
