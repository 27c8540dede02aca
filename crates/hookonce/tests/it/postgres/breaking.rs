//! Answers that are lost on the way, or don't come.

use std::time::Duration;

use hookonce::store::postgres::{PostgresOptions, PostgresStore};
use hookonce::store::{Arrival, AuditEntry, Moved, Release, StepDone, Store, StoreError};
use hookonce::task::{Claim, DeadLane, NewTask, Outcome, StepState, Token};

use super::{event, open, soon};
use crate::bed::postgres::{Connection, Database};
use crate::bed::proxy::Proxy;
use crate::bed::{LEASE, id, order, statement, task_id};

/// How many answers one call may need, and more.
const ANSWERS: isize = 14;

/// A store behind a proxy, and one that isn't, of the same database.
struct Broken {
    store: PostgresStore,
    sure: PostgresStore,
    proxy: Proxy,
    sql: Connection,
    _database: Database,
}

impl Broken {
    async fn make() -> Self {
        let database = Database::make();
        let (server, name) =
            database.url.strip_prefix("postgres://postgres@").unwrap().split_once('/').unwrap();
        let proxy = Proxy::start(server.to_owned()).await;
        let url = format!("postgres://postgres@127.0.0.1:{}/{name}?sslmode=disable", proxy.port);
        let listen_url = Some(database.url.clone());
        let options = PostgresOptions { listen_url, ..PostgresOptions::new(url) };
        let store = PostgresStore::open(options).await.unwrap();
        let (sure, sql) = (open(&database).await, Connection::open(&database.url));
        Self { store, sure, proxy, sql, _database: database }
    }

    /// Does something with the first answer lost, then the second, and so on.
    async fn each(&self, work: impl AsyncFn(&str)) {
        let mut lost = 0;
        for n in 0..ANSWERS {
            self.proxy.lose_after(n);
            work(&format!("k{n}")).await;
            lost += usize::from(self.proxy.has_lost());
            self.proxy.lose_after(-1);
        }
        assert!(lost > 0, "no answer was lost");
    }

    /// Stores an event and claims its task; whatever answers are lost is not of this.
    async fn claim(&self, key: &str) -> Claim {
        self.sure.insert(vec![event(key)]).await.unwrap();
        self.sure.claim(order(1)).await.unwrap().remove(0)
    }

    async fn finished(&self, key: &str, outcome: &Outcome) -> Claim {
        let claim = self.claim(key).await;
        self.sure.finish(&claim, outcome).await.unwrap();
        claim
    }

    fn text(&self, sql: &str) -> String {
        self.sql.texts(sql).remove(0)
    }

    /// State, attempt and epoch of a task.
    fn task(&self, key: &str) -> String {
        self.text(&format!(
            "select concat_ws(' ', state, attempt, epoch) from hookonce.tasks \
             where event_id = '{}'",
            id(key)
        ))
    }
}

/// Fails when an error keeps the driver's, whose details show the row, or what a message quotes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_error_shows_what_an_event_says() {
    let database = Database::make();
    let store = open(&database).await;
    let sql = Connection::open(&database.url);
    sql.run("create table ledger (id text, n integer check (n < 10))");
    store.insert(vec![event("k")]).await.unwrap();
    let claim = store.claim(order(1)).await.unwrap().remove(0);
    for effect in [
        "insert into ledger (n) select x::int from (select 'wamid.\"SECRET' || :id) v (x)",
        "insert into ledger (id) select cast('SECRET' || :id as date)",
        "insert into ledger (id, n) values ('SECRET' || :id, 11)",
    ] {
        let failed = store.finish_with(&claim, StepDone::Task, statement(&claim, effect)).await;
        assert_shows_nothing(&failed.unwrap_err());
    }
    // A check of ours that an event fails, and every event at that.
    sql.run("alter table hookonce.events add check (key <> 'wamid.SECRET')");
    let refused = store.insert(vec![event("wamid.SECRET")]).await.unwrap_err();
    assert_shows_nothing(&refused);
}

fn assert_shows_nothing(error: &StoreError) {
    let mut shown = format!("{error} {error:?}");
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        shown = format!("{shown} {error} {error:?}");
        cause = error.source();
    }
    assert!(!shown.contains("SECRET"), "{shown}");
}

/// Fails when `Pool::for_leases` has one place, or `extend` no limit of time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_is_extended_although_a_connection_is_silent() {
    let broken = Broken::make().await;
    let claim = broken.claim("a").await;
    soon(broken.store.extend(&claim, LEASE)).await.unwrap();
    broken.proxy.keep_after(0);
    soon(broken.store.extend(&claim, LEASE)).await.unwrap();
    assert!(broken.proxy.has_lost());
    soon(broken.store.extend(&claim, LEASE)).await.unwrap();
}

