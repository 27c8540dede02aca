"""A worker for events of hookonce, with psycopg: claims one event after another until SIGTERM.

Usage: python worker.py DATABASE ROUTE LONG_ROUTE COMMAND

Books each event of both routes once; of LONG_ROUTE it then runs COMMAND with the event's id.
  LEASE  seconds after which another worker takes over what this one has left (60)
"""

import asyncio
import os
import signal
import sys

import psycopg
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from claim import is_lost, next_claim, retry
from handler import book, book_and_print

IDLE = 1.0
"""How long to wait before asking again when nothing is due, in seconds."""


async def main(database, route, long_route, command):
    lease = float(os.environ.get("LEASE", "60"))
    name = f"python:{os.getpid()}"
    stopping = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopping.set)
    handlers = {
        route: book,
        long_route: lambda pool, claim: book_and_print(pool, claim, command),
    }
    pool = AsyncConnectionPool(
        database,
        # One connection to work, one to extend the lease meanwhile.
        min_size=1,
        max_size=2,
        check=AsyncConnectionPool.check_connection,
        # Without named statements, so that it works behind PgBouncer, too.
        kwargs={"autocommit": True, "prepare_threshold": None},
        open=False,
    )
    async with pool:
        while not stopping.is_set():
            try:
                if await turn(pool, name, handlers, lease):
                    continue
            except (psycopg.Error, PoolTimeout) as error:
                print(f"the database refused, asking again: {error}", file=sys.stderr, flush=True)
            try:
                await asyncio.wait_for(stopping.wait(), IDLE)
            except asyncio.TimeoutError:
                pass


async def turn(pool, name, handlers, lease):
    """Claims one event and handles it; says whether one was due."""
    claim = await next_claim(pool, name, list(handlers), lease)
    if claim is None:
        return False
    where = f"{claim.route} {claim.id}"
    try:
        try:
            await handlers[claim.route](pool, claim)
        except Exception as error:
            if is_lost(error):
                raise
            # The first line only: what a database says below it may show what is in a row.
            why = f"{type(error).__name__}: {error}".splitlines()[0]
            print(f"{where}: this attempt failed: {why}", file=sys.stderr, flush=True)
            await retry(pool, claim, why)
    except psycopg.Error as error:
        if not is_lost(error):
            raise
        print(f"{where}: the claim was lost, nothing written", file=sys.stderr, flush=True)
    return True


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    asyncio.run(main(*sys.argv[1:]))
