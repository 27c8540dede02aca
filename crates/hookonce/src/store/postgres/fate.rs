//! What became of a transaction whose commit was not answered.
//!
//! The server remembers the outcome of each number; a transaction that is to be asked for learns its
//! number before it commits.

use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::error::{Failed, Tries};
use super::pool::{Pool, Transaction, Typed};

/// A transaction's number, as text.
pub(super) struct Number(String);

/// Asks for the number of this transaction.
pub(super) async fn number(transaction: &Transaction<'_>) -> Result<Number, Failed> {
    let row = transaction.query_typed_one(include_str!("fate_number.sql"), &[]).await?;
    Ok(Number(row.try_get(0)?))
}

/// Commits. Where the answer is lost, the server is asked: `Ok` means that it was done, and an error that
/// may pass that it was not.
pub(super) async fn commit(
    pool: &Pool,
    transaction: Transaction<'_>,
    number: &Number,
) -> Result<(), Failed> {
    let Err(failed) = transaction.commit().await.map_err(Failed::from) else { return Ok(()) };
    if !failed.leaves_unknown() {
        return Err(failed);
    }
    let mut tries = Tries::default();
    loop {
        match fate(pool, number).await {
            Ok(Some(true)) => return Ok(()),
            Ok(Some(false)) => return Err(failed),
            // It is being written still, or the server is on its way back.
            Ok(None) if tries.next().await => {}
            Err(again) if (again.leaves_unknown() || again.may_pass()) && tries.next().await => {}
            Ok(None) => return Err(Failed::NoConnection("a commit was not answered".to_owned())),
            Err(failed) => return Err(failed),
        }
    }
}

/// Whether it was committed; nothing while it runs.
async fn fate(pool: &Pool, Number(number): &Number) -> Result<Option<bool>, Failed> {
    let parameters: [Typed<'_>; 1] = [(number, Type::TEXT)];
    let found = pool.query(include_str!("fate.sql"), &parameters).await;
    let found = match found {
        // A server that took over without having heard of it says that the number is yet to come.
        Err(failed) if failed.is_of_the_data() => return Ok(Some(false)),
        found => found?,
    };
    let word: Option<&str> = found.first().map(|row| row.try_get(0)).transpose()?.flatten();
    Ok(word.filter(|word| *word != "in progress").map(|word| word == "committed"))
}

/// Runs one statement in a transaction of its own, whose fate is known.
pub(super) async fn write(
    pool: &Pool,
    sql: &str,
    parameters: &[Typed<'_>],
) -> Result<Vec<Row>, Failed> {
    let mut connection = pool.get().await?;
    let transaction = connection.transaction().await?;
    let number = number(&transaction).await?;
    let rows = transaction.query_typed(sql, parameters).await?;
    commit(pool, transaction, &number).await?;
    Ok(rows)
}
