//! A user's statement: its parameters, and what its errors mean to the retry policy.

use std::time::Duration;

use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{CachedStatement, Connection, ErrorCode, ToSql};

use super::finish::{Written, finish, holds, record_step};
use super::session::{Session, is_of_the_database};
use crate::store::{Parameter, Statement, StepDone, StoreError};
use crate::task::{Claim, Outcome, StepState};

/// How long a user's statement may take: as long as the one writer is held up by it.
const LIMIT: Duration = Duration::from_secs(1);

/// Runs the statement and writes what it stands for, while the token holds.
pub(super) fn finish_with(
    session: &Session,
    claim: &Claim,
    done: StepDone<'_>,
    statement: &Statement,
) -> Written {
    if !holds(session, claim)? {
        return Ok(Err(StoreError::Lost));
    }
    if let Err(error) = session.guarded(LIMIT, |connection| run(connection, statement)) {
        return if is_of_the_database(&error) { Err(error) } else { Ok(Err(refused(&error))) };
    }
    if session.connection.is_autocommit() {
        return Ok(Err(ended()));
    }
    match done {
        StepDone::Task => finish(session, claim, &Outcome::Completed),
        StepDone::Step(name) => record_step(session, claim, name, StepState::Done, None),
    }
}

/// Runs a caller's own code and completes the task, while the token holds. Code that hides an error
/// which ended the transaction (`insert or rollback`, an interrupt) completes nothing.
pub(super) fn finish_in(
    session: &Session,
    claim: &Claim,
    effect: &mut (dyn FnMut(&Connection) -> rusqlite::Result<()> + Send),
) -> Written {
    if !holds(session, claim)? {
        return Ok(Err(StoreError::Lost));
    }
    match session.guarded(LIMIT, effect) {
        Ok(()) if session.connection.is_autocommit() => Ok(Err(ended())),
        Ok(()) => finish(session, claim, &Outcome::Completed),
        Err(error) if is_of_the_database(&error) => Err(error),
        Err(error) => Ok(Err(refused(&error))),
    }
}

fn run(connection: &Connection, statement: &Statement) -> rusqlite::Result<()> {
    let mut prepared = prepare(connection, &statement.sql)?;
    for n in 1..=prepared.parameter_count() {
        let value = prepared
            .parameter_name(n)
            .and_then(|name| statement.parameters.iter().find(|(known, _)| name[1..] == **known));
        let (_, value) = value.ok_or(rusqlite::Error::InvalidParameterName(String::new()))?;
        prepared.raw_bind_parameter(n, value)?;
    }
    // A statement may give rows (`returning`, `select my_function(…)`): all of it is run.
    let mut rows = prepared.raw_query();
    while rows.next()?.is_some() {}
    Ok(())
}

/// Prepares a user's statement. The mark in front keeps it apart from ours in the connection's
/// cache: `commit` would otherwise be found there, prepared before the authorizer was on.
fn prepare<'a>(connection: &'a Connection, sql: &str) -> rusqlite::Result<CachedStatement<'a>> {
    connection.prepare_cached(&["-- a sink's\n", sql].concat())
}

/// Prepares the statement and says what is wrong with it.
pub(super) fn check(session: &Session, sql: &str, known: &[&str]) -> Result<(), StoreError> {
    let wrong = |message: String| StoreError::Statement { permanent: true, message };
    let result = session.guarded(LIMIT, |connection| {
        prepare(connection, sql).map(|statement| {
            (1..=statement.parameter_count())
                .map(|n| statement.parameter_name(n).unwrap_or("?").to_owned())
                .find(|name| !name.starts_with(':') || !known.contains(&&name[1..]))
        })
    });
    match result {
        Ok(None) => Ok(()),
        Ok(Some(name)) => {
            Err(wrong(format!("there is no parameter `{name}`; there are :{}", known.join(" :"))))
        }
        Err(error) if is_of_the_database(&error) => Err(error.into()),
        Err(error) => Err(wrong(explained(&error))),
    }
}

/// What was written together was undone together.
pub(super) fn ended() -> StoreError {
    StoreError::Statement {
        permanent: true,
        message:
            "the transaction was ended from within: what shares it with the record of its step \
                  may not"
                .to_owned(),
    }
}

fn refused(error: &rusqlite::Error) -> StoreError {
    // What SQLSTATE classes 22 and 23 are elsewhere: the data itself is at fault.
    let permanent = matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::ConstraintViolation | ErrorCode::TypeMismatch | ErrorCode::TooBig)
    );
    StoreError::Statement { permanent, message: explained(error) }
}

fn explained(error: &rusqlite::Error) -> String {
    match error.sqlite_error_code() {
        Some(ErrorCode::OperationInterrupted) => format!(
            "the statement took longer than {} s: it holds up the intake, make it shorter",
            LIMIT.as_secs()
        ),
        Some(ErrorCode::AuthorizationForStatementDenied) => {
            "the statement may read, and insert, update or delete rows of your own tables: it may not \
             begin or end a transaction, change tables or settings, attach a database, or write to \
             hookonce's own tables"
                .to_owned()
        }
        _ => match error {
            rusqlite::Error::MultipleStatement => {
                "there is more than one statement: put the others into a trigger, or into sinks of \
                 their own"
                    .to_owned()
            }
            // The statement itself is the configuration's: whoever reads this has it at hand.
            rusqlite::Error::SqlInputError { msg, .. } => msg.clone(),
            error => error.to_string(),
        },
    }
}

impl ToSql for Parameter {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Self::Null => ToSqlOutput::Owned(Value::Null),
            Self::Number(number) => ToSqlOutput::Owned(Value::Integer(*number)),
            Self::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
        })
    }
}
