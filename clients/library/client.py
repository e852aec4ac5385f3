"""`EngineClient`: an engine somewhere else, as if it were here."""

import contextlib
import queue
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from types import TracebackType
from typing import Any, Self, Unpack

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from plyd.clients.library.channel import Credentials, open_channel, way_to
from plyd.clients.library.errors import Cancelled, Unavailable
from plyd.clients.library.requests import (
    ANSWER_SECONDS,
    CHANNEL_OPTIONS,
    RETRY_SECONDS,
    Call,
    Position,
    Report,
    Retry,
    Settings,
    State,
    Thinking,
    Wish,
    check_heard,
    go_command,
    is_final,
    one_batch,
    settled,
)
from plyd.clients.library.resend import Outbox
from plyd.v1 import engine_pb2, engine_pb2_grpc, rules_pb2_grpc


class EngineClient:
    """Calls one daemon. Safe to share between threads; close it, or use it in a `with`.

    `game` may stay empty with a daemon of one game. A daemon that is away for up to `retry_seconds` is waited for.
    `timeout` is how many seconds an answer may take, beyond the time given to a search. "tls:HOST:PORT" is encrypted;
    `credentials` are what we show to be let in, by default those of the environment (see library/channel.py).
    """

    def __init__(
        self,
        target: str,
        game: str = "",
        variant: str = "",
        timeout: float = ANSWER_SECONDS,
        retry_seconds: float = RETRY_SECONDS,
        credentials: Credentials | None = None,
    ) -> None:
        way = way_to(target, credentials)
        self.settings = Settings(target, game, variant, timeout, retry_seconds, way.metadata)
        self._channel = open_channel(way, CHANNEL_OPTIONS)
        self._engine = engine_pb2_grpc.EngineServiceStub(self._channel)
        self._rules = rules_pb2_grpc.RulesServiceStub(self._channel)
        self._health: Any = health_pb2_grpc.HealthStub(self._channel)
        self._closed = threading.Event()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Hang up; calls under way end, and so do those that wait for the daemon to come back."""
        self._closed.set()
        self._channel.close()

    def wait_until_ready(self, timeout: float = 60.0) -> None:
        """Return once the daemon says SERVING; raise Unavailable if it does not in time."""
        end = time.monotonic() + timeout
        while (left := end - time.monotonic()) > 0:
            with contextlib.suppress(grpc.RpcError):
                reply = self._health.Check(health_pb2.HealthCheckRequest(), timeout=left, wait_for_ready=True)
                if reply.status == health_pb2.HealthCheckResponse.SERVING:
                    return
            self._pause(min(0.02, max(0.0, left)))
        raise Unavailable(f"{self.settings.target} is not ready after {timeout:g} s")

    def watch(self) -> Iterator[bool]:
        """Whether the daemon serves: now, and whenever that changes. Raises Unavailable when it is lost."""
        stream = self._health.Watch(health_pb2.HealthCheckRequest())
        try:
            for reply in stream:
                yield reply.status == health_pb2.HealthCheckResponse.SERVING
        except grpc.RpcError as error:
            raise self.settings.explain(error) from None
        finally:
            stream.cancel()

    def describe(self, timeout: float | None = None) -> engine_pb2.DescribeResponse:
        """Who answers there."""
        response: engine_pb2.DescribeResponse = self._unary(self._engine, self.settings.describe(timeout))
        return response

    def search(
        self,
        position: str | Position = "",
        moves: Sequence[str] = (),
        *,
        timeout: float | None = None,
        **wish: Unpack[Wish],
    ) -> Report:
        """The final report of a search. Wish says what may be asked: seconds, nodes, depth, lines, ..."""
        asked = self.settings.position(position, moves)
        response = self._unary(self._engine, self.settings.search("Search", asked, wish, timeout))
        report: Report = response.report
        return report

    def analyze(
        self,
        position: str | Position = "",
        moves: Sequence[str] = (),
        *,
        timeout: float | None = None,
        **wish: Unpack[Wish],
    ) -> Iterator[Report]:
        """Reports as the search goes on, the last one final. Close the iterator to stop early."""
        call = self.settings.search("Analyze", self.settings.position(position, moves), wish, timeout)
        retry, is_begun = self.settings.retry(), False
        while True:
            stream = self._engine.Analyze(call.request, timeout=call.timeout, metadata=self.settings.metadata)
            try:
                for response in stream:
                    is_begun = True
                    yield response.report
                return
            except grpc.RpcError as error:
                if is_begun:
                    raise self.settings.explain(error) from None
                self._pause(retry.delay_after(self.settings.explain(error)))
            finally:
                stream.cancel()

    def play(self, position: str | Position = "", moves: Sequence[str] = (), **options: str) -> "Game":
        """A game that the engine follows from move to move; use it in a `with`."""
        start, retry = self.settings.position(position, moves), self.settings.retry()
        while True:
            try:
                return Game(self._engine, self.settings, start, options)
            except Unavailable as error:
                self._pause(retry.delay_after(error))

    def evaluate(self, positions: Iterable[str], *, with_moves: bool = False) -> engine_pb2.EvaluateResponse:
        """Values of positions, NaN for those that cannot occur; one batch, so not more than the daemon allows."""
        batch = one_batch(positions)
        [(_, response)] = self.evaluate_batches([batch], with_moves=with_moves)
        return response

    def evaluate_batches(
        self, batches: Iterable[bytes], *, as_text: bool = False, with_moves: bool = False
    ) -> Iterator[tuple[bytes, engine_pb2.EvaluateResponse]]:
        """Each batch with its answer, in order, many on the way at once. Survives a daemon that restarts."""
        requests = (self.settings.batch(lines, as_text=as_text, with_moves=with_moves) for lines in batches)
        outbox = Outbox(requests)
        retry = self.settings.retry()
        try:
            while True:
                stream = self._engine.Evaluate(outbox.stream(), metadata=self.settings.metadata)
                try:
                    for response in stream:
                        retry = self.settings.retry()
                        yield outbox.answered().lines, response
                    outbox.check()
                    return
                except grpc.RpcError as error:
                    outbox.check()
                    self._pause(retry.delay_after(self.settings.explain(error)))
                finally:
                    stream.cancel()
        finally:
            outbox.close()

    def new_game(self, start: str = "", seed: int | None = None, timeout: float | None = None) -> State:
        """The start of a game, with chance's opening moves made."""
        state: State = self._unary(self._rules, self.settings.new_game(start, seed, timeout)).state
        return state

    def inspect(self, position: str | Position = "", moves: Sequence[str] = (), timeout: float | None = None) -> State:
        """Everything the rules say about a position."""
        call = self.settings.inspect(self.settings.position(position, moves), timeout)
        state: State = self._unary(self._rules, call).state
        return state

    def apply(
        self,
        position: str | Position,
        *moves: str,
        with_chance: bool = False,
        seed: int | None = None,
        timeout: float | None = None,
    ) -> State:
        """The state after moves, and after chance's answer if asked for."""
        call = self.settings.apply(self.settings.position(position, ()), moves, with_chance, seed, timeout)
        state: State = self._unary(self._rules, call).state
        return state

    def _unary(self, stub: Any, call: Call) -> Any:
        retry: Retry = self.settings.retry()
        while True:
            try:
                return getattr(stub, call.method)(call.request, timeout=call.timeout, metadata=self.settings.metadata)
            except grpc.RpcError as error:
                self._pause(retry.delay_after(self.settings.explain(error)))

    def _pause(self, seconds: float) -> None:
        if self._closed.wait(seconds):
            raise Cancelled("the client was closed") from None


