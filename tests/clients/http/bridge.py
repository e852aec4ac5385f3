"""A bridge to daemons on a socket of its own, and HTTP callers for it."""

import json
import socket
import urllib.error
import urllib.request

import uvicorn
from google.protobuf import json_format

from plyd.clients.http.app import make_app
from plyd.clients.http.cli import MAX_MESSAGE_BYTES
from plyd.clients.http.codec import ENVELOPE, in_envelope
from plyd.clients.http.methods import METHODS
from tests.patience import SOON, until

BY_NAME = {method.name: method for method in METHODS}
JSON = {"Content-Type": "application/json"}
STREAM = {"Content-Type": "application/connect+json"}


class Bridge:
    """A bridge; use it in a `with`."""

    def __init__(self, house, *targets, **settings):
        self._house, self._targets, self._settings = house, targets, settings

    def __enter__(self):
        listener = socket.create_server(("127.0.0.1", 0))
        self.host = f"127.0.0.1:{listener.getsockname()[1]}"
        app = make_app(self._targets, **self._settings)
        config = uvicorn.Config(app, ws_max_size=MAX_MESSAGE_BYTES, log_level="error", timeout_graceful_shutdown=1)
        self._server = uvicorn.Server(config)
        self._serving = self._house.begin(self._server.serve(sockets=[listener]))
        until(lambda: self._server.started)
        return self

    def __exit__(self, *_):
        self._server.should_exit = True
        self._serving.result(SOON)

    def ask(self, path, data=None, method=None, **headers):
        """The status, the headers and the body of an answer."""
        request = urllib.request.Request(f"http://{self.host}{path}", data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=SOON) as answer:
                return answer.status, answer.headers, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.headers, error.read()

    def post(self, name, data, **headers):
        """The status and the JSON of the answer to a call."""
        data = data if isinstance(data, bytes) else json.dumps(data).encode()
        status, _, body = self.ask(BY_NAME[name].path, data, **JSON | headers)
        return status, json.loads(body)

    def stream(self, name, data, **headers):
        """The messages of a stream, and its end."""
        data = data if isinstance(data, bytes) else in_envelope(json.dumps(data).encode())
        status, answered, body = self.ask(BY_NAME[name].path, data, **STREAM | headers)
        assert (status, answered["content-type"]) == (200, STREAM["Content-Type"])
        *messages, (flags, end) = envelopes(body)
        assert flags == 2
        assert all(flags == 0 for flags, _ in messages)
        return [message for _, message in messages], end


def envelopes(body):
    """The flags and the JSON of every envelope."""
    while body:
        flags, length = ENVELOPE.unpack_from(body)
        yield flags, json.loads(body[ENVELOPE.size :][:length])
        body = body[ENVELOPE.size + length :]


def reply_of(name, fields):
    """A reply in JSON as a message, without what differs from call to call."""
    return timeless(json_format.ParseDict(fields, BY_NAME[name].response()))


def timeless(message):
    """A message whose reports have no times."""
    if any(field.name == "report" for field, _ in message.ListFields()):
        for name in ("elapsed_us", "waited_us"):
            message.report.ClearField(name)
    return message
