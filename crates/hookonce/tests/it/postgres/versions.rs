//! Tables of another version than the program's.

use hookonce::store::Store as _;
use hookonce::store::postgres::{PostgresOptions, PostgresStore};

use super::{event, message, open};
use crate::bed::postgres::{Connection, Database};

/// Nodes are replaced one by one: those of the older program go on with tables that say so.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn newer_tables_are_used_by_programs_that_they_are_usable_from() {
    let database = Database::make();
    let store = open(&database).await;
    let sql = Connection::open(&database.url);
    sql.run("insert into hookonce.migrations (version, at, usable_from) values (99, now(), 2)");
    store.ready().await.unwrap();
    let options = || PostgresOptions::new(&database.url);
    PostgresStore::open_existing(options()).await.unwrap();
    let migrated = PostgresStore::migrate(&options()).await.unwrap();
    assert_eq!((migrated.from, migrated.to), (99, 99));
    let reopened = open(&database).await;
    reopened.insert(vec![event("a")]).await.unwrap();

    sql.run("update hookonce.migrations set usable_from = 98 where version = 99");
    let refused = [
        message(store.ready().await),
        message(PostgresStore::open(options()).await.map(drop)),
        message(PostgresStore::open_existing(options()).await.map(drop)),
    ];
    for told in refused {
        assert!(told.contains("version 99") && told.contains("from version 98 on"), "{told}");
    }
}