class Game:
    """One game on one stream. What the engine learned about one move serves for the next."""

    state: State

    def __init__(
        self, stub: engine_pb2_grpc.EngineServiceStub, settings: Settings, position: Position, options: dict[str, str]
    ) -> None:
        self._settings = settings
        self._commands: queue.SimpleQueue[engine_pb2.PlayRequest | None] = queue.SimpleQueue()
        self._replies = stub.Play(iter(self._commands.get, None), metadata=settings.metadata)
        self._last_id = 0
        self._heard_id = 0
        self._sending = threading.Lock()
        try:
            self._change(new_game=engine_pb2.NewGameCommand(position=position, options=options))
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the game; a search that runs is given up."""
        self._commands.put(None)
        self._replies.cancel()

    def moves(self, *moves: str) -> State:
        """Play moves, all or none."""
        return self._change(moves=engine_pb2.MovesCommand(moves=moves))

    def take_back(self, plies: int = 1) -> State:
        """Take moves back, all or none."""
        return self._change(take_back=engine_pb2.TakeBackCommand(plies=plies))

    def go(self, *, ponder: bool = False, **thinking: Unpack[Thinking]) -> Iterator[Report]:
        """Begin to search; reports as it goes on, the last one final. Plays nothing."""
        number = self._send(go=go_command(thinking, ponder))
        return self._reports(number)

    def best(self, **thinking: Unpack[Thinking]) -> Report:
        """The final report of a search."""
        *_, last = self.go(**thinking)
        return last

    def stop(self) -> None:
        """Ask the search that runs to end; its final report comes from `go`. Any thread may call this."""
        self._send(stop=engine_pb2.StopCommand())

    def _change(self, **command: Any) -> State:
        self.state = self._reply(self._send(**command)).state
        return self.state

    def _send(self, **command: Any) -> int:
        with self._sending:
            self._last_id += 1
            self._commands.put(engine_pb2.PlayRequest(id=self._last_id, **command))
            return self._last_id

    def _reports(self, number: int) -> Iterator[Report]:
        while True:
            response = self._reply(number)
            yield response.report
            if is_final(response):
                return

    def _reply(self, number: int) -> engine_pb2.PlayResponse:
        """The next reply to a command; replies to earlier ones, which nobody waits for, are passed over."""
        check_heard(number, self._heard_id)
        try:
            for response in self._replies:
                self._heard_id = response.id
                if response.id == number:
                    return settled(response, self._settings.target)
        except grpc.RpcError as error:
            raise self._settings.explain(error) from None
        raise Unavailable(f"{self._settings.target} ended the game")
