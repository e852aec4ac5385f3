"""`EngineClient`: the blocking client of a daemon."""

import queue
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from types import TracebackType
from typing import Any, Self, Unpack

import grpc
from grpc_health.v1 import health_pb2

from plyd.clients.library.cards import Cards
from plyd.clients.library.channel import Credentials, channel_config
from plyd.clients.library.connect.balance import Lease
from plyd.clients.library.connect.daemons import DaemonSet
from plyd.clients.library.connect.embedded import EmbeddedDaemon
from plyd.clients.library.connect.resend import BatchSender
from plyd.clients.library.errors import Cancelled, Overloaded, Unavailable
from plyd.clients.library.report import Report
from plyd.clients.library.requests import (
    ANSWER_SECONDS,
    RETRY_SECONDS,
    AnyPosition,
    ClientSettings,
    LimitArgs,
    Options,
    OptionValue,
    Retry,
    RpcCall,
    SearchArgs,
    check_not_superseded,
    check_reply,
    go_command,
    join_lines,
    moves_command,
    option_texts,
    play_on_command,
)
from plyd.clients.library.state import PlayedOn, State, played_on
from plyd.v1 import engine_pb2, position_pb2


class EngineClient:
    """Calls a daemon, or the least loaded of several. Safe to share between threads; close it, or use it in a `with`.

    `game` may be empty if the daemon serves one game. A call waits up to `retry_seconds` for an unreachable daemon.
    `timeout` is the maximum time of an answer in seconds, added to the time given to a search. "tls:HOST:PORT" is
    encrypted. "HOST:PORT,HOST:PORT" and a name with several IP addresses stand for several daemons: each call goes to
    the least loaded one that serves, and a game stays where it began. `credentials` default to those of the environment
    (see library/channel.py). With `history=False`, states start from the present board: their position has no moves, so
    that a move costs the same however long the game is; points and plies are still those of the whole game.
    """

    def __init__(
        self,
        target: str,
        game: str = "",
        variant: str = "",
        timeout: float = ANSWER_SECONDS,
        retry_seconds: float = RETRY_SECONDS,
        credentials: Credentials | None = None,
        history: bool = True,
    ) -> None:
        config = channel_config(target, credentials)
        self.settings = ClientSettings(target, game, variant, timeout, retry_seconds, config.metadata, history)
        self._daemons = DaemonSet(config)
        self._cards = Cards(config)
        self._private: EmbeddedDaemon | None = None

    @classmethod
    def start(
        cls,
        game: str,
        variant: str = "",
        timeout: float = ANSWER_SECONDS,
        retry_seconds: float = RETRY_SECONDS,
        history: bool = True,
    ) -> Self:
        """A client of a private daemon for a game, which nobody else can reach and which stops with the client."""
        daemon = EmbeddedDaemon(game)
        daemon.__enter__()
        client = cls(daemon.target, game, variant, timeout, retry_seconds, Credentials(), history)
        client._private = daemon
        try:
            client.describe()  # so that boards can be drawn when the daemon is gone
        except BaseException:
            client.close()
            raise
        return client

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; calls in progress, and calls that wait for the daemon, raise Cancelled."""
        self._daemons.close()
        if self._private:
            private, self._private = self._private, None
            private.__exit__(None, None, None)

    @property
    def slots(self) -> int:
        """Concurrent searches of the daemon, or of all daemons together, as far as they have said so."""
        return self._daemons.slots

    def wait_until_ready(self, timeout: float = 60.0) -> None:
        """Return once the daemon, or one of several, reports SERVING; raise Unavailable after the timeout."""
        end, waits = time.monotonic() + timeout, not self._daemons.are_many()
        while (left := end - time.monotonic()) > 0:
            with self._daemons.call() as lease:
                try:
                    reply = lease.stubs.health.Check(
                        health_pb2.HealthCheckRequest(), timeout=left, wait_for_ready=waits
                    )
                    if reply.status == health_pb2.HealthCheckResponse.SERVING:
                        return
                except grpc.RpcError:
                    lease.daemon.avoid()
            self._pause(min(0.02, max(0.0, left)))
        raise Unavailable(f"{self.settings.target} is not ready after {timeout:g} s")

    def watch(self) -> Iterator[bool]:
        """Whether the daemon serves: now, and again at each change. Raises Unavailable when the connection is lost.

        Of several daemons: whether any serves.
        """
        if self._daemons.are_many():
            yield from self._daemons.any_serving()
        with self._daemons.call() as lease:
            stream = lease.stubs.health.Watch(health_pb2.HealthCheckRequest())
        try:
            for reply in stream:
                yield reply.status == health_pb2.HealthCheckResponse.SERVING
        except grpc.RpcError as error:
            raise self.settings.explain(error) from None
        finally:
            stream.cancel()

    def describe(self, timeout: float | None = None) -> engine_pb2.DescribeResponse:
        """The daemon and its engines."""
        response: engine_pb2.DescribeResponse = self._unary("engine", self.settings.describe(timeout))
        self._daemons.learn(response.daemon)
        self._cards.learn(response)
        return response

    def search(
        self,
        position: AnyPosition = "",
        moves: Sequence[str] = (),
        *,
        timeout: float | None = None,
        **args: Unpack[SearchArgs],
    ) -> Report:
        """The final report of a search. The keywords are those of SearchArgs: seconds, nodes, depth, lines, ..."""
        root = self.settings.position(position, moves)
        response = self._unary("engine", self.settings.search("Search", root, args, timeout))
        return Report(response.report)

    def analyze(
        self,
        position: AnyPosition = "",
        moves: Sequence[str] = (),
        *,
        timeout: float | None = None,
        **args: Unpack[SearchArgs],
    ) -> Iterator[Report]:
        """Reports while the search runs; the last one is final. Close the iterator to stop early."""
        call = self.settings.search("Analyze", self.settings.position(position, moves), args, timeout)
        retry, is_begun = self.settings.retry(), False
        while True:
            with self._daemons.call() as lease:
                stream = lease.stubs.engine.Analyze(call.request, timeout=call.timeout, metadata=self.settings.metadata)
                try:
                    for response in stream:
                        is_begun = True
                        yield Report(response.report)
                    return
                except grpc.RpcError as error:
                    failure = self.settings.explain(error)
                    if is_begun:
                        raise failure from None
                finally:
                    stream.cancel()
            self._pause(self._daemons.delay_after(failure, lease.daemon, retry))

    def play(
        self,
        position: AnyPosition = "",
        moves: Sequence[str] = (),
        *,
        options: Options | None = None,
        **more_options: OptionValue,
    ) -> "Game":
        """A game that the engine follows from move to move; use it in a `with`.

        `play(options={"threads": 1})` and `play(threads=1)` mean the same.
        """
        texts = option_texts({**(options or {}), **more_options})
        start, retry = self.settings.position(position, moves), self.settings.retry()
        while True:
            lease = self._daemons.game()
            try:
                return Game(lease, self.settings, self._cards, start, texts)
            except (Unavailable, Overloaded) as error:
                self._pause(self._daemons.delay_after(error, lease.daemon, retry))

    def evaluate(self, positions: Iterable[str], *, with_moves: bool = False) -> engine_pb2.EvaluateResponse:
        """Values of positions, NaN for those that cannot occur. Sent as one batch, which the daemon limits in size."""
        batch = join_lines(positions)
        [(_, response)] = self.evaluate_batches([batch], with_moves=with_moves)
        return response

    def evaluate_batches(
        self, batches: Iterable[bytes], *, as_text: bool = False, with_moves: bool = False
    ) -> Iterator[tuple[bytes, engine_pb2.EvaluateResponse]]:
        """Each batch with its answer, in order, with several in flight. Survives a restart of the daemon."""
        requests = (self.settings.batch(lines, as_text=as_text, with_moves=with_moves) for lines in batches)
        sender = BatchSender(requests)
        retry = self.settings.retry()
        try:
            while True:
                with self._daemons.call() as lease:
                    stream = lease.stubs.engine.Evaluate(sender.stream(), metadata=self.settings.metadata)
                    try:
                        for response in stream:
                            retry = self.settings.retry()
                            yield sender.answered().lines, response
                        sender.check()
                        return
                    except grpc.RpcError as error:
                        sender.check()
                        failure = self.settings.explain(error)
                    finally:
                        stream.cancel()
                self._pause(self._daemons.delay_after(failure, lease.daemon, retry))
        finally:
            sender.close()

    def new_game(self, start: str = "", seed: int | None = None, timeout: float | None = None) -> State:
        """The start of a game, after the environment's opening moves."""
        return self._state(self.settings.new_game(start, seed, timeout))

    def inspect(self, position: AnyPosition = "", moves: Sequence[str] = (), timeout: float | None = None) -> State:
        """Everything the rules say about a position."""
        return self._state(self.settings.inspect(self.settings.position(position, moves), timeout))

    def apply(
        self,
        position: AnyPosition,
        *moves: str,
        with_chance: bool = False,
        seed: int | None = None,
        timeout: float | None = None,
    ) -> State:
        """The state after moves and, with_chance, after the environment's reply."""
        root = self.settings.position(position, ())
        return self._state(self.settings.apply(root, moves, with_chance, seed, timeout))

    def _state(self, call: RpcCall) -> State:
        return State(self._unary("rules", call).state, self._cards.card)

    def _unary(self, service: str, call: RpcCall) -> Any:
        retry: Retry = self.settings.retry()
        while True:
            with self._daemons.call() as lease:
                method = getattr(getattr(lease.stubs, service), call.method)
                try:
                    return method(call.request, timeout=call.timeout, metadata=self.settings.metadata)
                except grpc.RpcError as error:
                    failure = self.settings.explain(error)
            self._pause(self._daemons.delay_after(failure, lease.daemon, retry))

    def _pause(self, seconds: float) -> None:
        if self._daemons.closed.wait(seconds):
            raise Cancelled("the client was closed") from None


