//! An SQL effect and the record of its step are one transaction.

use futures_util::future::join_all;
use hookonce::store::{StepDone, StoreError};
use hookonce::task::StepState;

use crate::bed::{Bed, new, sql_test, sqlite_test, statement};

fn is_refused(result: &Result<(), StoreError>, expect_permanent: bool) -> bool {
    matches!(result, Err(StoreError::Statement { permanent, .. }) if *permanent == expect_permanent)
}

sql_test!(effect_and_completion_are_one_transaction and pgbouncer, |bed: Bed| async move {
    bed.sql.run("create table ledger (id text primary key)");
    bed.insert([new("a")]).await;
    let claim = bed.claim_one().await;
    let insert = statement(&claim, "insert into ledger values (:id)");
    bed.store.finish_with(&claim, StepDone::Task, insert).await.unwrap();
    assert_eq!(bed.task("a").await.0, "completed");
    assert_eq!(bed.sql.text("select id from ledger"), claim.event.id.to_string());
});

sql_test!(effect_and_the_record_of_its_step_are_one_transaction and pgbouncer, |bed: Bed| async move {
    bed.sql.run("create table ledger (id text primary key)");
    bed.insert([new("a")]).await;
    let claim = bed.claim_one().await;
    let insert = statement(&claim, "insert into ledger values (:id)");
    bed.store.finish_with(&claim, StepDone::Step("ledger"), insert).await.unwrap();
    assert_eq!(bed.task("a").await.0, "claimed");
    assert_eq!(bed.get("a").await.steps[0].state, StepState::Done);
});

sql_test!(a_statement_that_fails_leaves_nothing_behind and pgbouncer, |bed: Bed| async move {
    bed.sql.run_either(
        "create table ledger (id text primary key, n integer check (n > 0));
         create table log (id text);
         create trigger t before insert on ledger begin insert into log values (new.id); end",
        "create table ledger (id text primary key, n integer check (n > 0));
         create table log (id text);
         create function t() returns trigger language plpgsql
           as 'begin insert into log values (new.id); return new; end';
         create trigger t before insert on ledger for each row execute function t()",
    );
    bed.insert([new("a")]).await;
    let claim = bed.claim_one().await;
    let run = |sql: &str| bed.store.finish_with(&claim, StepDone::Task, statement(&claim, sql));
    assert!(is_refused(&run("insert into ledger values (:id, 0)").await, true));
    assert!(is_refused(&run("insert into nowhere values (:id)").await, false));
    assert_eq!((bed.sql.count("ledger"), bed.sql.count("log")), (0, 0));
    assert_eq!(bed.task("a").await, ("claimed", 1, 1));
});

sql_test!(
    /// Fails when the look at `is_autocommit` is taken out of the writer: a neighbour's effect is
    /// then told as committed although it was rolled back.
    what_one_statement_breaks_is_its_own and pgbouncer,
    |bed: Bed| async move {
        bed.sql.run(
            "create table ledger (id text primary key);
             create table parents (id text primary key);
             create table children (
               id text references parents (id) deferrable initially deferred
             );
             insert into ledger values ('taken')",
        );
        for n in 0..30 {
            bed.insert([new(&format!("k{n}"))]).await;
        }
        let claims = bed.claim(30).await;
        let runs = claims.iter().enumerate().map(|(n, claim)| {
            let sql = match n % 5 {
                3 => "insert or rollback into ledger values (iif(:id is null, '', 'taken'))",
                4 => "insert into children values (:id)",
                _ => "insert into ledger values (:id)",
            };
            bed.store.finish_with(claim, StepDone::Task, statement(claim, sql))
        });
        for (n, result) in join_all(runs).await.into_iter().enumerate() {
            assert_eq!(result.is_ok(), n % 5 < 3, "{n}: {result:?}");
            let state = bed.task(&format!("k{n}")).await.0;
            assert_eq!(state, if n % 5 < 3 { "completed" } else { "claimed" });
        }
        assert_eq!(bed.sql.count("ledger"), 1 + 18);
        assert_eq!(bed.sql.count("children"), 0);
    }
);

sqlite_test!(a_statement_may_not_touch_what_holds_its_claim, |bed: Bed| async move {
    bed.sql.run("create table ledger (id text)");
    bed.insert([new("a")]).await;
    let claim = bed.claim_one().await;
    for sql in [
        "commit",
        "rollback",
        "savepoint s",
        "release one",
        "attach ':memory:' as other",
        "pragma synchronous = off",
        "delete from hookonce_events where :id is not null",
        "update hookonce_tasks set state = 'dead'",
        "UPDATE HookOnce_Tasks set state = 'dead'",
        "drop index hookonce_events_id",
        "create trigger t before insert on hookonce_tasks begin select raise(ignore); end",
        "create temp trigger t before insert on hookonce_tasks begin select raise(ignore); end",
        "create table hookonce_mine (id text)",
        "alter table ledger add column more text",
        "vacuum",
        "select load_extension('x')",
    ] {
        let result = bed.store.finish_with(&claim, StepDone::Task, statement(&claim, sql)).await;
        assert!(is_refused(&result, false), "{sql}: {result:?}");
    }
    assert_eq!(bed.task("a").await, ("claimed", 1, 1));
    // It may look.
    let look = "insert into ledger select key from hookonce_events where :id is not null";
    bed.store.finish_with(&claim, StepDone::Task, statement(&claim, look)).await.unwrap();
    assert_eq!(bed.sql.text("select id from ledger"), "a");
});

sqlite_test!(a_statement_that_takes_too_long_is_cut_off_alone, |bed: Bed| async move {
    bed.sql.run("create table ledger (id text)");
    bed.insert([new("slow"), new("quick")]).await;
    let claims = bed.claim(2).await;
    let endless = "insert into ledger with recursive n (i) as (
        select 1 union all select i + 1 from n
      ) select :id from n";
    let (slow, quick) = tokio::join!(
        bed.store.finish_with(&claims[0], StepDone::Task, statement(&claims[0], endless)),
        bed.store.finish_with(
            &claims[1],
            StepDone::Task,
            statement(&claims[1], "insert into ledger values (:id)")
        ),
    );
    assert!(is_refused(&slow, false), "{slow:?}");
    quick.unwrap();
    assert_eq!(bed.sql.count("ledger"), 1);
    // The store is as usable as before.
    bed.insert([new("later")]).await;
});

sqlite_test!(a_statement_is_checked_without_being_run, |bed: Bed| async move {
    bed.sql.run("create table ledger (id text)");
    let check = |sql: &'static str| async { bed.store.check(sql, &["id", "key"]).await };
    check("insert into ledger values (:id)").await.unwrap();
    for (sql, says) in [
        ("insert into leger values (:id)", "no such table: leger"),
        ("insert into ledger values (:id, 1)", "2 values"),
        ("insert into ledger values (:ident)", "no parameter `:ident`"),
        ("insert into ledger values (?)", "no parameter"),
        ("insert into ledger values (:id); select 1", "more than one statement"),
        ("begin", "may not begin or end a transaction"),
        ("drop index hookonce_events_id", "may not begin or end a transaction, change tables"),
    ] {
        let error = check(sql).await.unwrap_err().to_string();
        assert!(error.contains(says), "{sql}: {error}");
    }
    assert_eq!(bed.sql.count("ledger"), 0);
});
