"""What this worker does about an event: the part to replace by your own."""

import asyncio
import os
from asyncio.subprocess import PIPE

from claim import finish, keep, record_step


async def book(pool, claim):
    """The short case: one effect, in one transaction with the finish."""
    async with pool.connection() as connection, connection.transaction():
        await write(connection, claim, "booked", claim.payload)
        # If another has taken the task over meanwhile this fails, and the booking is undone.
        await finish(connection, claim)


async def book_and_print(pool, claim, command):
    """The long case: books first, and remembers it; then runs a command that may take long, and
    notes what it prints."""
    if "book" not in claim.steps:
        async with pool.connection() as connection, connection.transaction():
            await write(connection, claim, "booked", claim.payload)
            await record_step(connection, claim, "book")
    # No transaction is open meanwhile.
    receipt = await keep(pool, claim, lambda: print_receipt(claim, command))
    async with pool.connection() as connection, connection.transaction():
        await write(connection, claim, "printed", receipt)
        await finish(connection, claim)


async def write(connection, claim, entry, note):
    await connection.execute(
        "insert into ledger (event_id, entry, note) values (%s, %s, %s)", (claim.id, entry, note)
    )


async def print_receipt(claim, command):
    """Runs the command. It may run again for the same event if this process dies before the finish;
    by the key it can tell."""
    environment = {**os.environ, "IDEMPOTENCY_KEY": f"{claim.id}/{claim.route}/print"}
    process = await asyncio.create_subprocess_exec(
        command, str(claim.id), env=environment, stdout=PIPE
    )
    try:
        printed, _ = await process.communicate()
    except asyncio.CancelledError:
        process.kill()
        raise
    if process.returncode != 0:
        raise RuntimeError(f"the command ended with {process.returncode}")
    return printed.decode().strip()
