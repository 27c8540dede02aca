//! One connection to the file: how it is opened, and what its errors mean to a person.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension as _, Params, params};

use super::flush::{self, Log};
use super::migrate;
use crate::store::{Clock, StoreError};

/// How long a writer waits for another process's transaction before it says so.
const BUSY_LIMIT: u32 = 2000;
/// Statements kept prepared; there are fewer in all.
const STATEMENTS: usize = 96;

/// A connection with its statements.
pub(super) struct Session {
    /// The connection itself.
    pub(super) connection: Connection,
    /// On while a user's statement is being run.
    guard: Arc<Guard>,
    /// The connection's log.
    pub(super) log: Log,
    /// The database and its log as they were opened, to notice when one was moved away.
    files: [(PathBuf, (u64, u64)); 2],
    /// What the open transaction adds to the minutes, written once at its end.
    counts: RefCell<BTreeMap<String, [i64; Count::ALL.len()]>>,
    /// The open transaction made a task due.
    due: Cell<bool>,
    /// The sender's time up to which keys were removed, once the open transaction has asked.
    pruned_until: OnceCell<Option<i64>>,
    clock: Clock,
}

/// What is counted by minute and source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Count {
    New,
    Unrouted,
    Duplicate,
    Mismatch,
    Completed,
    Dead,
}

impl Count {
    const ALL: [Self; 6] =
        [Self::New, Self::Unrouted, Self::Duplicate, Self::Mismatch, Self::Completed, Self::Dead];

    fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Unrouted => "unrouted",
            Self::Duplicate => "duplicate",
            Self::Mismatch => "mismatch",
            Self::Completed => "completed",
            Self::Dead => "dead",
        }
    }
}

