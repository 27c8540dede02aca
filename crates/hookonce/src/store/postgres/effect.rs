//! A caller's own code in one transaction with the completion of its task.

use std::time::Duration;

use tokio_postgres::Transaction;
use tokio_postgres::types::Type;

use super::PostgresStore;
use super::error::{Failed, Tries};
use super::fate::{self, Number};
use super::finish::{self, Ending};
use super::pool::{Pool, Typed};
use super::rows;
use super::statement::refused;
use crate::store::StoreError;
use crate::task::{Claim, Outcome};

/// How long one of the connections is waited for that callers' own code may have.
const WAIT: Duration = Duration::from_secs(30);

impl PostgresStore {
    /// Runs `effect` in one transaction with the completion of the claimed task: whatever it writes
    /// and the completion happen together or not at all. A step that did this returns
    /// [`Done::Task`](crate::step::Done::Task).
    ///
    /// Keep it short: it has one of the store's few connections, of which all but three may be used so
    /// at once. It runs once; what it does outside
    /// the database is not undone with it. It ends by the `?` of `tokio_postgres`, or with a
    /// [`StoreError::Statement`] of its own.
    ///
    /// Fails with [`StoreError::Lost`], without running `effect`, where the claim is lost: return, for
    /// nothing more can be written. Every other error has left nothing behind; [`Failure::of_store`](crate::step::Failure::of_store) says what it means
    /// for the task.
    ///
    /// ```no_run
    /// use std::sync::Arc;
    ///
    /// use hookonce::async_trait;
    /// use hookonce::step::{Done, Failure, Step, StepContext};
    /// use hookonce::store::postgres::{PostgresStore, tokio_postgres::Transaction};
    ///
    /// #[derive(Debug)]
    /// struct Book {
    ///     store: Arc<PostgresStore>,
    /// }
    ///
    /// #[async_trait]
    /// impl Step for Book {
    ///     async fn run(&self, context: &StepContext<'_>) -> Result<Done, Failure> {
    ///         let key = context.idempotency_key();
    ///         let book = async |transaction: &Transaction<'_>| {
    ///             transaction.execute("insert into orders (key) values ($1)", &[&key]).await?;
    ///             Ok(())
    ///         };
    ///         self.store.finish_in(context.claim, book).await.map_err(Failure::of_store)?;
    ///         Ok(Done::Task)
    ///     }
    /// }
    /// ```
    pub async fn finish_in<F>(&self, claim: &Claim, effect: F) -> Result<(), StoreError>
    where
        F: AsyncFnOnce(&Transaction<'_>) -> Result<(), StoreError>,
    {
        finish_in(&self.pool, claim, effect).await?;
        if claim.event.lane.is_some() {
            self.due.notify_one();
        }
        Ok(())
    }
}

async fn finish_in<F>(pool: &Pool, claim: &Claim, effect: F) -> Result<(), StoreError>
where
    F: AsyncFnOnce(&Transaction<'_>) -> Result<(), StoreError>,
{
    let mut connection = pool.for_users(WAIT).await?;
    let (seq, route, token) = (claim.event.seq, &*claim.route, rows::token(claim.token));
    let parameters: [Typed<'_>; 3] =
        [(&seq, Type::INT8), (&route, Type::TEXT), (&token, Type::UUID)];
    let mut tries = Tries::default();
    let (transaction, number) = loop {
        let transaction = connection.transaction().await?;
        let held = transaction.query_typed(include_str!("holds.sql"), &parameters).await;
        match held.map_err(Failed::from) {
            Ok(held) => break (transaction, Number::of(held.first().ok_or(StoreError::Lost)?)?),
            Err(failed) if failed.is_a_lock() && tries.next().await => {
                transaction.rollback().await.map_err(Failed::from)?;
            }
            Err(failed) => return Err(failed.into()),
        }
    };
    effect(&transaction).await?;
    let ending = Ending::new(claim, &Outcome::Completed);
    finish::finish(&[&ending], &*transaction).await?;
    // A constraint may be checked only here.
    let committed = fate::commit(pool, transaction, &number).await;
    Ok(committed.map_err(|failed| match failed {
        Failed::Database(error) => refused(error),
        failed => failed,
    })?)
}

impl From<tokio_postgres::Error> for StoreError {
    /// What an error means of a caller's own statement that shares a transaction with a finish.
    fn from(error: tokio_postgres::Error) -> Self {
        refused(error).into()
    }
}