/// Fails when `may_pass` does not count what is `Unreached`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_lets_nobody_in_for_a_moment_refuses_no_event() {
    let broken = Broken::make().await;
    broken.store.counts().await.unwrap();
    broken.proxy.refuse(2);
    broken.proxy.lose_after(0);
    let stored = soon(broken.store.insert(vec![event("a")])).await;
    assert_eq!(stored.unwrap(), [Arrival::New]);
    assert!(broken.proxy.has_lost());
}

/// Fails when `end`, `finish_all` or `Pool::query` has no limit of time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_silent_connection_was_asked_is_asked_on_another() {
    let limit = Duration::from_secs(15);
    let insert = async {
        let broken = Broken::make().await;
        broken.store.counts().await.unwrap();
        // The first words, the insert, the lanes, and the commit, which is done.
        broken.proxy.keep_after(2);
        let stored = tokio::time::timeout(limit, broken.store.insert(vec![event("a")])).await;
        assert_eq!(stored.unwrap().unwrap(), [Arrival::New]);
        assert!(broken.proxy.has_lost());
    };
    let finish = async {
        let broken = Broken::make().await;
        let claim = broken.claim("a").await;
        broken.store.counts().await.unwrap();
        broken.proxy.keep_after(0);
        let done = broken.store.finish(&claim, &Outcome::Completed);
        tokio::time::timeout(limit, done).await.unwrap().unwrap();
        assert!(broken.proxy.has_lost());
        assert_eq!(broken.task("a"), "completed 1 1");
    };
    tokio::join!(insert, finish);
}

