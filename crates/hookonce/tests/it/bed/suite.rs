//! One body, a test of each store that can do what it is about.

/// Makes a test of each store from one body: `store_test!(name, |bed| async move { … })`; of those
/// marked `name and pgbouncer` one more, since a pooler in between sees other connections.
macro_rules! store_test {
    ($(#[$doc:meta])* $name:ident, $body:expr) => {
        mod $name {
            use super::*;

            crate::bed::store_test!(@ $(#[$doc])* sqlite, $body);
            crate::bed::store_test!(@ $(#[$doc])* postgres, $body);
            crate::bed::store_test!(@ $(#[$doc])* redis, $body);
            crate::bed::store_test!(@ $(#[$doc])* redis_cluster, $body);
            crate::bed::store_test!(@ $(#[$doc])* redis_killed, $body);
        }
    };
    ($(#[$doc:meta])* $name:ident and pgbouncer, $body:expr) => {
        mod $name {
            use super::*;

            crate::bed::store_test!(@ $(#[$doc])* sqlite, $body);
            crate::bed::store_test!(@ $(#[$doc])* postgres, $body);
            crate::bed::store_test!(@ $(#[$doc])* pgbouncer, $body);
            crate::bed::store_test!(@ $(#[$doc])* redis, $body);
            crate::bed::store_test!(@ $(#[$doc])* redis_cluster, $body);
            crate::bed::store_test!(@ $(#[$doc])* redis_killed, $body);
        }
    };
    (@ $(#[$doc:meta])* $store:ident, $body:expr) => {
        $(#[$doc])*
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $store() {
            let body = $body;
            let (bed, kept) = crate::bed::Bed::$store().await;
            body(bed).await;
            drop(kept);
        }
    };
}
/// Makes a test of each store that speaks SQL, of what the others don't have.
macro_rules! sql_test {
    ($(#[$doc:meta])* $name:ident, $body:expr) => {
        mod $name {
            use super::*;

            crate::bed::store_test!(@ $(#[$doc])* sqlite, $body);
            crate::bed::store_test!(@ $(#[$doc])* postgres, $body);
        }
    };
    ($(#[$doc:meta])* $name:ident and pgbouncer, $body:expr) => {
        mod $name {
            use super::*;

            crate::bed::store_test!(@ $(#[$doc])* sqlite, $body);
            crate::bed::store_test!(@ $(#[$doc])* postgres, $body);
            crate::bed::store_test!(@ $(#[$doc])* pgbouncer, $body);
        }
    };
}
/// Makes a test of SQLite alone, of what no other store has.
macro_rules! sqlite_test {
    ($(#[$doc:meta])* $name:ident, $body:expr) => {
        $(#[$doc])*
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $name() {
            let body = $body;
            let (bed, dir) = crate::bed::Bed::sqlite().await;
            body(bed).await;
            drop(dir);
        }
    };
}

pub(crate) use {sql_test, sqlite_test, store_test};
