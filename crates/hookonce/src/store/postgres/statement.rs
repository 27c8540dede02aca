//! A user's statement: its parameters, and what its errors mean to the retry policy.

mod parameters;

use std::error::Error;

use bytes::BytesMut;
use tokio::time::timeout;
use tokio_postgres::types::{Format, IsNull, ToSql, Type, to_sql_checked};

use super::error::{Failed, again, told};
use super::fate::{self, Number};
use super::finish::{self, Ending};
use super::pool::{Connection, Pool, Typed};
use super::rows;
use crate::store::{Parameter, Statement, StepDone, StoreError};
use crate::task::{Claim, Outcome, StepState};

/// Words that a statement begins with. Others would end the transaction that it shares with the record of
/// its step, or speak another protocol, or do what no transaction can.
const BEGINNINGS: [&str; 8] =
    ["select", "insert", "update", "delete", "merge", "with", "call", "values"];

/// Runs the statement and writes what it stands for, while the token holds.
pub(super) async fn finish_with(
    pool: &Pool,
    claim: &Claim,
    done: StepDone<'_>,
    statement: &Statement,
) -> Result<(), StoreError> {
    again!({
        let connection = pool.for_users(statement.timeout).await?;
        let run = async {
            let begin = connection.begin("begin");
            let ((), number) = tokio::try_join!(begin, holds(&connection, claim))?;
            let number = number.ok_or(StoreError::Lost)?;
            run(&connection, statement).await?;
            Ok(number)
        };
        let number = match timeout(statement.timeout, run).await {
            Ok(Ok(number)) => number,
            // The connection is closed, and the server told to give up.
            Err(_) => return Err(took_too_long(statement).into()),
            Ok(Err(failed)) => {
                // A connection that can't even do this is not used again.
                let _ = connection.end("rollback").await;
                return Err(failed);
            }
        };
        let write = write(&connection, claim, done);
        let (written, ended) = tokio::join!(write, connection.end("commit"));
        let failed = match (written, ended) {
            (Ok(()), Ok(())) => return Ok(()),
            // What is refused is not committed: the commit after it has rolled back.
            (Err(failed), _) if !failed.leaves_unknown() => return Err(failed),
            (Err(failed), _) | (Ok(()), Err(failed)) => failed,
        };
        drop(connection);
        fate::learn(pool, failed, &number).await.map_err(|failed| match failed {
            // A constraint may be checked only here.
            Failed::Database(error) => refused(error),
            failed => failed,
        })
    })
}

fn took_too_long(statement: &Statement) -> StoreError {
    StoreError::Statement {
        permanent: false,
        message: format!(
            "the statement took longer than {} s and was cut off: see what it waits for, or raise \
             the sink's `timeout`",
            statement.timeout.as_secs_f64()
        ),
    }
}