fn dead() -> Outcome {
    Outcome::Dead { error: "e".to_owned(), lane: DeadLane::Pass }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_insert_whose_answer_is_lost_is_done_once_and_told_as_it_was() {
    let broken = Broken::make().await;
    broken
        .each(async |key| {
            // One that the server takes, and one that it refuses.
            let mut odd = event(&format!("{key}-odd"));
            odd.payload.push('\0');
            let stored = soon(broken.store.insert(vec![event(key), odd])).await.unwrap();
            assert_eq!(stored, [Arrival::New, Arrival::New], "{key}");
            let copy = soon(broken.store.insert(vec![event(key)])).await.unwrap();
            assert_eq!(copy, [Arrival::Duplicate], "{key}");
        })
        .await;
    let counts = broken.sure.counts().await.unwrap();
    let n = u64::try_from(ANSWERS).unwrap();
    assert_eq!((counts.events, counts.duplicates), (2 * n, n));
    assert_eq!(broken.text("select count(*) from hookonce.tasks"), (2 * n).to_string());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_whose_answer_is_lost_is_given_again() {
    let broken = Broken::make().await;
    broken
        .each(async |key| {
            broken.sure.insert(vec![event(key)]).await.unwrap();
            let claims = soon(broken.store.claim(order(1))).await.unwrap();
            assert_eq!(crate::bed::keys(&claims), [key]);
            assert_eq!(broken.task(key), "claimed 1 1");
            soon(broken.store.extend(&claims[0], LEASE)).await.unwrap();
            let step = broken.store.record_step(&claims[0], "s", StepState::Done, Some("1"));
            soon(step).await.unwrap();
        })
        .await;
    assert_eq!(broken.text("select count(*) from hookonce.steps"), ANSWERS.to_string());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
/// Fails when a repeated finish is not looked up in the history.
async fn a_finish_whose_answer_is_lost_is_told_as_done() {
    let broken = Broken::make().await;
    let retry = Outcome::Retry { after: LEASE, error: "e".to_owned() };
    for (word, outcome, task) in [
        ("a", Outcome::Completed, "completed 1 1"),
        ("b", retry, "pending 1 1"),
        ("c", dead(), "dead 1 1"),
    ] {
        broken
            .each(async |key| {
                let key = &format!("{word}{key}");
                let claim = broken.claim(key).await;
                soon(broken.store.finish(&claim, &outcome)).await.unwrap();
                assert_eq!(broken.task(key), task);
                // It is done, and not again.
                let again = soon(broken.sure.finish(&claim, &outcome)).await;
                assert!(matches!(again, Err(StoreError::Lost)), "{key}: {again:?}");
            })
            .await;
    }
    let attempts = broken.text("select count(*) from hookonce.attempts");
    assert_eq!(attempts, (3 * ANSWERS).to_string());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_release_whose_answer_is_lost_is_told_as_done() {
    let broken = Broken::make().await;
    let not_yet = Release::NotYet { after: LEASE, error: "e".to_owned() };
    let unstarted = Release::Unstarted { after: LEASE, error: None };
    for (word, release) in [("a", unstarted), ("b", not_yet)] {
        broken
            .each(async |key| {
                let key = &format!("{word}{key}");
                let claim = broken.claim(key).await;
                soon(broken.store.release(&claim, release.clone())).await.unwrap();
                assert_eq!(broken.task(key), "pending 0 1");
                let again = soon(broken.sure.release(&claim, release.clone())).await;
                assert!(matches!(again, Err(StoreError::Lost)), "{key}: {again:?}");
            })
            .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
/// Fails when a commit that is not answered is not asked for.
async fn an_effect_whose_answer_is_lost_happens_once() {
    let broken = Broken::make().await;
    broken.sql.run("create table ledger (id text)");
    broken
        .each(async |key| {
            let claim = broken.claim(key).await;
            let effect = || statement(&claim, "insert into ledger values (:id)");
            let step = broken.store.finish_with(&claim, StepDone::Step("s"), effect());
            soon(step).await.unwrap();
            let rows = "select count(*) from ledger where id = ";
            let rows = format!("{rows}'{}'", claim.event.id);
            assert_eq!(broken.text(&rows), "1", "{key}");
        })
        .await;
    broken
        .each(async |key| {
            let claim = broken.claim(&format!("t{key}")).await;
            let effect = statement(&claim, "insert into ledger values (:id)");
            soon(broken.store.finish_with(&claim, StepDone::Task, effect)).await.unwrap();
            assert_eq!(broken.task(&format!("t{key}")), "completed 1 1");
        })
        .await;
    assert_eq!(broken.text("select count(*) from ledger"), (2 * ANSWERS).to_string());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_taken_over_with_its_answer_lost_is_given_again_and_finished() {
    let broken = Broken::make().await;
    broken
        .each(async |key| {
            broken.claim(key).await;
            broken.sql.run(
                "update hookonce.tasks set lease_until = clock_timestamp() where state = 'claimed'",
            );
            let reaped = soon(broken.store.reap(Token::draw(), LEASE, 10)).await.unwrap();
            assert_eq!(crate::bed::keys(&reaped), [key]);
            assert!(reaped[0].reaped);
            soon(broken.store.finish(&reaped[0], &dead())).await.unwrap();
            assert_eq!(broken.task(key), "dead 1 2");
        })
        .await;
    let lapsed = "select string_agg(distinct outcome, ' ') || count(*) from hookonce.attempts";
    assert_eq!(broken.text(lapsed), format!("lapsed{ANSWERS}"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
/// Fails when what a person does is repeated without asking what became of it.
async fn what_a_person_does_is_counted_though_its_answer_is_lost() {
    let broken = Broken::make().await;
    let (store, one) = (&broken.store, Moved { moved: 1, left: 0 });
    let to = NewTask { route: "s".into(), max_attempts: 3, ordered: true };
    broken
        .each(async |key| {
            broken.finished(key, &dead()).await;
            assert_eq!(soon(store.replay(&[task_id(key)])).await.unwrap(), one, "{key}");
            assert_eq!(soon(store.bury(&[task_id(key)])).await.unwrap(), one, "{key}");
        })
        .await;
    broken
        .each(async |key| {
            let key = &format!("b{key}");
            broken.finished(key, &Outcome::Completed).await;
            assert_eq!(soon(store.rerun(&[task_id(key)])).await.unwrap(), one, "{key}");
            assert_eq!(soon(store.reroute(&[task_id(key)], &to)).await.unwrap(), one, "{key}");
            let new = NewTask { route: "t".into(), ..to.clone() };
            assert_eq!(soon(store.assign(&[(id(key), new)])).await.unwrap(), one, "{key}");
            let entry = AuditEntry {
                who: "cli:ops".to_owned(),
                action: "replay".to_owned(),
                details: key.clone(),
            };
            soon(store.audit(&entry)).await.unwrap();
        })
        .await;
    let audit = "select count(*) || ' ' || count(distinct details) from hookonce.audit";
    assert_eq!(broken.text(audit), format!("{ANSWERS} {ANSWERS}"));
    let counts = broken.sure.counts().await.unwrap();
    assert_eq!(counts.completed, 0);
}
