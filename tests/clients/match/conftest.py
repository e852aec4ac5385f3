"""A match against the session's daemon of Connect Four, fake engines, and a stand-in for the private daemon."""

from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest

from plyd.clients.cli import PROGRAM
from plyd.clients.match import connect
from plyd.v1 import engine_pb2_grpc
from tests.clients.match.fakes import Fake
from tests.clients.match.matches import invoke
from tests.patience import SOON


@pytest.fixture
def play(connect4):
    """Run a match in which both sides use the session's daemon; the result of the program."""

    def play(*arguments, first="", second="", exit_code=0):
        sides = ["--first", f"at={connect4} {first}", "--second", f"at={connect4} {second}"]
        done = invoke("match", "connect4", *sides, *arguments)
        assert done.exit_code == exit_code, done.stderr
        return done

    return play


@pytest.fixture
def fake():
    """A function that serves a fake engine and returns its address; `stop` ends all of them."""
    servers = []

    def fake(answer):
        server = grpc.server(ThreadPoolExecutor(8))
        engine_pb2_grpc.add_EngineServiceServicer_to_server(Fake(answer), server)
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        servers.append(server)
        return f"127.0.0.1:{port}"

    def stop():
        for server in servers:
            server.stop(None).wait(SOON)

    fake.stop, fake.servers = stop, servers
    yield fake
    stop()


@pytest.fixture
def private_daemons(connect4, monkeypatch):
    """The games of the private daemons that were started; the session's daemon stands in for them."""
    started = []

    class StandIn:
        target = connect4

        def __init__(self, *games, settings=(), program=PROGRAM):
            started.append((*games, *settings, *(() if program is PROGRAM else program)))

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

    monkeypatch.setattr(connect, "EmbeddedDaemon", StandIn)
    return started
