"""Daemons on real sockets and callers for them: around fake engines within this process, or processes of their own."""

import asyncio
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import grpc
import uvloop
from google.rpc.error_details_pb2 import BadRequest, RetryInfo
from google.rpc.status_pb2 import Status
from grpc_health.v1 import health_pb2_grpc

from plyd.servers.access.addresses import parse_address
from plyd.servers.daemon import Daemon
from plyd.servers.runtime import Capacity
from plyd.v1 import engine_pb2, engine_pb2_grpc, rules_pb2_grpc
from tests.patience import SOON, until

SLOW = {"reports": "1000000", "seconds_per_report": "0.02"}  # options of a fake search that never ends by itself


def search_request(start="", moves=(), **fields):
    """A SearchRequest for a daemon of one game."""
    return engine_pb2.SearchRequest(position={"start": start, "moves": moves}, **fields)


def analyze_request(start="", moves=(), **fields):
    """An AnalyzeRequest for a daemon of one game."""
    return engine_pb2.AnalyzeRequest(position={"start": start, "moves": moves}, **fields)


class Caller:
    """A channel to a daemon, and the stubs on it."""

    def __init__(self, target, *options):
        self.channel = grpc.insecure_channel(target, [("grpc.use_local_subchannel_pool", 1), *options])
        self.engine = engine_pb2_grpc.EngineServiceStub(self.channel)
        self.rules = rules_pb2_grpc.RulesServiceStub(self.channel)
        self.health = health_pb2_grpc.HealthStub(self.channel)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.channel.close()


def details_of(error):
    """The details that came with an error, in a google.rpc.Status that says the same as the error itself."""
    [status] = [Status.FromString(value) for key, value in error.trailing_metadata() if key.endswith("details-bin")]
    assert (status.code, status.message) == (error.code().value[0], error.details())
    return status.details


def field_at_fault(error):
    """The field that an error's BadRequest names."""
    fault = BadRequest()
    [detail] = details_of(error)
    assert detail.Unpack(fault)
    [violation] = fault.field_violations
    assert violation.description == error.details()
    return violation.field


def retry_seconds(error):
    """The delay that an error's RetryInfo names."""
    retry = RetryInfo()
    [detail] = details_of(error)
    assert detail.Unpack(retry)
    return retry.retry_delay.ToTimedelta().total_seconds()


def read_out(stream):
    """All that a stream gave, and the error that ended it, None if it ended well."""
    given = []
    try:
        given.extend(stream)  # what came before an error stays
    except grpc.RpcError as error:
        return given, error
    return given, None


class House:
    """One event loop in one thread, where all daemons of this process live."""

    def __init__(self):
        self.loop = uvloop.new_event_loop()
        self._thread = threading.Thread(target=self._live, daemon=True)
        self._thread.start()

    def _live(self):
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()

    def begin(self, coroutine):
        """A future of what a coroutine returns that runs in the house."""
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop)

    def close(self):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(SOON)


class OpenDaemon:
    """A daemon that listens; use it in a `with`. Warm when it opens, unless told otherwise."""

    def __init__(
        self, house, *engines, warm=True, listen="127.0.0.1:0", auth=None, credentials=None, store=None, **capacity
    ):
        self._house = house
        self.engine = engines[0]
        self._engines = {engine.card.game: engine for engine in engines}
        self._capacity = Capacity(**{"slots": 1, "queue_size": 2, **capacity})
        self._warm = warm
        self._security = (auth, credentials)
        self._store = store
        self._listen = listen
        self._stopping = None

    def __enter__(self):
        async def make():
            daemon = Daemon(self._engines, self._capacity, *self._security, store=self._store)
            return daemon, await daemon.start([parse_address(self._listen)])

        self._daemon, [address] = self._house.begin(make()).result(SOON)
        self.target = str(address)
        self.runtime = self._daemon.runtime
        self.searches = self.runtime.searches
        self.caller = Caller(self.target)
        warming = self._house.begin(self._daemon.warm_up())
        if self._warm:
            warming.result(120)
        return self

    def __exit__(self, *_):
        self.caller.channel.close()
        self.stop().result(SOON)

    def stop(self, grace_seconds=5.0):
        """Begin to drain; a future of whether all ended well."""
        self._stopping = self._stopping or self._house.begin(self._daemon.stop(grace_seconds))
        return self._stopping

    def is_idle(self):
        """Whether no search runs or waits and no call is under way."""
        return self.searches.running == self.searches.waiting == self.runtime.calls == 0

    def occupied(self, **fields):
        """A call whose search holds a slot of fake engines, and ends only when it is cancelled."""
        asked, running = len(self.engine.asked), self.searches.running
        call = self.caller.engine.Search.future(search_request(options=SLOW, **fields))
        until(lambda: (len(self.engine.asked), self.searches.running) == (asked + 1, running + 1))
        return call


class Process:
    """`plyd serve` as a process of its own; use it in a `with`."""

    def __init__(self, folder, *arguments, games=("2584-2x3",)):
        self._errors = Path(folder) / f"stderr-{time.monotonic_ns()}"
        with self._errors.open("wb") as errors:
            self._popen = subprocess.Popen(
                [sys.executable, "-m", "plyd.clients", "serve", *games, *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        self.pid = self._popen.pid
        self._watchdog = threading.Timer(120, self._popen.kill)  # no test waits for ever
        self._watchdog.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._watchdog.cancel()
        self._popen.kill()
        self._popen.communicate()

    def addresses(self, count=1):
        """Where it serves, once it says so."""
        lines = [self._popen.stdout.readline() for _ in range(count)]
        assert all(line.startswith("serving 2584-2x3 on ") for line in lines), self.said()
        return [line.split(" on ")[1].strip() for line in lines]

    def signal(self, number):
        os.kill(self.pid, number)

    def close_stdin(self):
        self._popen.stdin.close()
        self._popen.stdin = None

    def exit_status(self, seconds=SOON):
        """How it ended, once it has."""
        return self._popen.wait(seconds)

    def rest_of_stdout(self):
        """What it printed since it was last looked at, once it has ended."""
        return self._popen.stdout.read()

    def said(self):
        """What it has written to stderr."""
        return self._errors.read_text()

    def log(self):
        """The whole lines of a log in JSON; the last one may still be on its way."""
        return [json.loads(line) for line in self.said().rpartition("\n")[0].splitlines()]

    def requests(self):
        """The log lines of requests."""
        return [line for line in self.log() if line["message"] == "request"]
