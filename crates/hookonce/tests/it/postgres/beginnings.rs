//! What a user's statement may begin with.

use hookonce::store::{StepDone, Store as _, StoreError};

use super::{event, open};
use crate::bed::postgres::Database;
use crate::bed::{order, statement};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_statement_that_would_leave_its_transaction_is_refused() {
    let database = Database::make();
    let store = open(&database).await;
    store.insert(vec![event("a")]).await.unwrap();
    let claim = store.claim(order(1)).await.unwrap().remove(0);
    for sql in [
        "; commit",
        "-- note\nrollback",
        "/* note */ begin",
        "copy hookonce.events to stdout",
        "vacuum",
        "prepare transaction 'x'",
        "",
    ] {
        let refused = |result| match result {
            Err(StoreError::Statement { permanent: true, message }) => {
                assert!(message.contains("a statement begins with"), "{sql}: {message}");
            }
            other => panic!("{sql}: {other:?}"),
        };
        refused(store.check(sql, &[]).await);
        refused(store.finish_with(&claim, StepDone::Task, statement(&claim, sql)).await);
    }
    let select = "\n-- note\nSelect 1";
    store.check(select, &[]).await.unwrap();
    store.finish_with(&claim, StepDone::Task, statement(&claim, select)).await.unwrap();
}