/// Keeps the claim until the transaction ends, if its token holds, and gives the transaction's number.
async fn holds(connection: &Connection, claim: &Claim) -> Result<Option<Number>, Failed> {
    let (seq, route, token) = (claim.event.seq, &*claim.route, rows::token(claim.token));
    let parameters: [Typed<'_>; 3] =
        [(&seq, Type::INT8), (&route, Type::TEXT), (&token, Type::UUID)];
    let held = connection.query_typed(include_str!("holds.sql"), &parameters).await?;
    Ok(held.first().map(Number::of).transpose()?)
}

/// Runs the user's statement.
async fn run(connection: &Connection, statement: &Statement) -> Result<(), Failed> {
    check_beginning(&statement.sql)?;
    let (sql, names) = parameters::numbered(&statement.sql);
    let values: Vec<Value<'_>> = names.iter().map(|name| Value::of(statement, name)).collect();
    let values: Vec<Typed<'_>> = values.iter().map(|value| (value as _, Type::UNKNOWN)).collect();
    // Executed, not queried: the driver would ask for the types of what it gives by named statements.
    connection.execute_typed(&sql, &values).await.map_err(refused)?;
    Ok(())
}

/// Writes what the statement stands for.
async fn write(connection: &Connection, claim: &Claim, done: StepDone<'_>) -> Result<(), Failed> {
    match done {
        StepDone::Task => {
            let ending = Ending::new(claim, &Outcome::Completed);
            finish::finish(&[&ending], &***connection).await.map(drop)
        }
        StepDone::Step(name) => {
            let (seq, route, token) = (claim.event.seq, &*claim.route, rows::token(claim.token));
            let (state, result) = (StepState::Done.as_str(), None::<&str>);
            let parameters: [Typed<'_>; 6] = [
                (&seq, Type::INT8),
                (&route, Type::TEXT),
                (&token, Type::UUID),
                (&name, Type::TEXT),
                (&state, Type::TEXT),
                (&result, Type::TEXT),
            ];
            connection.query_typed(include_str!("record_step.sql"), &parameters).await?;
            Ok(())
        }
    }
}

/// Prepares the statement and says what is wrong with it.
pub(super) async fn check(pool: &Pool, sql: &str, known: &[&str]) -> Result<(), StoreError> {
    let wrong = |message: String| StoreError::Statement { permanent: true, message };
    let (numbered, names) = parameters::numbered(sql);
    if let Some(name) = names.iter().find(|name| !known.contains(&&***name)) {
        return Err(wrong(format!(
            "there is no parameter `:{name}`; there are :{}",
            known.join(" :")
        )));
    }
    check_beginning(sql)?;
    // The driver names what it prepares, and remembers it. Behind PgBouncer names don't outlive a
    // transaction: so all of it is done in one, and forgotten there and here.
    let mut connection = pool.get().await?.alone();
    let transaction = connection.transaction().await.map_err(Failed::from)?;
    let types = vec![Type::UNKNOWN; names.len()];
    let prepared = transaction.prepare_typed(&numbered, &types).await;
    let forgotten = transaction.batch_execute(include_str!("forget_prepared.sql")).await;
    match prepared {
        Err(error) if error.code().is_some() => Err(wrong(explained(&error))),
        Err(error) => Err(Failed::from(error).into()),
        Ok(_) => forgotten.map_err(|error| Failed::from(error).into()),
    }
}

/// Fails if the statement doesn't begin with a word that it may.
fn check_beginning(sql: &str) -> Result<(), StoreError> {
    let first = parameters::first_word(sql).to_ascii_lowercase();
    if BEGINNINGS.contains(&&*first) {
        return Ok(());
    }
    let message = format!(
        "a statement begins with {}, and this one with `{first}`: it shares a transaction with the \
         record of its step; a `call` of a procedure, or a function, may do what else is needed",
        BEGINNINGS.map(|word| format!("`{word}`")).join(", ")
    );
    Err(StoreError::Statement { permanent: true, message })
}

/// What an error of the statement means: classes 22 and 23 tell of the data itself, 25 of a server
/// that takes no writes.
pub(super) fn refused(error: tokio_postgres::Error) -> Failed {
    match error.code().map(|code| &code.code()[..2]) {
        None | Some("08" | "25" | "40" | "53" | "57") => error.into(),
        Some(class) => Failed::Told(StoreError::Statement {
            permanent: ["22", "23"].contains(&class),
            message: explained(&error),
        }),
    }
}

fn explained(error: &tokio_postgres::Error) -> String {
    error.as_db_error().map_or_else(
        || error.to_string(),
        |said| {
            let detail = said.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
            told(said) + &detail
        },
    )
}

/// A parameter as text, whose type the server takes from where it stands.
#[derive(Debug)]
struct Value<'a>(Option<std::borrow::Cow<'a, str>>);

impl<'a> Value<'a> {
    fn of(statement: &'a Statement, name: &str) -> Self {
        let found = statement.parameters.iter().find(|(known, _)| *known == name);
        Self(match found.map(|(_, value)| value) {
            None | Some(Parameter::Null) => None,
            Some(Parameter::Number(number)) => Some(number.to_string().into()),
            Some(Parameter::Text(text)) => Some(text.as_str().into()),
        })
    }
}

impl ToSql for Value<'_> {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        let Some(text) = &self.0 else { return Ok(IsNull::Yes) };
        out.extend_from_slice(text.as_bytes());
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, _: &Type) -> Format {
        Format::Text
    }

    to_sql_checked!();
}