impl Session {
    /// Opens the file for writing, makes it if it isn't there, and brings its tables up to date.
    pub(super) fn open(path: &Path, clock: Clock) -> Result<Self, StoreError> {
        let fresh = make_private(path)?;
        let mut connection = Connection::open(path)?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        connection.busy_handler(Some(wait_for_other_process))?;
        if fresh {
            // Only before the first table; a file that is somebody else's keeps its own way.
            connection.pragma_update(None, "auto_vacuum", "incremental")?;
        }
        let mode: String =
            connection.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0))?;
        if mode != "wal" {
            return Err(StoreError::unavailable(format!(
                "`{}` is on a file system without shared memory (journal mode stayed `{mode}`): \
                 put it on a local disk",
                path.display()
            )));
        }
        // Otherwise most statements are planned anew at each run, since the value of a parameter
        // could have made a partial index fit.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        // Not `full`: the flush of the log is ours, see `flush`.
        connection.pragma_update(None, "synchronous", "normal")?;
        connection.pragma_update(None, "cache_size", -8000)?;
        // A log that grew while a backup stood on it gives the room back.
        connection.pragma_update(None, "journal_size_limit", 128 << 20)?;
        connection.pragma_update(None, "foreign_keys", true)?;
        let guard = Arc::new(Guard { opened: Instant::now(), until: AtomicU64::new(OPEN) });
        let limit = guard.clone();
        connection.progress_handler(1000, Some(move || limit.is_over()))?;
        let rule = guard.clone();
        connection.authorizer(Some(move |context: AuthContext<'_>| {
            if rule.is_on() { authorize(&context.action) } else { Authorization::Allow }
        }))?;
        migrate::run(&connection, clock.now())?;
        let log_path = flush::log_path(path).map_err(|error| unseen(path, error))?;
        let log = Arc::new(File::open(&log_path).map_err(|error| unseen(&log_path, error))?);
        let (file, log_file) = (identity(path)?, identity(&log_path)?);
        let files = [(path.to_owned(), file), (log_path, log_file)];
        let (counts, due, pruned_until) = (RefCell::default(), Cell::default(), OnceCell::new());
        Ok(Self { connection, guard, log, files, counts, due, pruned_until, clock })
    }

    /// Opens the file for reading only.
    pub(super) fn open_reader(path: &Path) -> Result<Connection, StoreError> {
        let connection = Self::open_plain(path)?;
        connection.pragma_update(None, "query_only", true)?;
        Ok(connection)
    }

    /// Opens the file as it is; fails if it isn't there.
    pub(super) fn open_plain(path: &Path) -> Result<Connection, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        connection.busy_timeout(Duration::from_secs(2))?;
        Ok(connection)
    }

    /// Fails if the files under this connection are no longer those at their paths: what is written
    /// to a removed file is lost.
    pub(super) fn check_in_place(&self) -> Result<(), StoreError> {
        let [database, log] = &self.files;
        let is_there =
            |(path, file): &(PathBuf, _)| matches!(identity(path), Ok(at) if at == *file);
        let (path, advice) = if !is_there(database) {
            (&database.0, "put it back, or restart to begin with the file that is there now")
        } else if !is_there(log) {
            let advice = "stop the program in order (SIGTERM), so that it moves what it still holds \
                          of it into the database, and start it again";
            (&log.0, advice)
        } else {
            return Ok(());
        };
        Err(StoreError::unavailable(format!(
            "`{}` was moved, removed or replaced while it was in use: {advice}",
            path.display()
        )))
    }

    /// What time it is, in milliseconds, on the store's clock.
    pub(super) fn now(&self) -> i64 {
        self.clock.now().as_millisecond()
    }

    /// Adds to what is counted, once the transaction is committed.
    pub(super) fn count(&self, source: &str, count: Count, n: i64) {
        let mut counts = self.counts.borrow_mut();
        if !counts.contains_key(source) {
            counts.insert(source.to_owned(), Default::default());
        }
        if let Some(counts) = counts.get_mut(source) {
            counts[count as usize] += n;
        }
    }

    /// Notes that a task became due, so that workers are woken once the transaction is committed.
    pub(super) fn note_due(&self) {
        self.due.set(true);
    }

    /// Whether a task became due since the last call.
    pub(super) fn take_due(&self) -> bool {
        self.due.take()
    }

    /// The sender's time up to which keys were removed, asked for once a transaction.
    pub(super) fn pruned_until(&self) -> rusqlite::Result<Option<i64>> {
        if let Some(until) = self.pruned_until.get() {
            return Ok(*until);
        }
        let mut until = self.connection.prepare_cached(include_str!("pruned_until.sql"))?;
        let until = until.query_row((), |row| row.get(0)).optional()?;
        Ok(*self.pruned_until.get_or_init(|| until))
    }

    /// Writes what was counted, a row a source and count.
    pub(super) fn flush_counts(&self) -> rusqlite::Result<()> {
        let minute = self.now().div_euclid(60_000);
        for (source, counts) in self.counts.take() {
            for (count, n) in Count::ALL.into_iter().zip(counts).filter(|(_, n)| *n != 0) {
                let parameters = params![minute, source, count.as_str(), n];
                self.execute(include_str!("count.sql"), parameters)?;
            }
        }
        Ok(())
    }

    /// Begins a transaction with nothing of the one before.
    pub(super) fn begin(&mut self) -> rusqlite::Result<()> {
        self.counts.take();
        self.due.take();
        self.pruned_until.take();
        self.execute("begin immediate", ()).map(drop)
    }

    /// Touches the pages that storing an event would, without writing: damage there refuses intake,
    /// so readiness has to see it; and looks whether the tables are still those it knows.
    pub(super) fn probe(&self) -> rusqlite::Result<Result<(), StoreError>> {
        let mut probe = self.connection.prepare_cached(include_str!("probe.sql"))?;
        probe.query_row((), |row| row.get(0)).map(migrate::known)
    }

    /// Runs a statement that gives no rows and says how many it changed.
    pub(super) fn execute(&self, sql: &str, parameters: impl Params) -> rusqlite::Result<usize> {
        self.connection.prepare_cached(sql)?.execute(parameters)
    }

    /// Runs `work` with every statement it prepares held to what a user's statement may do, and for
    /// no longer than `limit`.
    pub(super) fn guarded<T>(
        &self,
        limit: Duration,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        self.guard.turn_on(limit);
        let result = work(&self.connection);
        self.guard.until.store(OPEN, Ordering::Relaxed);
        result
    }
}

