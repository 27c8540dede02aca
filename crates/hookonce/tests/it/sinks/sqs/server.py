"""An SQS for tests, which is what it was when it is started again.

Usage: python server.py PORT FILE

Queues and messages are kept in FILE, as what was asked, and asked again by itself at the start.
"""

import io
import json
import pickle
import sys
from pathlib import Path

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from moto.sqs import sqs_backends
from moto.sqs.models import Queue
from werkzeug.serving import WSGIRequestHandler, run_simple
from werkzeug.test import Client, EnvironBuilder
from werkzeug.wrappers import Request

ACCOUNT, REGION = "123456789012", "eu-central-1"


class Kept:
    """Answers a request once it is in the file."""

    def __init__(self, app, path):
        self.app = app
        kept = list(unpickled(path))
        deleted = {key for asked in kept if "deleted" in asked for key in asked["deleted"]}
        # A new file: the last that was kept may have been cut off.
        rest = path.with_suffix(".new")
        self.file = rest.open("wb")
        for asked in kept:
            if "deleted" not in asked and sent_as(asked["data"]) not in deleted:
                Client(app).open(EnvironBuilder(**asked))
                self.keep(asked)
        rest.replace(path)

    def __call__(self, environ, start_response):
        request = Request(environ)
        data = request.get_data()
        action = request.headers.get("X-Amz-Target", "").rpartition(".")[2]
        if action == "DeleteMessageBatch":
            self.keep({"deleted": deleted_by(json.loads(data))})
        elif action != "ReceiveMessage":
            self.keep({
                "method": request.method,
                "base_url": request.host_url,
                "path": request.path,
                "query_string": request.query_string,
                "headers": list(request.headers),
                "data": data,
            })
        environ["wsgi.input"] = io.BytesIO(data)
        return self.app(environ, start_response)

    def keep(self, asked):
        self.file.write(pickle.dumps(asked))
        self.file.flush()


def sent_as(data):
    """By what a message's copies are known; none of what is no message to a FIFO queue."""
    return json.loads(data).get("MessageDeduplicationId")


def deleted_by(asked):
    queue = sqs_backends[ACCOUNT][REGION].queues[asked["QueueUrl"].rpartition("/")[2]]
    handles = {entry["ReceiptHandle"] for entry in asked["Entries"]}
    return [message.deduplication_id for message in queue._messages if message.receipt_handle in handles]


def unpickled(path):
    if not path.exists():
        return
    with path.open("rb") as file:
        while True:
            try:
                yield pickle.load(file)
            except (EOFError, pickle.UnpicklingError):
                return


class Quiet(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_request(self, *_):
        pass


# Nobody asks for these, and they are counted again for each message that comes.
for number in ("", "_delayed", "_not_visible"):
    setattr(Queue, f"approximate_number_of_messages{number}", 0)
app = Kept(DomainDispatcherApplication(create_backend_app), Path(sys.argv[2]))
run_simple("127.0.0.1", int(sys.argv[1]), app, threaded=True, request_handler=Quiet)
