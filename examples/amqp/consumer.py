"""Books each event of a RabbitMQ queue once, with pika, until SIGTERM.

Usage: python consumer.py URL QUEUE DATABASE

DATABASE is a file of SQLite; it is made where there is none.
"""

import signal
import sqlite3
import sys
import time

import pika
from pika.exceptions import AMQPError

PREFETCH = 20
"""How many messages the broker hands over before the first of them is acknowledged."""

AGAIN = 1.0
"""How long to wait before connecting again, in seconds."""

SCHEMA = """
create table if not exists seen (key text primary key, at text not null default current_timestamp);
create table if not exists ledger (event text, lane text, note text);
"""


def main(url, queue, database):
    signal.signal(signal.SIGTERM, stop)
    book = sqlite3.connect(database)
    book.executescript(SCHEMA)
    while True:
        try:
            consume(url, queue, book)
        except AMQPError as error:
            print(f"the broker is away, connecting again: {error!r}", file=sys.stderr, flush=True)
            time.sleep(AGAIN)


def consume(url, queue, book):
    """Handles one message after another, so that they stay in the queue's order."""
    with pika.BlockingConnection(pika.URLParameters(url)) as connection:
        channel = connection.channel()
        channel.basic_qos(prefetch_count=PREFETCH)
        for method, properties, body in channel.consume(queue):
            with Unstopped():
                handle(book, properties, body.decode())
                # Only now, after the commit: where this process dies before, the message comes again.
                channel.basic_ack(method.delivery_tag)


def handle(book, properties, payload):
    """The key and the booking, or neither. A copy finds its key there and books nothing."""
    headers = properties.headers
    with book:
        seen = book.execute(
            "insert into seen (key) values (?) on conflict do nothing",
            (headers["idempotency-key"],),
        )
        if seen.rowcount == 1:
            book.execute(
                "insert into ledger (event, lane, note) values (?, ?, ?)",
                (headers["cloudEvents_id"], headers.get("cloudEvents_subject"), payload),
            )


class Unstopped:
    """Puts a SIGTERM off until what is begun is done."""

    inside = False
    asked = False

    def __enter__(self):
        Unstopped.inside = True

    def __exit__(self, *_):
        Unstopped.inside = False
        if Unstopped.asked:
            sys.exit()


def stop(*_):
    Unstopped.asked = True
    if not Unstopped.inside:
        sys.exit()


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
