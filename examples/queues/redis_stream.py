"""Reads what a `redis-stream` sink appends, and books each event once, until SIGTERM.

Usage: python redis_stream.py URL STREAM DATABASE NAME

Reads STREAM of the Redis at URL as NAME of the consumer group `books`, which it makes. The books are
in DATABASE, a file of SQLite.
  IDLE  seconds after which it takes over what another of the group has read and not finished (60)
"""

import os
import signal
import sqlite3
import sys
import time

import redis

GROUP = "books"
WAIT = 1000
"""How long to wait for new entries at a time, in milliseconds."""


def main(url, stream, file, name):
    books = sqlite3.connect(file, isolation_level=None)
    books.execute("create table if not exists seen (key text primary key, at text not null)")
    books.execute("create table if not exists ledger (event_id text not null, payload text not null)")
    idle = int(float(os.environ.get("IDLE", "60")) * 1000)
    queue = redis.Redis.from_url(url, decode_responses=True, socket_timeout=10)
    running = True

    def stop(*_):
        nonlocal running
        running = False

    signal.signal(signal.SIGTERM, stop)
    while running:
        try:
            make_group(queue, stream)
            # What this one, under its name, had read before it died; then what others left.
            handle(queue, stream, books, read(queue, stream, name, "0"))
            handle(queue, stream, books, queue.xautoclaim(stream, GROUP, name, idle, count=100)[1])
            handle(queue, stream, books, read(queue, stream, name, ">"))
        except redis.RedisError as error:
            print(f"Redis refused, asking again: {error}", file=sys.stderr, flush=True)
            time.sleep(0.5)


def make_group(queue, stream):
    """Makes the group, which begins with the oldest entry; it may be there already."""
    try:
        queue.xgroup_create(stream, GROUP, id="0", mkstream=True)
    except redis.ResponseError as error:
        if not str(error).startswith("BUSYGROUP"):
            raise


def read(queue, stream, name, after):
    found = queue.xreadgroup(GROUP, name, {stream: after}, count=100, block=WAIT)
    entries = dict(found).get(stream, [])
    # Protocol 3 gives a list of lists.
    return entries[0] if entries and isinstance(entries[0], list) else entries


def handle(queue, stream, books, entries):
    """Books entries in their order, and says of each that it is done, once that is committed."""
    for entry, fields in entries:
        # What was trimmed before it was read has no fields any more.
        if fields:
            book_once(books, fields)
        queue.xack(stream, GROUP, entry)


def book_once(books, fields):
    """Books an event unless its key was seen: both in one transaction, so that neither is without
    the other, however often the entry comes and whenever this process dies."""
    books.execute("begin immediate")
    try:
        new = books.execute(
            "insert or ignore into seen (key, at) values (?, ?)",
            [fields["idempotency-key"], fields["ce-time"]],
        ).rowcount
        if new:
            book(books, fields)
        books.execute("commit")
    except BaseException:
        books.execute("rollback")
        raise


def book(books, fields):
    """The effect: the part to replace by your own."""
    books.execute("insert into ledger values (?, ?)", [fields["ce-id"], fields["data"]])


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    main(*sys.argv[1:])
