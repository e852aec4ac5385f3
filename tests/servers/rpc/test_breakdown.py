"""A gRPC server that breaks down: a new one takes its place."""

import contextlib

import grpc

from plyd.clients.stress.attacks.http2 import END_HEADERS, END_STREAM, HEADERS, RawConnection, frame, headers
from plyd.v1 import engine_pb2
from tests.patience import SOON, until
from tests.servers.daemons import Caller
from tests.servers.fakes import FakeEngine
from tests.servers.rpc.test_play import Table

BAD_PATH = headers("/plyd.v1.EngineService/~").replace(b"~", b"\xff")  # not UTF-8: grpcio's server ends


def answers(target):
    """Whether a daemon answers a new connection."""
    with contextlib.suppress(grpc.RpcError), Caller(target) as caller:
        return bool(caller.engine.Describe(engine_pb2.DescribeRequest(), timeout=SOON).engines)
    return False


def test_a_call_whose_path_is_not_text_does_not_end_the_daemon(open_daemon):
    daemon = open_daemon(FakeEngine())
    table = Table(daemon.caller)
    table.ask(new_game={})
    for _ in range(2):
        connection = RawConnection(daemon.target)
        connection.send(frame(HEADERS, END_HEADERS | END_STREAM, 1, BAD_PATH))
        connection.wait_for_ends(1, SOON)
        connection.close()
        until(lambda: answers(daemon.target))
    assert table.ask(moves={"moves": ["1"]}).state.text == "6 two"
    table.end()
