#!/usr/bin/env python3
"""Stands in for WhatsApp's API: takes each event once, and writes down what it would send.

Usage: whatsapp.py PORT OUTBOX

The events come from the sink `reply`. The answer to each is in the database, DATABASE_URL; what
would be posted to WhatsApp is appended to OUTBOX, a line of JSON for each Idempotency-Key.
"""

import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

QUERY = Path(__file__).with_name("answer.sql")


class Outbox:
    """What was sent: a key that is in it is not sent again."""

    def __init__(self, path):
        self.lock = threading.Lock()
        self.file = open(path, "a+b", buffering=0)
        self.file.seek(0)
        lines = self.file.read()
        # What a crash cut off in the midst was not sent, nor answered.
        whole = lines.rfind(b"\n") + 1
        self.file.truncate(whole)
        self.keys = {json.loads(line)["key"] for line in lines[:whole].splitlines()}

    def send(self, key, post):
        """Writes it down unless its key is known, and returns once it is on the disk."""
        with self.lock:
            if key in self.keys:
                return
            self.file.write(json.dumps({"key": key, **post}).encode() + b"\n")
            os.fsync(self.file.fileno())
            self.keys.add(key)


class Receiver(BaseHTTPRequestHandler):
    """Answers 200 once a confirmation is in the outbox; anything else makes the event come again."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        webhook = json.loads(self.rfile.read(int(self.headers["content-length"])))
        answer = answer_to(self.headers["ce-id"])
        if answer is None:
            self.finish_with(503, b"the answer can't be read from the database\n")
            return
        self.server.outbox.send(self.headers["idempotency-key"], post_of(webhook, answer))
        self.finish_with(200, b"")

    def finish_with(self, status, body):
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_request(self, *_):
        """Says nothing: what goes well is in the outbox."""


def answer_to(event):
    """What `khata.book` wrote as the answer to this event."""
    command = ["psql", "--no-psqlrc", "--quiet", "--tuples-only", "--no-align"]
    command += ["--set", "ON_ERROR_STOP=1", "--set", f"event={event}", "--file", QUERY]
    done = subprocess.run([*command, os.environ["DATABASE_URL"]], stdout=subprocess.PIPE, text=True)
    return done.stdout.strip() or None if done.returncode == 0 else None


def post_of(webhook, answer):
    """The call of WhatsApp's API that quotes the message and answers it."""
    value = webhook["entry"][0]["changes"][0]["value"]
    message = value["messages"][0]
    # Somebody with a username may have an id in place of a number.
    has_number = "from" in message
    to = {"to": message["from"]} if has_number else {"recipient": message["from_user_id"]}
    body = {
        "messaging_product": "whatsapp",
        **to,
        "context": {"message_id": message["id"]},
        "type": "text",
        "text": {"body": answer},
    }
    return {"path": f"/{value['metadata']['phone_number_id']}/messages", "body": body}


def main():
    if len(sys.argv) != 3 or "DATABASE_URL" not in os.environ:
        sys.exit(__doc__)
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver)
    server.outbox = Outbox(sys.argv[2])
    print(f"takes events at http://127.0.0.1:{server.server_port}/", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass


main()
