//! The functions that a worker in any language calls, those that they need, and who may call them. One
//! file a function; a migration is made of them. What the store itself calls lies beside them, in the
//! migration before.

use tokio_postgres::error::SqlState;

use super::error::{Failed, again};
use super::pool::{Pool, Transaction};
use crate::store::StoreError;

/// The migration that makes them.
pub(super) const MIGRATION: [&str; 34] = [
    include_str!("functions/receive.sql"),
    include_str!("functions/claim.sql"),
    include_str!("functions/extend.sql"),
    include_str!("functions/release.sql"),
    include_str!("functions/record_step.sql"),
    include_str!("functions/finish.sql"),
    include_str!("functions/retry.sql"),
    include_str!("functions/bury.sql"),
    include_str!("functions/new_event.sql"),
    include_str!("functions/store_event.sql"),
    include_str!("functions/note_arrival.sql"),
    include_str!("functions/assign.sql"),
    include_str!("functions/event_id.sql"),
    include_str!("functions/plain_text.sql"),
    include_str!("functions/kind_of.sql"),
    include_str!("functions/glob_matches.sql"),
    include_str!("functions/lane_id.sql"),
    include_str!("functions/reap.sql"),
    include_str!("functions/take.sql"),
    include_str!("functions/candidates.sql"),
    include_str!("functions/trim_wakes.sql"),
    include_str!("functions/repair.sql"),
    include_str!("functions/json_of.sql"),
    include_str!("functions/held.sql"),
    include_str!("functions/end_attempt.sql"),
    include_str!("functions/fail_attempt.sql"),
    include_str!("functions/retry_after.sql"),
    include_str!("functions/forget_begun.sql"),
    include_str!("functions/error_text.sql"),
    include_str!("functions/expect.sql"),
    include_str!("functions/expect_claim.sql"),
    include_str!("functions/expect_lease.sql"),
    include_str!("functions/revoke.sql"),
    include_str!("migrations/0002_comments.sql"),
];

/// What makes the role of workers and lets it call them; whoever may make roles can run it.
const GRANT: &str = include_str!("functions/grant.sql");

/// Makes the role of workers and grants it the functions, if this user may.
pub(super) async fn grant(transaction: &mut Transaction<'_>) -> Result<(), Failed> {
    let attempt = transaction.transaction().await?;
    match attempt.batch_execute(GRANT).await {
        Ok(()) => Ok(attempt.commit().await?),
        Err(error) if error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE) => {
            Ok(attempt.rollback().await?)
        }
        Err(error) => Err(error.into()),
    }
}

/// What a person has to run who may, before workers can call the functions; `None` where they can.
pub(super) async fn ungranted(pool: &Pool) -> Result<Option<&'static str>, StoreError> {
    again!({
        let found = pool.query(include_str!("functions/granted.sql"), &[]).await?;
        let is_granted = found.first().map_or(Ok(false), |row| row.try_get(0))?;
        Ok((!is_granted).then_some(GRANT))
    })
}