class Game:
    """One game on one stream, so that the engine's tree is kept from move to move."""

    state: State

    def __init__(
        self,
        lease: Lease,
        settings: ClientSettings,
        cards: Cards,
        position: position_pb2.Position,
        options: dict[str, str],
    ) -> None:
        self._lease = lease
        self._settings = settings
        self._cards = cards
        self._commands: queue.SimpleQueue[engine_pb2.PlayRequest | None] = queue.SimpleQueue()
        self._replies = lease.stubs.engine.Play(iter(self._commands.get, None), metadata=settings.metadata)
        self._last_id = 0
        self._last_read_id = 0
        self._sending = threading.Lock()
        try:
            self._change(new_game=settings.new_game_command(position, options))
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _repr_svg_(self) -> str:
        return self.state.svg()

    def close(self) -> None:
        """End the game; a running search is cancelled."""
        self._commands.put(None)
        self._replies.cancel()
        self._lease.end()

    def moves(self, *moves: str, with_chance: bool = False, seed: int | None = None) -> State:
        """Play moves, all or none, and with_chance the environment's reply."""
        return self._change(moves=moves_command(moves, with_chance, seed))

    def take_back(self, plies: int = 1) -> State:
        """Take moves back, all or none; with `history=False`, 1,024 plies back at most."""
        return self._change(take_back=engine_pb2.TakeBackCommand(plies=plies))

    def go(
        self,
        *moves: str,
        with_chance: bool = False,
        seed: int | None = None,
        ponder: bool = False,
        use_store: bool = False,
        **args: Unpack[LimitArgs],
    ) -> Iterator[Report]:
        """Begin to search; reports while it runs, the last one final. Moves given are played first, as by `moves`.

        With `use_store`, what the daemon's store knows answers, as it does in `search`.
        """
        number = self._send(**go_command(args, ponder, moves, with_chance, seed, use_store))
        return self._reports(number)

    def best(
        self, *moves: str, with_chance: bool = False, seed: int | None = None, **args: Unpack[LimitArgs]
    ) -> Report:
        """The final report of a search, after moves if any are given: all in one round trip."""
        *_, last = self.go(*moves, with_chance=with_chance, seed=seed, **args)
        return last

    def play_on(
        self,
        moves: int | None = None,
        *,
        seed: int | None = None,
        interval_seconds: float | None = None,
        **args: Unpack[LimitArgs],
    ) -> Iterator[PlayedOn]:
        """Let the engine make moves by itself, 1,000 by default, chance's not counted. Each is searched at depth 1, or
        with the limits given. Yields what it played every `interval_seconds`, the last one final. `stop` ends it early.
        """
        return self._played_on(self._send(play_on=play_on_command(moves, seed, interval_seconds, args)))

    def _played_on(self, number: int) -> Iterator[PlayedOn]:
        is_final = False
        while not is_final:
            played = played_on(self._reply(number), self._cards.card)
            is_final, self.state = played.final, played.state
            yield played

    def stop(self) -> None:
        """Ask what runs to end: `go` yields its final report, `play_on` its final reply. Any thread may call this."""
        self._send(stop=engine_pb2.StopCommand())

    def _change(self, **command: Any) -> State:
        return State(self._reply(self._send(**command)).state, self._cards.card)

    def _send(self, **command: Any) -> int:
        with self._sending:
            self._last_id += 1
            self._commands.put(engine_pb2.PlayRequest(id=self._last_id, **command))
            return self._last_id

    def _reports(self, number: int) -> Iterator[Report]:
        while True:
            response = self._reply(number)
            if response.HasField("report"):  # before the first one comes the state after the moves, if there are any
                yield Report(response.report)
                if response.report.final:
                    return

    def _reply(self, number: int) -> engine_pb2.PlayResponse:
        """The next reply to a command; replies to earlier commands are skipped."""
        check_not_superseded(number, self._last_read_id)
        try:
            for response in self._replies:
                self._last_read_id = response.id
                if response.HasField("state"):
                    self.state = State(response.state, self._cards.card)
                if response.id == number:
                    return check_reply(response, self._settings.target)
        except grpc.RpcError as error:
            raise self._settings.explain(error) from None
        raise Unavailable(f"{self._settings.target} ended the game")
