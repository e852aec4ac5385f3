"""The honest caller: a process of its own that makes small calls at a steady rate, whether answers come or not.

The process reads lines from stdin. The first is JSON (target, token). Then `measure` begins a period, and `report` ends
it: the process waits for the answers that are due and prints the figures of the period (JSON: milliseconds, errors,
delay_ms). Most calls are rules queries and searches of a solved position; now and then one is a short search with a
time limit, of which only the time after the limit counts; there is never more than one of these at once.
"""

import asyncio
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import grpc.aio

from plyd.clients.cli import PROGRAM
from plyd.clients.library.errors import Unavailable
from plyd.v1 import engine_pb2, engine_pb2_grpc, rules_pb2, rules_pb2_grpc
from plyd.v1.position_pb2 import Position
from plyd.v1.search_pb2 import Limits

CALLS_PER_SECOND = 50
TIMED_EVERY = 12  # one call of so many is a search with a time limit
MOVE_TIME_MS = 50
TIMEOUT_SECONDS = 10.0  # of each call


@dataclass
class Period:
    """What an honest caller saw: the milliseconds of each answer, and the calls without one by status."""

    milliseconds: list[float] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)
    delay_ms: float = 0.0
    """The maximum delay of the caller's own event loop, which limits the precision of all times here."""

    @property
    def calls(self) -> int:
        """Number of calls."""
        return len(self.milliseconds) + self.errors.total()


class HonestCaller:
    """The process of an honest caller, with a connection of its own; use it in a `with`."""

    def __init__(self, target: str, token: str = "") -> None:
        self._order = {"target": target, "token": token}
        command = [*PROGRAM[:-1], "plyd.clients.stress.attacks.honest"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self) -> "HonestCaller":
        answer = self._ask(json.dumps(self._order))
        if answer != "ready":
            raise Unavailable(f"the honest caller got no answer before the attack: {answer or 'it died'}")
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def measure(self) -> None:
        """Begin a period."""
        self._say("measure")

    def report(self) -> Period:
        """End the period: the figures of all calls that began in it."""
        answer = self._ask("report")
        if not answer:
            raise Unavailable("the honest caller has died")
        told = json.loads(answer)
        return Period(told["milliseconds"], Counter(told["errors"]), told["delay_ms"])

    def _say(self, line: str) -> None:
        assert self._process.stdin is not None
        print(line, file=self._process.stdin, flush=True)

    def _ask(self, line: str) -> str:
        assert self._process.stdout is not None
        self._say(line)
        return self._process.stdout.readline().strip()


Call = Callable[[int], Awaitable[float]]  # makes the call of this number; its time limit in milliseconds, or 0


def daemon_call(target: str, token: str) -> Call:
    """The calls of a client of a daemon."""
    channel = grpc.aio.insecure_channel(target, [("grpc.use_local_subchannel_pool", 1)])
    engine: Any = engine_pb2_grpc.EngineServiceStub(channel)
    rules: Any = rules_pb2_grpc.RulesServiceStub(channel)
    position = Position(game="2584-2x3", start="b 2 2 0 0 0 0")
    solved, inspect = engine_pb2.SearchRequest(position=position), rules_pb2.InspectRequest(position=position)
    timed = engine_pb2.SearchRequest(position=Position(game="connect4"), limits=Limits(move_time_ms=MOVE_TIME_MS))
    metadata = (("authorization", f"Bearer {token}"),) if token else ()

    searching = asyncio.Lock()

    async def call(number: int) -> float:
        if number % TIMED_EVERY == 0 and not searching.locked():
            async with searching:
                await engine.Search(timed, metadata=metadata, timeout=TIMEOUT_SECONDS)
            return MOVE_TIME_MS
        method, request = (engine.Search, solved) if number % 2 else (rules.Inspect, inspect)
        await method(request, metadata=metadata, timeout=TIMEOUT_SECONDS)
        return 0.0

    return call


async def page_call(url: str) -> Call:
    """The calls of a page of the bridge: each asks to stop a search, and is told that none runs."""
    from websockets.asyncio.client import connect

    socket = await connect(url)
    answers: dict[int, asyncio.Future[None]] = {}

    async def read() -> None:
        async for text in socket:
            if answer := answers.pop(json.loads(text).get("id", -1), None):
                answer.set_result(None)

    reader = asyncio.ensure_future(read())

    async def call(number: int) -> float:
        assert not reader.done(), "the bridge has closed the page's socket"
        answers[number] = asyncio.get_running_loop().create_future()
        await socket.send(json.dumps({"id": number, "do": "stop"}))
        async with asyncio.timeout(TIMEOUT_SECONDS):
            await answers[number]
        return 0.0

    return call


class SteadyCalls:
    """Calls at a steady rate, and what became of those of the current period."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._running: set[asyncio.Task[None]] = set()
        self.period = Period()

    async def run(self) -> None:
        """Call until cancelled."""
        number, due = 0, time.monotonic()
        while True:
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            self.period.delay_ms = max(self.period.delay_ms, 1000 * (time.monotonic() - due))
            task = asyncio.ensure_future(self._one(number, self.period))
            self._running.add(task)
            task.add_done_callback(self._running.discard)
            number, due = number + 1, due + 1 / CALLS_PER_SECOND

    async def _one(self, number: int, period: Period) -> None:
        began = time.monotonic()
        try:
            limit = await self._call(number)
        except grpc.aio.AioRpcError as error:
            period.errors[error.code().name] += 1
        except (AssertionError, OSError, TimeoutError) as error:
            period.errors[type(error).__name__] += 1
        else:
            period.milliseconds.append(max(0.0, 1000 * (time.monotonic() - began) - limit))

    async def report(self) -> Period:
        """The figures of the period; the next one begins."""
        ended, self.period = self.period, Period()
        if self._running:
            await asyncio.wait(set(self._running), timeout=TIMEOUT_SECONDS)
        return ended


async def work() -> None:
    """Call as the lines of stdin say, until stdin ends."""
    order = json.loads(await asyncio.to_thread(sys.stdin.readline))
    target, token = order["target"], order["token"]
    call = await page_call(target) if target.startswith("ws:") else daemon_call(target, token)
    for number in range(TIMED_EVERY):  # one of each kind, which also opens the connection
        await call(number)
    print("ready", flush=True)
    calls = SteadyCalls(call)
    steady = asyncio.ensure_future(calls.run())
    while line := (await asyncio.to_thread(sys.stdin.readline)).strip():
        if line == "measure":
            calls.period = Period()
        else:
            period = await calls.report()
            told = {"milliseconds": period.milliseconds, "errors": period.errors, "delay_ms": period.delay_ms}
            print(json.dumps(told), flush=True)
    steady.cancel()


if __name__ == "__main__":
    import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(work())
