//! After a claim nothing is written without its token.

use std::time::Duration;

use hookonce::store::{Release, StoreError};
use hookonce::task::{DeadLane, Outcome, State, StepState, Token};

use crate::bed::{Bed, LEASE, new, store_test};

store_test!(a_finished_task_is_completed_with_its_history and pgbouncer, |bed: Bed| async move {
    bed.insert([new("a")]).await;
    let claim = bed.claim_one().await;
    bed.clock.advance(Duration::from_secs(2));
    bed.store.finish(&claim, &Outcome::Completed).await.unwrap();
    let a = bed.get("a").await;
    assert_eq!(a.summary.state, "completed");
    assert_eq!(a.summary.tasks[0].finished_at, Some(bed.clock.now()));
    let attempt = &a.attempts[0];
    assert_eq!((attempt.attempt, attempt.outcome.as_str()), (1, "completed"));
    assert_eq!(attempt.ended_at.duration_since(attempt.started_at).as_secs(), 2);
    assert_eq!(attempt.worker, "tester");
});

store_test!(an_ended_lease_that_nobody_took_over_still_finishes, |bed: Bed| async move {
    bed.insert([new("a")]).await;
    let claim = bed.claim_one().await;
    bed.clock.advance(LEASE * 2);
    bed.store.finish(&claim, &Outcome::Completed).await.unwrap();
    assert_eq!(bed.task("a").await.0, "completed");
});

store_test!(
    /// Fails when `token = :token` is taken out of any of the files named in it.
    a_lost_claim_writes_nothing and pgbouncer,
    |bed: Bed| async move {
        bed.make_ledger();
        bed.insert([new("a")]).await;
        let lost = bed.claim_one().await;
        bed.clock.advance(LEASE);
        let holder = bed.store.reap(Token::draw(), LEASE, 10).await.unwrap().remove(0);
        let before = format!("{:?}", bed.get("a").await);

        let dead = Outcome::Dead { error: "e".to_owned(), lane: DeadLane::Pass };
        let retry = Outcome::Retry { after: Duration::ZERO, error: "e".to_owned() };
        let writes = [
            bed.store.extend(&lost, LEASE).await, // extend.sql
            bed.store.finish(&lost, &Outcome::Completed).await, // finish.sql, finish_attempt.sql
            bed.store.finish(&lost, &dead).await,
            bed.store.finish(&lost, &retry).await,
            bed.store.release(&lost, Release::at_once()).await, // release.sql
            bed.store.release(&lost, Release::NotYet { after: LEASE, error: "e".to_owned() }).await,
            bed.store.record_step(&lost, "s", StepState::Done, None).await, // record_step.sql
        ];
        let effects = bed.effects_of(&lost).await; // holds.sql
        for written in writes.into_iter().chain(effects) {
            assert!(matches!(written, Err(StoreError::Lost)), "{written:?}");
        }
        assert_eq!(before, format!("{:?}", bed.get("a").await));
        assert_eq!(bed.ledger(), 0);
        bed.store.finish(&holder, &Outcome::Completed).await.unwrap();
        assert!(matches!(
            bed.store.finish(&holder, &Outcome::Completed).await,
            Err(StoreError::Lost)
        ));
    }
);

store_test!(a_step_that_is_done_is_known_to_the_next_attempt and pgbouncer, |bed: Bed| async move {
    bed.insert([new("a")]).await;
    let claim = bed.claim_one().await;
    assert!(claim.steps.is_empty());
    bed.store.record_step(&claim, "one", StepState::Begun, None).await.unwrap();
    bed.store.record_step(&claim, "one", StepState::Done, Some("42")).await.unwrap();
    bed.store.record_step(&claim, "two", StepState::Begun, None).await.unwrap();
    let retry = Outcome::Retry { after: Duration::ZERO, error: "e".to_owned() };
    bed.store.finish(&claim, &retry).await.unwrap();
    let claim = bed.claim_one().await;
    assert_eq!(claim.steps["one"], (StepState::Done, Some("42".to_owned())));
    // Whoever says that it failed knows what became of what was begun.
    assert!(!claim.steps.contains_key("two"));

    bed.store.record_step(&claim, "two", StepState::Begun, None).await.unwrap();
    bed.clock.advance(LEASE);
    let lapsed = bed.store.reap(Token::draw(), LEASE, 9).await.unwrap().remove(0);
    bed.store.finish(&lapsed, &retry).await.unwrap();
    // After a lapse nobody does.
    assert_eq!(bed.claim_one().await.steps["two"], (StepState::Begun, None));
});

