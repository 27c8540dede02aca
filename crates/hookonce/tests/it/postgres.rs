//! What is PostgreSQL's alone: how a store reaches its server, and what it does while it can't.

mod away;
mod beginnings;
mod bouncer;
mod breaking;
mod horizon;
mod locked;
mod plans;
mod pool;
mod tls;
mod versions;
mod waking;

use std::future::Future;
use std::time::Duration;

use hookonce::event::NewEvent;
use hookonce::store::StoreError;
use hookonce::store::postgres::{PostgresOptions, PostgresStore};

use crate::bed::postgres::Database;
use crate::bed::{TestClock, new};

async fn open(database: &Database) -> PostgresStore {
    PostgresStore::open(PostgresOptions::new(&database.url)).await.unwrap()
}

fn event(key: &str) -> NewEvent {
    new(key).at(TestClock::new().now())
}

fn message<T: std::fmt::Debug>(result: Result<T, StoreError>) -> String {
    match result {
        Err(StoreError::Unavailable { message, .. } | StoreError::Refused(message)) => message,
        other => panic!("{other:?}"),
    }
}

/// What is done soon, or the test fails.
async fn soon<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(5), work).await.expect("it is done soon")
}
