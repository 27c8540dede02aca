"""Takes what a `nats` sink publishes, and books each event once, until SIGTERM.

Usage: python jetstream.py URL STREAM DATABASE

Reads STREAM of the NATS server at URL by the durable consumer `books`, which it makes. The books are in
DATABASE, a file of SQLite.
  LEASE  seconds after which the server gives what this one has left to another (30)
"""

import asyncio
import os
import signal
import sqlite3
import sys

import nats
from nats.errors import Error, TimeoutError
from nats.js.api import AckPolicy, ConsumerConfig

CONSUMER = "books"

AGAIN = 0.5
"""How long to wait before asking again after the server refused, in seconds."""


async def main(url, stream, file):
    books = sqlite3.connect(file, isolation_level=None)
    books.execute("create table if not exists seen (key text primary key, at text not null)")
    books.execute("create table if not exists ledger (event_id text not null, payload text not null)")
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    # It connects again for as long as it is asked to.
    connection = await nats.connect(url, max_reconnect_attempts=-1)
    config = ConsumerConfig(
        durable_name=CONSUMER,
        ack_policy=AckPolicy.EXPLICIT,
        ack_wait=float(os.environ.get("LEASE", "30")),
        # One message at a time keeps their order.
        max_ack_pending=1,
    )
    queue = None
    while not stopped.is_set():
        try:
            if queue is None:
                await connection.jetstream().add_consumer(stream, config)
                queue = await connection.jetstream().pull_subscribe_bind(durable=CONSUMER, stream=stream)
            for message in await queue.fetch(1, timeout=1):
                book_once(books, message.headers, message.data.decode())
                # Only now, after the commit: where this process dies before, the message comes again.
                await message.ack()
        except TimeoutError:
            pass  # Nothing came.
        except Error as error:
            print(f"the server refused, asking again: {error!r}", file=sys.stderr, flush=True)
            await asyncio.sleep(AGAIN)
    await connection.close()


def book_once(books, headers, payload):
    """Books an event unless its key was seen: both in one transaction, so that neither is without
    the other, however often the message comes and whenever this process dies."""
    books.execute("begin immediate")
    try:
        new = books.execute(
            "insert or ignore into seen (key, at) values (?, ?)",
            [headers["idempotency-key"], headers["ce-time"]],
        ).rowcount
        if new:
            book(books, headers, payload)
        books.execute("commit")
    except BaseException:
        books.execute("rollback")
        raise


def book(books, headers, payload):
    """The effect: the part to replace by your own."""
    books.execute("insert into ledger values (?, ?)", [headers["ce-id"], payload])


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    asyncio.run(main(*sys.argv[1:]))
