//! What an error of the server means: to a person, and for whether to try again.

use std::error::Error as _;
use std::time::Duration;

use tokio::time::Instant;
use tokio_postgres::Error;
use tokio_postgres::error::{DbError, SqlState};

use super::tls;
use crate::store::StoreError;

/// How often a transaction is tried that the server or the connection broke off.
const TRIES: u32 = 6;
/// The first pause between them; it doubles.
const PAUSE: Duration = Duration::from_millis(20);
/// How long a server that lets nobody in is tried: well within what a sender is kept waiting.
const AWAY: Duration = Duration::from_secs(1);

/// Why something was not done.
#[derive(Debug)]
pub(super) enum Failed {
    /// The server or the connection says so.
    Database(Error),
    /// No connection was to be had.
    NoConnection(String),
    /// No host let us in.
    Unreached(String),
    /// No answer came for so long on an open connection.
    Silent(Duration),
    /// All connections that there may be are in use; the server has no part in it.
    Busy(String),
    /// What the store itself has to say.
    Told(StoreError),
}

impl Failed {
    /// Whether the same may be done at another time: nothing of it was written, or it is unknown
    /// whether it was.
    pub(super) fn may_pass(&self) -> bool {
        let error = match self {
            Self::Database(error) => error,
            Self::Unreached(_) | Self::Silent(_) => return true,
            Self::NoConnection(_) | Self::Busy(_) | Self::Told(_) => return false,
        };
        match error.code() {
            Some(code) => {
                let codes = [
                    SqlState::T_R_SERIALIZATION_FAILURE,
                    SqlState::T_R_DEADLOCK_DETECTED,
                    SqlState::LOCK_NOT_AVAILABLE,
                    SqlState::OUT_OF_MEMORY,
                    SqlState::ADMIN_SHUTDOWN,
                    SqlState::CRASH_SHUTDOWN,
                    SqlState::CANNOT_CONNECT_NOW,
                    SqlState::READ_ONLY_SQL_TRANSACTION,
                ];
                codes.contains(code) || code.code().starts_with("08")
            }
            None => is_broken(error),
        }
    }

    /// The same at opening, where what only a person can mend is told apart from what passes.
    pub(super) fn at_opening(self) -> Self {
        let Self::Database(error) = &self else { return self };
        let Some(said) = error.as_db_error() else { return self };
        let advice = match said.code().code() {
            code if code.starts_with("28") => {
                "the database refused the user: see that its name and password are right, and \
                     that `pg_hba.conf` lets it in"
            }
            "3D000" => "there is no such database: create it, or correct its name in the address",
            "42501" => {
                "the database refused this user: let it create the schema `hookonce`, or have \
                     `hookonce migrate` run by one who may"
            }
            _ => return self,
        };
        Self::Told(StoreError::Refused(format!("{advice}: {}", told(said))))
    }

    /// Whether, at a commit, nobody knows what became of it.
    pub(super) fn leaves_unknown(&self) -> bool {
        match self {
            Self::Database(error) => match error.code() {
                Some(code) => ["08", "57"].contains(&&code.code()[..2]),
                None => is_broken(error),
            },
            Self::NoConnection(_) | Self::Unreached(_) | Self::Silent(_) => true,
            Self::Busy(_) | Self::Told(_) => false,
        }
    }

    /// Whether somebody's open transaction holds the very key that is to be stored.
    pub(super) fn is_a_lock(&self) -> bool {
        matches!(self, Self::Database(error) if error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE))
    }

    /// Whether it tells of what is to be stored, and not of the server.
    pub(super) fn is_of_the_data(&self) -> bool {
        let Self::Database(error) = self else { return false };
        error.code().is_some_and(|code| ["22", "23"].contains(&&code.code()[..2]))
    }
}

/// Whether the connection broke, so that nobody knows what became of the last words on it.
fn is_broken(error: &Error) -> bool {
    error.is_closed() || error.source().is_some_and(<dyn std::error::Error>::is::<std::io::Error>)
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self::Database(error)
    }
}

impl From<StoreError> for Failed {
    fn from(error: StoreError) -> Self {
        Self::Told(error)
    }
}

