//! What this worker does about an event: the part to replace by your own.

use sqlx::{PgConnection, PgPool};
use tokio::process::Command;

use crate::claim::Claim;

/// The short case: one effect, in one transaction with the finish.
pub async fn book(pool: &PgPool, claim: &Claim) -> sqlx::Result<()> {
    let mut tx = pool.begin().await?;
    write(&mut tx, claim, "booked", &claim.payload).await?;
    // If another has taken the task over meanwhile this fails, and the booking is undone.
    claim.finish(&mut tx).await?;
    tx.commit().await
}

/// The long case: books first, and remembers it; then runs a command that may take long, and notes
/// what it prints.
pub async fn book_and_print(pool: &PgPool, claim: &Claim, command: &str) -> sqlx::Result<()> {
    if !claim.has_done("book") {
        let mut tx = pool.begin().await?;
        write(&mut tx, claim, "booked", &claim.payload).await?;
        claim.record_step(&mut tx, "book").await?;
        tx.commit().await?;
    }
    // No transaction is open meanwhile.
    let receipt = claim.keep(pool, print(claim, command)).await??;
    let mut tx = pool.begin().await?;
    write(&mut tx, claim, "printed", &receipt).await?;
    claim.finish(&mut tx).await?;
    tx.commit().await
}

async fn write(tx: &mut PgConnection, claim: &Claim, entry: &str, note: &str) -> sqlx::Result<()> {
    let insert = sqlx::query("insert into ledger (event_id, entry, note) values ($1, $2, $3)");
    insert.bind(claim.id).bind(entry).bind(note).execute(tx).await.map(drop)
}

/// Runs the command. It may run again for the same event if this process dies before the finish; by
/// the key it can tell.
async fn print(claim: &Claim, command: &str) -> std::io::Result<String> {
    let Claim { id, route, .. } = claim;
    let mut command = Command::new(command);
    command.arg(id.to_string()).env("IDEMPOTENCY_KEY", format!("{id}/{route}/print"));
    let printed = command.kill_on_drop(true).output().await?;
    if !printed.status.success() {
        return Err(std::io::Error::other(format!("the command ended with {}", printed.status)));
    }
    Ok(String::from_utf8_lossy(&printed.stdout).trim().to_owned())
}
