//! Every write after a claim, each of them only while the claim's token holds.

use std::time::Duration;

use rusqlite::{named_params, params};

use super::claim::millis;
use super::session::{Count, Session};
use crate::store::{ERROR_LIMIT, Release, StoreError};
use crate::task::{Claim, DeadLane, Outcome, StepState, lane_id};

/// What a write after a claim gives: the inner error is the claim's, the outer one the database's.
pub(super) type Written = rusqlite::Result<Result<(), StoreError>>;

/// Lets a claim end later.
pub(super) fn extend(session: &Session, claim: &Claim, lease: Duration) -> Written {
    let now = session.now();
    let changed = session.execute(
        include_str!("extend.sql"),
        named_params! {
            ":seq": claim.event.seq, ":route": &*claim.route, ":token": claim.token.as_bytes(),
            ":now": now, ":lease_until": now + millis(lease),
        },
    )?;
    Ok(held(changed))
}

/// Writes the outcome and gives up the claim; its lane goes on.
pub(super) fn finish(session: &Session, claim: &Claim, outcome: &Outcome) -> Written {
    let now = session.now();
    let error = outcome.error().map(|error| shortened(error, ERROR_LIMIT));
    write_attempt(session, claim, outcome.as_str(), error)?;
    let (state, due_at, holds) = match outcome {
        Outcome::Completed => ("completed", None, false),
        Outcome::Retry { after, .. } => ("pending", Some(now + millis(*after)), false),
        Outcome::Dead { lane, .. } => ("dead", None, *lane == DeadLane::Hold),
    };
    let token = claim.token.as_bytes();
    let finished = session.execute(
        include_str!("finish.sql"),
        params![state, due_at, holds, now, error, claim.event.seq, &*claim.route, token],
    )?;
    if finished == 0 {
        return Ok(Err(StoreError::Lost));
    }
    let event = &claim.event;
    // After a lapse nobody knows what became of a step that was begun.
    if matches!(outcome, Outcome::Retry { .. }) && !claim.reaped {
        forget_steps(session, claim)?;
    }
    match outcome {
        Outcome::Completed => session.count(&event.source, Count::Completed, 1),
        Outcome::Dead { .. } => session.count(&event.source, Count::Dead, 1),
        Outcome::Retry { .. } => {}
    }
    if let Some(lane) = event.lane.as_deref()
        && due_at.is_none()
        && !holds
    {
        pass_lane(session, lane_id(&event.source, &claim.route, lane))?;
    }
    Ok(Ok(()))
}

/// Remembers how far a step has come.
pub(super) fn record_step(
    session: &Session,
    claim: &Claim,
    name: &str,
    state: StepState,
    result: Option<&str>,
) -> Written {
    let changed = session.execute(
        include_str!("record_step.sql"),
        named_params! {
            ":seq": claim.event.seq, ":route": &*claim.route, ":token": claim.token.as_bytes(),
            ":name": name, ":state": state.as_str(), ":result": result,
        },
    )?;
    Ok(held(changed))
}

/// Gives a claim back.
pub(super) fn release(session: &Session, claim: &Claim, release: &Release) -> Written {
    let (after, error) = match release {
        Release::Unstarted { after, error } => (*after, error.as_deref()),
        Release::NotYet { after, error } => (*after, Some(error.as_str())),
    };
    let error = error.map(|error| shortened(error, ERROR_LIMIT));
    if matches!(release, Release::NotYet { .. }) && holds(session, claim)? {
        session.execute(
            include_str!("forget_releases.sql"),
            params![claim.event.seq, &*claim.route, claim.run, claim.attempt],
        )?;
        write_attempt(session, claim, "released", error)?;
    }
    let changed = session.execute(
        include_str!("release.sql"),
        named_params! {
            ":seq": claim.event.seq, ":route": &*claim.route, ":token": claim.token.as_bytes(),
            ":due_at": session.now() + millis(after), ":error": error,
        },
    )?;
    if changed == 1 {
        forget_steps(session, claim)?;
    }
    if after.is_zero() {
        session.note_due();
    }
    Ok(held(changed))
}

fn forget_steps(session: &Session, claim: &Claim) -> rusqlite::Result<usize> {
    session.execute(
        include_str!("forget_steps.sql"),
        params![claim.event.seq, &*claim.route, claim.run],
    )
}

/// Whether the claim's token still holds.
pub(super) fn holds(session: &Session, claim: &Claim) -> rusqlite::Result<bool> {
    session.connection.prepare_cached(include_str!("holds.sql"))?.exists((
        claim.event.seq,
        &*claim.route,
        claim.token.as_bytes(),
    ))
}

/// Makes the next task of a lane its head, if it has no other.
pub(super) fn pass_lane(session: &Session, lane_id: [u8; 16]) -> rusqlite::Result<()> {
    if session.execute(include_str!("pass_lane.sql"), params![session.now(), lane_id])? > 0 {
        session.note_due();
    }
    Ok(())
}

fn write_attempt(
    session: &Session,
    claim: &Claim,
    outcome: &str,
    error: Option<&str>,
) -> rusqlite::Result<usize> {
    let (seq, token) = (claim.event.seq, claim.token.as_bytes());
    session.execute(
        include_str!("finish_attempt.sql"),
        params![session.now(), outcome, error, seq, &*claim.route, token],
    )
}

fn held(changed: usize) -> Result<(), StoreError> {
    if changed == 1 { Ok(()) } else { Err(StoreError::Lost) }
}

/// `text` up to `limit` bytes, cut between characters.
fn shortened(text: &str, limit: usize) -> &str {
    let end = (0..=limit.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or_default()]
}
