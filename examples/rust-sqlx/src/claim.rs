//! The SQL functions of hookonce, as this worker calls them.

use std::time::Duration;

use serde_json::Value;
use sqlx::postgres::PgDatabaseError;
use sqlx::types::Uuid;
use sqlx::{PgConnection, PgPool};

/// The right to handle one event for one route, until the lease ends.
#[derive(Debug)]
pub struct Claim {
    pub id: Uuid,
    pub route: String,
    token: Uuid,
    /// The sender's own webhook, with this one event.
    pub payload: String,
    /// What earlier attempts have done, by name.
    steps: Value,
    lease: Duration,
}

impl Claim {
    /// Claims what is due first. Committed by itself, so that the attempt is counted even if this process
    /// dies.
    pub async fn next(
        pool: &PgPool,
        worker: &str,
        routes: &[String],
        lease: Duration,
    ) -> sqlx::Result<Option<Self>> {
        let due = sqlx::query_as::<_, (Uuid, String, Uuid, String, Value)>(
            "select id, route, token, payload, steps
             from hookonce.claim($1, $2, make_interval(secs => $3), 1)",
        );
        let due = due.bind(worker).bind(routes).bind(lease.as_secs_f64());
        let claim =
            |(id, route, token, payload, steps)| Self { id, route, token, payload, steps, lease };
        Ok(due.fetch_optional(pool).await?.map(claim))
    }

    /// Whether an earlier attempt has done this step.
    pub fn has_done(&self, step: &str) -> bool {
        self.steps.get(step).is_some()
    }

    /// Remembers that a step is done; in the transaction of its effect.
    pub async fn record_step(&self, tx: &mut PgConnection, name: &str) -> sqlx::Result<()> {
        let record = sqlx::query("select hookonce.record_step($1, $2, $3, $4, null)");
        let record = record.bind(self.id).bind(&self.route).bind(self.token).bind(name);
        record.execute(tx).await.map(drop)
    }

    /// Completes the task; in the transaction of the last effect.
    pub async fn finish(&self, tx: &mut PgConnection) -> sqlx::Result<()> {
        let finish = sqlx::query("select hookonce.finish($1, $2, $3)");
        finish.bind(self.id).bind(&self.route).bind(self.token).execute(tx).await.map(drop)
    }

    /// Gives the task up for this time: it is due again by the route's policy, or dead.
    pub async fn retry(&self, pool: &PgPool, error: &str) -> sqlx::Result<()> {
        let retry = sqlx::query("select hookonce.retry($1, $2, $3, $4)");
        let retry = retry.bind(self.id).bind(&self.route).bind(self.token).bind(error);
        retry.execute(pool).await.map(drop)
    }

    /// Does what takes long, and lets the lease end later every third of it. Where the claim is lost
    /// it fails, and the work is dropped.
    pub async fn keep<T>(&self, pool: &PgPool, work: impl Future<Output = T>) -> sqlx::Result<T> {
        self.extend(pool).await?;
        let extending = async {
            loop {
                tokio::time::sleep(self.lease / 3).await;
                if let Err(error) = self.extend(pool).await {
                    return error;
                }
            }
        };
        tokio::select! {
            done = work => Ok(done),
            error = extending => Err(error),
        }
    }

    async fn extend(&self, pool: &PgPool) -> sqlx::Result<()> {
        let extend = sqlx::query("select hookonce.extend($1, $2, $3, make_interval(secs => $4))");
        let extend = extend.bind(self.id).bind(&self.route).bind(self.token);
        extend.bind(self.lease.as_secs_f64()).execute(pool).await.map(drop)
    }
}

/// Whether another has the task now, or it has ended: nothing is wrong, and nothing was written.
pub fn is_lost(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(|error| error.code().as_deref() == Some("HK001"))
}

/// What to do about an error, where the database says so.
pub fn hint(error: &sqlx::Error) -> Option<&str> {
    let error = error.as_database_error().map(|error| error.try_downcast_ref::<PgDatabaseError>());
    error.flatten().and_then(PgDatabaseError::hint)
}
