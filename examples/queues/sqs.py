"""Takes what an `sqs` sink sends, and books each event once, until SIGTERM.

Usage: python sqs.py QUEUE_URL DATABASE

The books are in DATABASE, a file of SQLite. Region and keys are those of the environment, the profile or the
machine's role.
  LEASE  seconds after which the queue gives what this one has left to another (30)
"""

import os
import signal
import sqlite3
import sys
import time

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

AGAIN = 0.5
"""How long to wait before asking again after the queue refused, in seconds."""


def main(url, file):
    books = sqlite3.connect(file, isolation_level=None)
    books.execute("create table if not exists seen (key text primary key, at text not null)")
    books.execute("create table if not exists ledger (event_id text not null, payload text not null)")
    stopped = []
    signal.signal(signal.SIGTERM, lambda *_: stopped.append(True))
    queue = boto3.client("sqs", config=Config(retries={"total_max_attempts": 1}))
    while not stopped:
        try:
            answer = queue.receive_message(
                QueueUrl=url,
                MessageAttributeNames=["All"],
                VisibilityTimeout=int(os.environ.get("LEASE", "30")),
                # Longer costs less, and is how late SIGTERM is heard.
                WaitTimeSeconds=1,
            )
            for message in answer.get("Messages", []):
                attributes = {name: of.get("StringValue") for name, of in message.get("MessageAttributes", {}).items()}
                if "idempotency-key" not in attributes:
                    # Nothing of ours; the queue's redrive policy says what becomes of it.
                    print(f"not an event: message {message['MessageId']}", file=sys.stderr, flush=True)
                    continue
                book_once(books, attributes, message["Body"])
                # Only now, after the commit: where this process dies before, the message comes again.
                queue.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        except (BotoCoreError, ClientError) as error:
            print(f"the queue refused, asking again: {error}", file=sys.stderr, flush=True)
            time.sleep(AGAIN)


def book_once(books, attributes, payload):
    """Books an event unless its key was seen: both in one transaction, so that neither is without
    the other, however often the message comes and whenever this process dies."""
    books.execute("begin immediate")
    try:
        new = books.execute(
            "insert or ignore into seen (key, at) values (?, ?)",
            [attributes["idempotency-key"], attributes["ce-time"]],
        ).rowcount
        if new:
            book(books, attributes, payload)
        books.execute("commit")
    except BaseException:
        books.execute("rollback")
        raise


def book(books, attributes, payload):
    """The effect: the part to replace by your own."""
    books.execute("insert into ledger values (?, ?)", [attributes["ce-id"], payload])


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
