//! What a test's program stores in: a file, or a database of the test's own. One test is run on either
//! by [`on_both!`].

use std::cell::Cell;
use std::path::{Path, PathBuf};

#[path = "../../../hookonce/tests/it/bed/port.rs"]
pub(crate) mod port;

#[path = "../../../hookonce/tests/it/bed/postgres.rs"]
#[allow(dead_code, reason = "the library's tests ask more of it")]
mod postgres;

#[path = "../../../hookonce/tests/it/bed/server.rs"]
#[expect(dead_code, reason = "the library's tests ask more of it")]
mod server;

#[path = "../../../hookonce/tests/it/bed/redis_server.rs"]
#[allow(dead_code, reason = "the library's tests ask more of it")]
mod redis_server;

pub(crate) use postgres::{Connection, Database};
pub(crate) use redis_server::{EACH_TO_DISK, Server as Redis};
pub(crate) use server::Server as Postgres;

use serde_json::Value;

/// Makes two tests of each function: on SQLite, and on PostgreSQL.
macro_rules! on_both {
    ($($name:ident),+ $(,)?) => {
        mod sqlite {
            $(#[test] fn $name() { super::$name(); })+
        }

        mod postgres {
            $(#[test] fn $name() { crate::engine::on_postgres(super::$name); })+
        }
    };
}
pub(crate) use on_both;

thread_local! {
    /// The test of this thread is about PostgreSQL.
    static IS_POSTGRES: Cell<bool> = const { Cell::new(false) };
}

/// Runs a test whose places have a database each.
pub(crate) fn on_postgres(test: fn()) {
    struct Back;
    impl Drop for Back {
        fn drop(&mut self) {
            IS_POSTGRES.set(false);
        }
    }
    IS_POSTGRES.set(true);
    let _back = Back;
    test();
}

/// Whether the test of this thread is about PostgreSQL.
pub(crate) fn is_postgres() -> bool {
    IS_POSTGRES.get()
}

/// What each engine says in words of its own.
pub(crate) fn either<'a>(sqlite: &'a str, postgres: &'a str) -> &'a str {
    if is_postgres() { postgres } else { sqlite }
}

/// A member of the JSON text that is in a column or parameter.
pub(crate) fn member(json: &str, path: &[&str]) -> String {
    let (name, above) = path.split_last().unwrap();
    if !is_postgres() {
        return format!("{json} ->> '$.{}'", path.join("."));
    }
    let above: Vec<String> = above.iter().map(|name| format!(" -> '{name}'")).collect();
    format!("{json}::jsonb{} ->> '{name}'", above.concat())
}

/// Who did what, and how, as it is written down.
pub(crate) fn audit(sql: &Sql) -> Vec<(String, String, Value)> {
    let entries =
        "select who || ' ' || action || ' ' || details from hookonce_audit order by entry";
    let entry = |text: String| {
        let parts: Vec<&str> = text.splitn(3, ' ').collect();
        (parts[0].to_owned(), parts[1].to_owned(), serde_json::from_str(parts[2]).unwrap())
    };
    sql.texts(entries).into_iter().map(entry).collect()
}

/// The application's own connection to the database that the store is in. Tests name our tables as
/// SQLite has them.
pub(crate) enum Sql {
    /// Opened for each question: a connection that stays keeps the log from being moved into the file.
    File(PathBuf),
    Sqlite(rusqlite::Connection),
    Postgres(Connection),
}

impl Sql {
    pub(crate) fn of(database: &Database) -> Self {
        Self::Postgres(Connection::open(&database.url))
    }

    pub(crate) fn open(file: &Path) -> Self {
        Self::Sqlite(rusqlite::Connection::open(file).unwrap())
    }

    pub(crate) fn run(&self, sql: &str) {
        match self {
            Self::File(file) => Self::open(file).run(sql),
            Self::Sqlite(connection) => connection.execute_batch(sql).unwrap(),
            Self::Postgres(connection) => connection.run(&named(sql)),
        }
    }

    /// The first column of each row, as text.
    pub(crate) fn texts(&self, sql: &str) -> Vec<String> {
        match self {
            Self::File(file) => Self::open(file).texts(sql),
            Self::Sqlite(connection) => {
                let mut statement = connection.prepare(sql).unwrap();
                let rows = statement.query_map((), |row| Ok(text(row.get_ref(0)?)));
                rows.unwrap().map(Result::unwrap).collect()
            }
            Self::Postgres(connection) => connection.texts(&named(sql)),
        }
    }

    /// The number that is alone in the answer.
    pub(crate) fn number(&self, sql: &str) -> i64 {
        self.texts(sql)[0].parse().unwrap()
    }

    /// The two columns of each row, a text and a number.
    pub(crate) fn numbers(&self, sql: &str) -> Vec<(String, u64)> {
        match self {
            Self::File(file) => Self::open(file).numbers(sql),
            Self::Sqlite(connection) => {
                let mut statement = connection.prepare(sql).unwrap();
                let rows = statement.query_map((), |row| Ok((row.get(0)?, row.get(1)?)));
                rows.unwrap().map(Result::unwrap).collect()
            }
            Self::Postgres(connection) => {
                let sql = format!("select name || ' ' || n from ({}) as q (name, n)", named(sql));
                let both = |text: String| {
                    let (name, n) = text.rsplit_once(' ').unwrap();
                    (name.to_owned(), n.parse().unwrap())
                };
                connection.texts(&sql).into_iter().map(both).collect()
            }
        }
    }
}

fn named(sql: &str) -> String {
    sql.replace("hookonce_", "hookonce.")
}

fn text(value: rusqlite::types::ValueRef<'_>) -> String {
    use rusqlite::types::ValueRef;
    match value {
        ValueRef::Null => String::new(),
        ValueRef::Integer(n) => n.to_string(),
        ValueRef::Real(n) => n.to_string(),
        ValueRef::Text(text) => String::from_utf8(text.to_vec()).unwrap(),
        ValueRef::Blob(bytes) => format!("{bytes:02x?}"),
    }
}
