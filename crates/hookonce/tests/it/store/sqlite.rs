//! What is SQLite's alone: one file, its trouble, and how it is read.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use futures_util::future::join_all;
use hookonce::event::NewEvent;
use hookonce::store::sqlite::{SqliteOptions, SqliteStore};
use hookonce::store::{Arrival, Retention, Store, StoreError};
use hookonce::task::Outcome;

use crate::bed::{TestClock, id, new, order};

fn open(path: &Path) -> Result<SqliteStore, StoreError> {
    let clock = TestClock::new().clock();
    SqliteStore::open(path, SqliteOptions { clock, min_free_disk: 0 })
}

fn event(key: &str) -> NewEvent {
    new(key).at(TestClock::new().now())
}

fn file() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("test.db");
    (dir, path)
}

fn message<T: std::fmt::Debug>(result: Result<T, StoreError>) -> String {
    match result {
        Err(StoreError::Unavailable { message, .. }) => message,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_stores_share_one_file() {
    let (_dir, path) = file();
    let stores = [open(&path).unwrap(), open(&path).unwrap()];
    let inserts = (0..2000).map(|n| {
        // Every event is sent to both.
        stores[n % 2].insert(vec![event(&format!("k{}", n / 2))])
    });
    let arrivals: Vec<_> = join_all(inserts).await.into_iter().flat_map(Result::unwrap).collect();
    assert_eq!(arrivals.iter().filter(|arrival| **arrival == Arrival::New).count(), 1000);
    let claims = (0..40).map(|n| stores[n % 2].claim(order(50)));
    let claims: Vec<_> = join_all(claims).await.into_iter().flat_map(Result::unwrap).collect();
    assert_eq!(claims.len(), 1000);
    let finishes = claims
        .iter()
        .enumerate()
        .map(|(n, claim)| stores[n % 2].finish(claim, &Outcome::Completed));
    assert!(join_all(finishes).await.iter().all(Result::is_ok));
    assert_eq!(stores[0].counts().await.unwrap().completed, 1000);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_locked_file_is_said_to_be_and_comes_back_by_itself() {
    let (_dir, path) = file();
    let store = open(&path).unwrap();
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("begin immediate").unwrap();
    let says = message(store.insert(vec![event("a")]).await);
    assert!(says.contains("locked by another process"), "{says}");
    other.execute_batch("rollback").unwrap();
    assert_eq!(store.insert(vec![event("a")]).await.unwrap(), [Arrival::New]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_file_is_said_to_be_and_comes_back_once_it_is_mended() {
    let (_dir, path) = file();
    let store = open(&path).unwrap();
    store.insert(vec![event("a")]).await.unwrap();
    drop(store);
    let good = std::fs::read(&path).unwrap();
    let root: usize = rusqlite::Connection::open(&path)
        .unwrap()
        .query_row(
            "select rootpage from sqlite_master where name = 'hookonce_events_id'",
            (),
            |row| row.get(0),
        )
        .unwrap();
    let mut damaged = good.clone();
    damaged[(root - 1) * 4096..root * 4096].fill(0xa5);
    std::fs::write(&path, &damaged).unwrap();

    let store = open(&path).unwrap();
    let says = message(store.insert(vec![event("b")]).await);
    assert!(says.contains("file is damaged"), "{says}");
    assert!(message(store.get(id("a")).await).contains("file is damaged"));
    std::fs::write(&path, &good).unwrap();
    assert_eq!(store.insert(vec![event("a"), event("b")]).await.unwrap()[0], Arrival::Duplicate);
}

#[test]
fn a_file_that_is_no_database_is_refused() {
    let (_dir, path) = file();
    std::fs::write(&path, "this is a shopping list, and no database at all".repeat(100)).unwrap();
    let says = message(open(&path));
    assert!(says.contains("file is damaged"), "{says}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_is_moved_away_takes_nothing_more_in() {
    let (dir, path) = file();
    let store = open(&path).unwrap();
    store.insert(vec![event("a")]).await.unwrap();
    let elsewhere = dir.path().join("elsewhere.db");
    std::fs::rename(&path, &elsewhere).unwrap();
    let says = message(store.insert(vec![event("b")]).await);
    assert!(says.contains("was moved, removed or replaced"), "{says}");
    assert!(!path.exists(), "nothing is made in its place");
    std::fs::rename(&elsewhere, &path).unwrap();
    assert_eq!(store.insert(vec![event("a")]).await.unwrap(), [Arrival::Duplicate]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn intake_stops_before_the_disk_is_full_and_work_goes_on() {
    let (_dir, path) = file();
    let store = open(&path).unwrap();
    store.insert(vec![event("a")]).await.unwrap();
    drop(store);
    let clock = TestClock::new().clock();
    let store = SqliteStore::open(&path, SqliteOptions { clock, min_free_disk: u64::MAX }).unwrap();
    let says = message(store.insert(vec![event("b")]).await);
    assert!(says.contains("min_free_disk"), "{says}");
    assert!(store.ready().await.is_err());
    let claims = store.claim(order(1)).await.unwrap();
    store.finish(&claims[0], &Outcome::Completed).await.unwrap();
}

#[test]
fn tables_of_a_newer_version_are_refused() {
    let (_dir, path) = file();
    drop(open(&path).unwrap());
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.execute("insert into hookonce_migrations values (99, 0)", ()).unwrap();
    let says = message(open(&path));
    assert!(says.contains("version 99"), "{says}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_is_a_store_of_one_instant() {
    let (dir, path) = file();
    let store = open(&path).unwrap();
    let copy = dir.path().join("copy.db");
    let inserts = join_all((0..500).map(|n| store.insert(vec![event(&format!("k{n}"))])));
    let backup = async {
        store.insert(vec![event("first")]).await.unwrap();
        tokio::task::block_in_place(|| store.backup(&copy)).unwrap();
    };
    tokio::join!(inserts, backup);
    assert_eq!(std::fs::metadata(&copy).unwrap().permissions().mode() & 0o777, 0o600);
    let copied = open(&copy).unwrap();
    let counts = copied.counts().await.unwrap();
    assert!(counts.events >= 1 && counts.events == counts.pending, "{counts:?}");
    assert_eq!(copied.insert(vec![event("first")]).await.unwrap(), [Arrival::Duplicate]);
    // A copy is never written over.
    assert!(message(store.backup(&copy)).contains("exists"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_of_our_own_is_private_and_can_shrink() {
    let (_dir, path) = file();
    let store = open(&path).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let connection = rusqlite::Connection::open(&path).unwrap();
    let pragma = |name: &str| -> String {
        connection
            .pragma_query_value(None, name, |row| row.get::<_, rusqlite::types::Value>(0))
            .map(|value| format!("{value:?}"))
            .unwrap()
    };
    assert_eq!(pragma("auto_vacuum"), "Integer(2)");
    assert_eq!(pragma("journal_mode"), "Text(\"wal\")");
    drop(store);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn code_of_a_caller_shares_the_transaction_and_its_fate() {
    let (_dir, path) = file();
    let store = open(&path).unwrap();
    let ledger = rusqlite::Connection::open(&path).unwrap();
    ledger.execute_batch("create table ledger (id text)").unwrap();
    store.insert(vec![event("a"), event("b"), event("c")]).await.unwrap();
    let claims = store.claim(order(3)).await.unwrap();
    let write = |connection: &rusqlite::Connection| {
        connection.execute("insert into ledger values ('x')", ()).map(drop)
    };
    store.finish_in(&claims[0], write).await.unwrap();
    let fails = store.finish_in(&claims[1], move |connection| {
        write(connection)?;
        connection.execute("insert into nowhere values (1)", ()).map(drop)
    });
    assert!(matches!(fails.await, Err(StoreError::Statement { permanent: false, .. })));
    // A panic is that caller's own: the store goes on.
    let panics = store.finish_in(&claims[2], move |connection| {
        write(connection)?;
        panic!("of course")
    });
    assert!(message(panics.await).contains("broke off"));
    let rows: i64 = ledger.query_row("select count(*) from ledger", (), |row| row.get(0)).unwrap();
    assert_eq!(rows, 1);
    store.finish_in(&claims[2], write).await.unwrap();
    assert!(matches!(store.finish_in(&claims[2], write).await, Err(StoreError::Lost)));
    let counts = store.counts().await.unwrap();
    assert_eq!((counts.completed, counts.claimed), (2, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_effect_that_hid_the_end_of_its_transaction_completes_nothing() {
    let (_dir, path) = file();
    let store = open(&path).unwrap();
    let ledger = rusqlite::Connection::open(&path).unwrap();
    ledger.execute_batch("create table ledger (id text primary key)").unwrap();
    ledger.execute_batch("insert into ledger values ('taken')").unwrap();
    store.insert(vec![event("a")]).await.unwrap();
    let claims = store.claim(order(1)).await.unwrap();
    let hides = store.finish_in(&claims[0], |connection| {
        connection.execute("insert into ledger values ('mine')", ())?;
        let _ = connection.execute("insert or rollback into ledger values ('taken')", ());
        Ok(())
    });
    assert!(matches!(hides.await, Err(StoreError::Statement { permanent: true, .. })));
    assert_eq!(store.counts().await.unwrap().claimed, 1);
}

/// Fails when `make_private` opens a file that is there: closing it ends SQLite's locks, and any
/// other process that closes the database last deletes the log under us.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn opening_a_file_again_keeps_the_locks_on_it() {
    use std::os::unix::fs::MetadataExt as _;
    let (_dir, path) = file();
    let store = open(&path).unwrap();
    store.insert(vec![event("a")]).await.unwrap();
    let inode = std::fs::metadata(&path).unwrap().ino();
    let locks = || {
        let locks = std::fs::read_to_string("/proc/locks").unwrap();
        let ours = format!(":{inode} ");
        let pid = format!(" {} ", std::process::id());
        locks.lines().filter(|lock| lock.contains(&ours) && lock.contains(&pid)).count()
    };
    let before = locks();
    assert!(before > 0, "SQLite holds a lock as long as the file is open");
    let again = open(&path).unwrap();
    assert!(locks() >= before);
    drop(again);
    assert!(locks() >= before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_more_is_taken_in_once_the_log_is_removed_and_an_orderly_end_loses_nothing() {
    let (dir, path) = file();
    let store = open(&path).unwrap();
    store.insert(vec![event("a")]).await.unwrap();
    std::fs::remove_file(dir.path().join("test.db-wal")).unwrap();
    let says = message(store.insert(vec![event("b")]).await);
    assert!(says.contains("test.db-wal` was moved, removed") && says.contains("SIGTERM"), "{says}");
    assert!(store.ready().await.is_err());
    drop(store);
    let store = open(&path).unwrap();
    assert_eq!(store.insert(vec![event("a")]).await.unwrap(), [Arrival::Duplicate]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_is_never_written_to_another_place_than_was_named() {
    let (dir, path) = file();
    let store = open(&path).unwrap();
    store.insert(vec![event("a")]).await.unwrap();
    for name in [":memory:", "file:copy.db"] {
        let copy = dir.path().join(name);
        store.backup(&copy).unwrap();
        assert_eq!(open(&copy).unwrap().counts().await.unwrap().events, 1);
        assert_eq!(std::fs::metadata(&copy).unwrap().permissions().mode() & 0o777, 0o600);
    }
    assert!(
        message(store.backup(&dir.path().join("other.db-journal"))).contains("name it otherwise")
    );
}

#[test]
fn a_file_that_is_no_store_is_looked_at_and_left_as_it_is() {
    let (_dir, path) = file();
    rusqlite::Connection::open(&path).unwrap().execute_batch("create table mine (id)").unwrap();
    let before = std::fs::read(&path).unwrap();
    let says = message(SqliteStore::open_existing(&path, SqliteOptions::default()));
    assert!(says.contains("is no store of hookonce"), "{says}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
    drop(open(&path).unwrap());
    SqliteStore::open_existing(&path, SqliteOptions::default()).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_that_the_application_refers_to_is_kept_and_holds_up_no_pruning() {
    let (_dir, path) = file();
    let clock = TestClock::new();
    let options = SqliteOptions { clock: clock.clock(), min_free_disk: 0 };
    let store = SqliteStore::open(&path, options).unwrap();
    let recorded = ["a", "b", "c"].map(|key| new(key).routes(&[]).at(clock.now())).to_vec();
    store.insert(recorded).await.unwrap();
    rusqlite::Connection::open(&path)
        .unwrap()
        .execute_batch(
            "create table mine (seq integer references hookonce_events (seq));
             insert into mine values (2)",
        )
        .unwrap();
    let day = std::time::Duration::from_secs(24 * 3600);
    clock.advance(day * 40);
    let retention = Retention { payload: day, key: day * 7, dead: day };
    let mut gone = 0;
    for _ in 0..3 {
        gone += store.prune(&retention, 10).await.unwrap().events;
    }
    assert_eq!(gone, 2);
    assert!(store.get(id("b")).await.unwrap().is_some());
}

/// The statements of the store, by file name.
fn statements() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/store/sqlite");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "sql"))
        .filter(|path| path.file_name().unwrap() != "schema.sql")
        .collect();
    files.sort();
    let name = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
    files.iter().map(|path| (name(path), std::fs::read_to_string(path).unwrap())).collect()
}

#[test]
fn no_statement_scans_a_table() {
    let (_dir, path) = file();
    drop(open(&path).unwrap());
    let connection = rusqlite::Connection::open(&path).unwrap();
    // Small by nature, and folded: sources, and the counts by minute and day.
    let small = ["hookonce_sources", "hookonce_minutes", "hookonce_routes"];
    for (name, sql) in statements() {
        let mut explained = connection.prepare(&format!("explain query plan {sql}")).unwrap();
        let mut rows = explained.raw_query();
        while let Some(row) = rows.next().unwrap() {
            let step: String = row.get(3).unwrap();
            let scans = step.starts_with("SCAN hookonce_")
                || step.starts_with("SCAN e")
                || step.starts_with("SCAN t");
            let allowed = small.iter().any(|table| step.contains(table))
                // A partial index has only the live rows; counting them is what it is for.
                || (["counts.sql", "routes.sql"].contains(&&*name) && step.contains(" INDEX hookonce_tasks_"))
                || step == "SCAN hookonce_tasks USING INDEX hookonce_tasks_lease";
            assert!(!scans || allowed, "{name}: {step}");
        }
    }
}

#[test]
fn each_statement_opens_with_a_sentence() {
    for (name, sql) in statements() {
        assert!(
            sql.starts_with("-- ") && sql.lines().next().is_some_and(|line| line.len() > 20),
            "{name}"
        );
        assert_eq!(sql, sql.trim_end().to_owned() + "\n", "{name}");
    }
}

#[test]
fn the_schema_is_the_golden_one() {
    let (_dir, path) = file();
    drop(open(&path).unwrap());
    let connection = rusqlite::Connection::open(&path).unwrap();
    let mut tables = connection
        .prepare("select sql from sqlite_master where name like 'hookonce%' order by tbl_name, type desc, name")
        .unwrap();
    let schema: Vec<String> =
        tables.query_map((), |row| row.get::<_, String>(0)).unwrap().map(Result::unwrap).collect();
    let schema = format!(
        "-- What the migrations make; written by the tests (UPDATE=1).\n\n{};\n",
        schema.join(";\n\n")
    );
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/store/sqlite/schema.sql");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&golden, &schema).unwrap();
    }
    assert_eq!(schema, std::fs::read_to_string(&golden).unwrap_or_default(), "run with UPDATE=1");
}