/// Holds a user's statement to what it may do and to its time. The hooks that ask it are set once:
/// setting one anew would expire every prepared statement.
struct Guard {
    opened: Instant,
    /// Milliseconds from `opened` at which the statement is interrupted.
    until: AtomicU64,
}

/// No user's statement is being run.
const OPEN: u64 = u64::MAX;

impl Guard {
    fn turn_on(&self, limit: Duration) {
        let until = self.opened.elapsed() + limit;
        self.until.store(u64::try_from(until.as_millis()).unwrap_or(OPEN - 1), Ordering::Relaxed);
    }

    fn is_on(&self) -> bool {
        self.until.load(Ordering::Relaxed) != OPEN
    }

    fn is_over(&self) -> bool {
        let until = self.until.load(Ordering::Relaxed);
        until != OPEN && self.opened.elapsed().as_millis() > u128::from(until)
    }
}

/// What a user's statement may do: read, and change rows of tables that are not ours. It may not end
/// the transaction it is in, leave the database, change its settings or its tables, or load code.
fn authorize(action: &AuthAction<'_>) -> Authorization {
    let ours = |table: &str| table.to_ascii_lowercase().starts_with("hookonce_");
    match action {
        AuthAction::Select | AuthAction::Read { .. } | AuthAction::Recursive => {
            Authorization::Allow
        }
        AuthAction::Insert { table_name }
        | AuthAction::Delete { table_name }
        | AuthAction::Update { table_name, .. }
            if !ours(table_name) =>
        {
            Authorization::Allow
        }
        AuthAction::Function { function_name }
            if !function_name.eq_ignore_ascii_case("load_extension") =>
        {
            Authorization::Allow
        }
        _ => Authorization::Deny,
    }
}

/// SQLite's own busy handler backs off to 100 ms, so that a process that commits without a pause
/// starves another; a millisecond each time gives both their turn.
fn wait_for_other_process(tries: i32) -> bool {
    std::thread::sleep(Duration::from_millis(1));
    u32::try_from(tries).unwrap_or_default() < BUSY_LIMIT
}

/// Makes the file if it isn't there, readable for its owner only; says whether it is new or empty.
/// A file that is there is not opened: closing it would end every lock that this process has on it,
/// SQLite's own included, and another process could then delete the log under us.
fn make_private(path: &Path) -> Result<bool, StoreError> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let made = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    let is_empty = match made {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            std::fs::metadata(path).map(|file| file.len() == 0)
        }
        Err(error) => Err(error),
    };
    is_empty.map_err(|error| StoreError::Unavailable {
        message: format!("`{}` can't be opened: {error}", path.display()),
        source: Some(Box::new(error)),
    })
}

fn identity(path: &Path) -> Result<(u64, u64), StoreError> {
    use std::os::unix::fs::MetadataExt as _;
    let file = std::fs::metadata(path).map_err(|error| unseen(path, error))?;
    Ok((file.dev(), file.ino()))
}

fn unseen(path: &Path, error: std::io::Error) -> StoreError {
    StoreError::Unavailable {
        message: format!("`{}` can't be seen: {error}", path.display()),
        source: Some(Box::new(error)),
    }
}

/// Whether an error tells of the database rather than of a statement: then all that was to be
/// written with it fails alike.
pub(super) fn is_of_the_database(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(
            ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::DatabaseCorrupt
                | ErrorCode::NotADatabase
                | ErrorCode::SystemIoFailure
                | ErrorCode::CannotOpen
                | ErrorCode::ReadOnly
                | ErrorCode::DiskFull
                | ErrorCode::OutOfMemory
                | ErrorCode::FileLockingProtocolFailed
        )
    )
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        let advice = match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => {
                "the disk is full: free some space, senders will try again"
            }
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                "the database is locked by another process: end what holds it, senders will try again"
            }
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                "the database file is damaged: stop, keep a copy of it, and put back a backup"
            }
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
                "the database file can't be written: give its owner the right to"
            }
            Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen) => {
                "the database file can't be read or written: check its disk and its directory"
            }
            _ => "the database refused",
        };
        Self::Unavailable { message: format!("{advice} ({error})"), source: Some(Box::new(error)) }
    }
}
