//! EFFECT: an effect and the record of it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use hookonce::step::{Done, Failure, Step, StepContext};
use hookonce::store::sqlite::SqliteStore;

use crate::bed::{Bed, LEASE, new, task_id};
use crate::working::{Sql, janitor, route, told, until, work, worker};

const HOUR: Duration = Duration::from_secs(3600);
const BOOK: &str = "insert into ledger values (:id)";

/// What the completion of a task writes.
const COMPLETION: [&str; 3] = [
    "insert on hookonce_attempts when new.outcome = 'completed'",
    "update on hookonce_tasks when new.state = 'completed'",
    "insert on hookonce_minutes when new.what = 'completed'",
];
/// What the record of a step writes.
const RECORD: &str = "insert on hookonce_steps";
/// What the effect writes: a row of the user's, to which a trigger of theirs adds another.
const EFFECT: [&str; 2] = ["insert on ledger", "insert on outbox"];

/// Books by code of its own.
#[derive(Debug)]
struct Books(Arc<SqliteStore>);

#[async_trait]
impl Step for Books {
    async fn run(&self, context: &StepContext<'_>) -> Result<Done, Failure> {
        let id = context.claim.event.id.to_string();
        let book = move |transaction: &rusqlite::Connection| {
            transaction.execute("insert into ledger values (?1)", [&id]).map(drop)
        };
        self.0.finish_in(context.claim, book).await.map_err(Failure::of_store)?;
        Ok(Done::Task)
    }
}

/// A bed with an event, in which one write is refused.
async fn refusing(write: &str) -> (Bed, Arc<SqliteStore>, tempfile::TempDir) {
    let (bed, store, dir) = Bed::sqlite_itself();
    bed.sql.run(
        "create table ledger (id text);
         create table outbox (id text);
         create trigger notify after insert on ledger begin
           insert into outbox values (new.id);
         end",
    );
    let refuse = "begin select raise(abort, 'no room for it'); end";
    bed.sql.run(&format!("create trigger refuse before {write} {refuse}"));
    bed.insert([new("a")]).await;
    (bed, store, dir)
}

/// Rows of the effect, its step's record, and the completion.
fn written(bed: &Bed) -> [i64; 5] {
    let completed = ["hookonce_attempts where outcome", "hookonce_tasks where state"]
        .map(|of| bed.sql.count(&format!("{of} = 'completed'")));
    let [ledger, outbox, steps] =
        ["ledger", "outbox", "hookonce_steps"].map(|table| bed.sql.count(table));
    [ledger, outbox, steps, completed[0], completed[1]]
}

/// Makes attempts while the write is refused: they leave nothing. Then the rest of them.
async fn all_or_nothing(bed: &Bed, write: &str, steps: Vec<(&str, Arc<dyn Step>)>) {
    let worker = worker(bed, route(steps));
    for _ in 0..2 {
        assert_eq!(worker.turn().await, 1, "{write}");
        assert_eq!(written(bed), [0; 5], "{write}");
        if EFFECT.contains(&write) {
            // The user's own tables say that the data can't be taken.
            assert_eq!(bed.task("a").await.0, "dead", "{write}");
            bed.store.replay(&[task_id("a")]).await.unwrap();
        }
        bed.clock.advance(HOUR);
    }
    bed.sql.run("drop trigger refuse");
    work(bed, &worker).await;
}

/// Wherever the one transaction of effect and completion is refused, all of it is, and only what the
/// user's tables refuse is the data's fault. Counts are part of it: totals are exact.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn effect_04_an_effect_and_its_completion_are_there_both_or_neither() {
    for write in COMPLETION.into_iter().chain(EFFECT) {
        let (bed, _, _dir) = refusing(write).await;
        all_or_nothing(&bed, write, vec![("sql", Arc::new(Sql(BOOK)))]).await;
        assert_eq!(written(&bed), [1, 1, 0, 1, 1], "{write}");

        let (bed, store, _dir) = refusing(write).await;
        all_or_nothing(&bed, write, vec![("code", Arc::new(Books(store)))]).await;
        assert_eq!(written(&bed), [1, 1, 0, 1, 1], "{write}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn effect_04_an_effect_and_the_record_of_its_step_are_there_both_or_neither() {
    let log = Arc::<Mutex<Vec<String>>>::default();
    for write in EFFECT.into_iter().chain([RECORD]) {
        let (bed, _, _dir) = refusing(write).await;
        let steps = vec![("sql", Arc::new(Sql(BOOK)) as _), ("s", told(&log, |_| Ok(())))];
        all_or_nothing(&bed, write, steps).await;
        assert_eq!(written(&bed), [1, 1, 1, 1, 1], "{write}");
    }
    assert_eq!(log.lock().unwrap().len(), 3, "the step behind it never runs before it");
}

/// The effect stands with its step's record while the completion is refused; whoever has the task
/// then completes it, and has nothing to repeat.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn effect_04_an_effect_on_record_outlives_a_completion_that_is_refused() {
    for write in COMPLETION {
        let log = Arc::<Mutex<Vec<String>>>::default();
        let (bed, _, _dir) = refusing(write).await;
        let steps = vec![("sql", Arc::new(Sql(BOOK)) as _), ("s", told(&log, |_| Ok(())))];
        let worker = worker(&bed, route(steps));
        // It tries again to write the end, until it is killed.
        tokio::select! {
            _ = worker.turn() => panic!("{write}: the end was written"),
            () = until(async || !log.lock().unwrap().is_empty()) => {}
        }
        // What it has asked for last is refused as well.
        bed.store.ready().await.unwrap();
        assert_eq!(written(&bed), [1, 1, 1, 0, 0], "{write}");
        bed.sql.run("drop trigger refuse");
        bed.clock.advance(LEASE);
        assert_eq!(janitor(&bed).reap().await.unwrap(), 1, "{write}");
        work(&bed, &worker).await;
        assert_eq!(written(&bed), [1, 1, 1, 1, 1], "{write}");
    }
}