impl From<Failed> for StoreError {
    fn from(failed: Failed) -> Self {
        match failed {
            Failed::Told(error) => error,
            Failed::NoConnection(why) | Failed::Unreached(why) => Self::unavailable(format!(
                "the database can't be reached: {why}; see that it runs and lets this program in, \
                 senders will try again"
            )),
            Failed::Silent(limit) => Self::unavailable(format!(
                "the database gave no answer within {} s: see whether it is overloaded or waits for \
                 a standby; it is tried again",
                limit.as_secs_f64()
            )),
            Failed::Busy(why) => Self::unavailable(format!(
                "{why}: raise `postgres.connections`, or look for slow `sql` statements"
            )),
            Failed::Database(error) => {
                let said = explained(&error);
                let advice = match error.code() {
                    Some(code) if *code == SqlState::DISK_FULL => {
                        "the database's disk is full: free some space, senders will try again"
                    }
                    Some(code) if *code == SqlState::READ_ONLY_SQL_TRANSACTION => {
                        "the database takes no writes now: it is a replica or was made read-only; \
                         point `store` at the primary, or wait for the failover to end"
                    }
                    Some(code) if *code == SqlState::INSUFFICIENT_PRIVILEGE => {
                        "the database refused this user: grant it the schema `hookonce`"
                    }
                    Some(code) if *code == SqlState::TOO_MANY_CONNECTIONS => {
                        "the database has no place for another connection: raise its \
                         `max_connections`, or use fewer"
                    }
                    Some(code) if code.code().starts_with("28") => {
                        "the database doesn't let this user in: see its user, password, \
                         certificate and `pg_hba.conf`"
                    }
                    Some(_) => "the database refused",
                    None => "the connection to the database broke; it is tried again",
                };
                // Not as the source: the driver's error shows the row that was refused.
                Self::unavailable(format!("{advice}: {said}"))
            }
        }
    }
}

/// What the server, or else the connection, has to say.
pub(super) fn explained(error: &Error) -> String {
    if let Some(said) = error.as_db_error() {
        return told(said);
    }
    if let Some(cause) = tls::cause(error) {
        return tls::explained(cause);
    }
    error.source().map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}"))
}

/// What the server has to say, without its details, which show rows, and without values: errors of data
/// (22) quote them, in the quotation marks of the server's language.
pub(super) fn told(said: &DbError) -> String {
    let (message, code) = (said.message(), said.code().code());
    let is_mark = |c: char| "\"'`«»‹›„“”‚‘’「」".contains(c);
    let ends = code.starts_with("22").then(|| message.find(is_mark).zip(message.rfind(is_mark)));
    let Some((from, to)) = ends.flatten() else { return format!("{message} ({code})") };
    let rest = message[to..].trim_start_matches(is_mark);
    format!("{}…{rest} ({code})", &message[..from])
}

/// How often something was tried.
#[derive(Debug)]
pub(super) struct Tries {
    n: u32,
    since: Instant,
    was_silent: bool,
}

impl Default for Tries {
    fn default() -> Self {
        Self { n: 0, since: Instant::now(), was_silent: false }
    }
}

impl Tries {
    /// Waits before the next try after it failed so; false where that would not help. A silent
    /// connection is replaced once.
    pub(super) async fn next_after(&mut self, failed: &Failed) -> bool {
        let is_in_time = match failed {
            Failed::Unreached(_) => self.since.elapsed() < AWAY,
            Failed::Silent(_) => !std::mem::replace(&mut self.was_silent, true),
            _ => true,
        };
        is_in_time && failed.may_pass() && self.next().await
    }

    /// Waits before the next try; false where there were enough.
    pub(super) async fn next(&mut self) -> bool {
        self.n += 1;
        if self.n >= TRIES {
            return false;
        }
        let pause = PAUSE * 2_u32.pow(self.n - 1);
        tokio::time::sleep(pause.mul_f64(0.5 + fastrand::f64())).await;
        true
    }
}

/// Does something until it is done, or can't be, or was tried often enough. A macro, since a closure
/// that borrows what it awaits can't be sent between threads.
macro_rules! again {
    ($work:expr) => {{
        let mut tries = $crate::store::postgres::error::Tries::default();
        loop {
            let done: Result<_, $crate::store::postgres::error::Failed> = async { $work }.await;
            match done {
                Err(failed) if tries.next_after(&failed).await => {}
                done => break done.map_err($crate::store::StoreError::from),
            }
        }
    }};
}
pub(super) use again;