store_test!(a_claim_given_back_counts_no_attempt and pgbouncer, |bed: Bed| async move {
    bed.insert([new("a").lane("l"), new("b").lane("l")]).await;
    let claim = bed.claim_one().await;
    bed.store.release(&claim, Release::at_once()).await.unwrap();
    assert_eq!(bed.task("a").await, ("pending", 0, 1));
    assert!(bed.get("a").await.attempts.is_empty());

    let claim = bed.claim_one().await;
    assert_eq!((claim.event.key.as_str(), claim.attempt, claim.epoch), ("a", 1, 2));
    let not_yet = Release::NotYet { after: Duration::from_secs(10), error: "too early".to_owned() };
    bed.store.release(&claim, not_yet).await.unwrap();
    let attempt = bed.get("a").await.attempts.remove(0);
    assert_eq!(
        (attempt.outcome.as_str(), attempt.error.as_deref()),
        ("released", Some("too early"))
    );
    assert!(bed.claim(10).await.is_empty());
    bed.clock.advance(Duration::from_secs(10));
    assert_eq!(bed.claim_one().await.attempt, 1);
});

store_test!(a_long_error_is_cut_between_characters, |bed: Bed| async move {
    bed.insert([new("a")]).await;
    let claim = bed.claim_one().await;
    let retry = Outcome::Retry { after: Duration::ZERO, error: "é".repeat(5000) };
    bed.store.finish(&claim, &retry).await.unwrap();
    let error = bed.get("a").await.summary.tasks[0].error.clone().unwrap();
    assert!(error.len() <= hookonce::store::ERROR_LIMIT && error.chars().all(|c| c == 'é'));
});

store_test!(
    what_was_not_begun_is_given_back_with_its_reason_and_no_attempt,
    |bed: Bed| async move {
        bed.insert([new("a")]).await;
        let claim = bed.claim_one().await;
        let after = Duration::from_secs(5);
        let error = Some("sink `ledger` is down".to_owned());
        bed.store.release(&claim, Release::Unstarted { after, error }).await.unwrap();
        let details = bed.get("a").await;
        assert!(details.attempts.is_empty());
        let task = &details.summary.tasks[0];
        assert_eq!(task.error.as_deref(), Some("sink `ledger` is down"));
        assert_eq!((task.state, task.attempt, task.epoch), (State::Pending, 0, 1));
        assert_eq!(task.due_at, Some(bed.clock.now() + after));
        // Nothing to say says nothing, and takes back nothing.
        bed.clock.advance(after);
        let claim = bed.claim_one().await;
        bed.store.release(&claim, Release::at_once()).await.unwrap();
        let task = bed.get("a").await.summary.tasks.remove(0);
        assert_eq!(task.error.as_deref(), Some("sink `ledger` is down"));
        assert_eq!((task.due_at, task.epoch), (Some(bed.clock.now()), 2));
    }
);

store_test!(
    of_an_attempt_that_is_given_back_again_and_again_the_last_time_is_kept,
    |bed: Bed| async move {
        bed.insert([new("a")]).await;
        let before = bed.store.progress(&[crate::bed::id("a")]).await.unwrap()[0].failures;
        let mut failures = vec![before];
        for n in 0..5 {
            let claim = bed.claim_one().await;
            let not_yet = Release::NotYet { after: Duration::ZERO, error: format!("{n}") };
            bed.store.release(&claim, not_yet).await.unwrap();
            failures.push(bed.store.progress(&[crate::bed::id("a")]).await.unwrap()[0].failures);
        }
        let attempts = bed.get("a").await.attempts;
        assert_eq!((attempts.len(), attempts[0].error.as_deref()), (1, Some("4")));
        // Whoever waits for the task is told of each.
        assert!(failures.windows(2).all(|two| two[0] < two[1]), "{failures:?}");
    }
);
