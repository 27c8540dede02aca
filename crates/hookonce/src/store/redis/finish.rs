//! Every write after a claim, each of them only while the claim's token holds.

use std::time::Duration;

use serde::Serialize;

use super::insert::millis;
use super::scope::{Ask, Scopes};
use super::script::{EXTEND, FINISH, RECORD_STEP, RELEASE, Script};
use crate::store::{ERROR_LIMIT, Release, StoreError};
use crate::task::{Claim, DeadLane, Outcome, StepState};

/// What a claim is, and what is to be written.
#[derive(Serialize)]
struct Asked<'a, W> {
    id: String,
    route: &'a str,
    token: String,
    #[serde(flatten)]
    what: W,
}

#[derive(Serialize)]
struct Extension {
    lease: i64,
}

#[derive(Serialize)]
struct End<'a> {
    state: &'static str,
    outcome: &'static str,
    after: i64,
    holds: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    forget: bool,
}

#[derive(Serialize)]
struct Return<'a> {
    after: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    ran: bool,
}

#[derive(Serialize)]
struct Step<'a> {
    name: &'a str,
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a str>,
}

/// Lets a claim end later.
pub(super) async fn extend(
    scopes: &Scopes,
    claim: &Claim,
    lease: Duration,
) -> Result<(), StoreError> {
    write(scopes, &EXTEND, claim, Extension { lease: millis(lease) }).await
}

/// Writes the outcome and gives up the claim; its lane goes on.
pub(super) async fn finish(
    scopes: &Scopes,
    claim: &Claim,
    outcome: &Outcome,
) -> Result<(), StoreError> {
    let (state, after, holds) = match outcome {
        Outcome::Completed => ("completed", 0, false),
        Outcome::Retry { after, .. } => ("pending", millis(*after), false),
        Outcome::Dead { lane, .. } => ("dead", 0, *lane == DeadLane::Hold),
    };
    let error = outcome.error().map(|error| shortened(error, ERROR_LIMIT));
    // After a lapse nobody knows what became of a step that was begun.
    let forget = matches!(outcome, Outcome::Retry { .. }) && !claim.reaped;
    let end = End { state, outcome: outcome.as_str(), after, holds, error, forget };
    write(scopes, &FINISH, claim, end).await
}

/// Gives a claim back.
pub(super) async fn release(
    scopes: &Scopes,
    claim: &Claim,
    release: &Release,
) -> Result<(), StoreError> {
    let (after, error) = match release {
        Release::Unstarted { after, error } => (*after, error.as_deref()),
        Release::NotYet { after, error } => (*after, Some(&**error)),
    };
    let error = error.map(|error| shortened(error, ERROR_LIMIT));
    let ran = matches!(release, Release::NotYet { .. });
    write(scopes, &RELEASE, claim, Return { after: millis(after), error, ran }).await
}

/// Remembers how far a step has come.
pub(super) async fn record_step(
    scopes: &Scopes,
    claim: &Claim,
    (name, state, result): (&str, StepState, Option<&str>),
) -> Result<(), StoreError> {
    write(scopes, &RECORD_STEP, claim, Step { name, state: state.as_str(), result }).await
}

async fn write(
    scopes: &Scopes,
    script: &Script,
    claim: &Claim,
    what: impl Serialize,
) -> Result<(), StoreError> {
    let asked = Asked {
        id: hex::encode(claim.event.id.as_bytes()),
        route: &claim.route,
        token: hex::encode(claim.token.as_bytes()),
        what,
    };
    for scope in scopes.of_event(&claim.event).await? {
        let said: String = scopes.run(&scope, &Ask::writing(script, &asked)).await?;
        if said == "done" {
            return Ok(());
        }
    }
    Err(StoreError::Lost)
}

/// `text` up to `limit` bytes, cut between characters.
fn shortened(text: &str, limit: usize) -> &str {
    let end = (0..=limit.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or_default()]
}
