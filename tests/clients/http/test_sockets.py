"""Play and Evaluate over a WebSocket are those by gRPC: whole games, errors of commands, and the end of a stream."""

import base64
import hashlib
import json
import math

import pytest
from google.protobuf import json_format
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from plyd.servers.access.auth import Authenticator
from plyd.v1 import engine_pb2
from tests.clients.http.bridge import BY_NAME, reply_of, timeless
from tests.clients.http.test_calls import as_json, plain
from tests.patience import SOON, until
from tests.servers.daemons import SLOW, read_out


class Socket:
    """A WebSocket to a method; use it in a `with`."""

    def __init__(self, bridge, name, **settings):
        self._url, self._settings = f"ws://{bridge.host}{BY_NAME[name].path}", settings

    def __enter__(self):
        self.socket = connect(self._url, open_timeout=SOON, close_timeout=1, legacy=True, **self._settings)
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, **fields):
        self.socket.send(json.dumps(fields))

    def hear(self):
        return json.loads(self.socket.recv(timeout=SOON))

    def rest(self):
        """All further replies, and the code and the reason that the socket closed with."""
        replies = []
        try:
            while True:
                replies.append(self.hear())
        except ConnectionClosed as closed:
            return replies, (closed.rcvd.code, closed.rcvd.reason)


COMMANDS = [
    {"id": "1", "newGame": {"position": {"start": "8 one"}}},
    {"id": "2", "moves": {"moves": ["2"]}},
    {"id": "3", "moves": {"moves": ["9"]}},
    {"id": "4", "go": {"limits": {"nodes": "3"}}},
    {"id": "5", "takeBack": {"plies": 1}},
    {"id": "6", "moves": {"moves": ["2", "2"], "go": {}}},
    {"id": "7", "stop": {}},
]


def ended(replies):
    """Replies without reports in between, which a slow reader may miss."""
    return [timeless(reply) for reply in replies if not reply.HasField("report") or reply.report.final]


def test_a_conversation_is_that_of_grpc(bridge, sticks):
    requests = [json_format.ParseDict(command, engine_pb2.PlayRequest()) for command in COMMANDS]
    expected, _ = read_out(sticks.caller.engine.Play(iter(requests), timeout=SOON))
    with Socket(bridge, "Play") as game:
        for command in COMMANDS:
            game.send(**command)
        game.socket.send("")  # no more requests
        replies, closed = game.rest()
    assert ended(reply_of("Play", reply) for reply in replies) == ended(expected)
    assert closed == (1000, "")


def test_a_whole_game_is_played(wide_bridge, fibonacci):
    with Socket(wide_bridge, "Play") as game:
        game.send(newGame={"position": {"game": "2584-2x3"}, "withoutHistory": True})
        game.hear()
        game.send(moves={"withChance": True, "seed": "3", "go": {}})
        plies, state = 0, game.hear()["state"]
        while move := game.hear()["report"].get("move"):
            game.send(moves={"moves": [move], "withChance": True, "seed": "3", "go": {}})
            plies, state = plies + 1, game.hear()["state"]
    assert plies > 20
    assert state["outcome"] != "OUTCOME_ONGOING"
    assert state["points"] > 100
    until(fibonacci.is_idle)


def test_closing_the_socket_stops_the_search(bridge, sticks):
    with Socket(bridge, "Play") as game:
        game.send(newGame={"options": SLOW})
        game.send(go={})
        until(lambda: sticks.searches.running == 1)
    until(sticks.is_idle)


@pytest.mark.parametrize(
    "requests",
    [[{"moves": {"moves": ["1"]}}], [{"newGame": {"position": {"game": "chess"}}}, {"go": {}}]],
    ids=["moves first", "unknown game"],
)
def test_a_stream_that_fails_ends_as_that_of_grpc(bridge, sticks, requests):
    given = [json_format.ParseDict(request, engine_pb2.PlayRequest()) for request in requests]
    expected, error = read_out(sticks.caller.engine.Play(iter(given), timeout=SOON))
    with Socket(bridge, "Play") as game:
        for request in requests:
            game.send(**request)
        game.socket.send("")
        replies, closed = game.rest()
    if error:
        assert plain(replies.pop()["endStream"]["error"]) == as_json(error)
        assert closed == (4000 + error.code().value[0], error.details()[:120])
    assert [reply_of("Play", reply) for reply in replies] == expected


@pytest.mark.parametrize(
    ("message", "words"),
    [("{", "in JSON"), ('{"move": 1}', 'no field named "move"'), (b"{}", "a binary message"), ("[]", "not an object")],
    ids=repr,
)
def test_a_message_that_is_no_request_ends_the_stream(bridge, sticks, message, words):
    with Socket(bridge, "Play") as game:
        game.send(newGame={})
        game.hear()
        game.socket.send(message)
        [reply], (code, reason) = game.rest()
    error = reply["endStream"]["error"]
    assert (error["code"], code) == ("invalid_argument", 4003)
    assert words in error["message"]
    assert error["message"].startswith(reason)


def test_a_message_that_is_too_large_closes_the_socket(bridge):
    with Socket(bridge, "Play") as game:
        game.socket.send(" " * ((1 << 20) + 1))
        _, (code, _) = game.rest()
    assert code == 1009


def test_batches_are_valued_in_order(wide_bridge, fibonacci):
    batches = [b"b 2 2 0 0 0 0\nnonsense\n", b"b 1 1 0 0 0 0\n"]
    with Socket(wide_bridge, "Evaluate") as values:
        for batch in batches:
            values.send(game="2584-2x3", lines=base64.b64encode(batch).decode())
        first, second = values.hear(), values.hear()
    [value, none] = [float(each) for each in first["values"]]
    assert value == pytest.approx(1422.339261)
    assert math.isnan(none)
    assert [error["line"] for error in first["errors"]] == [1]
    assert len(second["values"]) == 1


def test_a_batch_of_the_largest_size_fits(wide_bridge, fibonacci):
    line = b"b 2 2 0 0 0 0\n"
    lines = line * ((1 << 19) // len(line))
    with Socket(wide_bridge, "Evaluate", max_size=None) as values:
        values.send(game="2584-2x3", lines=base64.b64encode(lines).decode())
        assert len(values.hear()["values"]) == lines.count(b"\n")


def test_a_browser_gives_its_token_as_a_subprotocol(open_daemon, tmp_path):
    clients = tmp_path / "clients.toml"
    clients.write_text(f'[[client]]\nname = "gui"\nsha256 = "{hashlib.sha256(b"one").hexdigest()}"\n')
    _, bridge = open_daemon(auth=Authenticator(clients))
    with Socket(bridge, "Play", subprotocols=["plyd.v1", "bearer.one"]) as game:
        assert game.socket.subprotocol == "plyd.v1"
        game.send(newGame={})
        assert game.hear()["state"]["text"] == "7 one"
    with Socket(bridge, "Play") as game:
        game.send(newGame={})
        [reply], (code, _) = game.rest()
    assert (reply["endStream"]["error"]["code"], code) == ("unauthenticated", 4016)


def test_a_page_of_another_site_gets_no_socket(bridge):
    with pytest.raises(InvalidStatus) as refused, Socket(bridge, "Play", origin="http://other.example"):
        pass
    assert refused.value.response.status_code == 403
