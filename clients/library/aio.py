"""`AsyncEngineClient`: the client for asyncio, with the methods of `EngineClient`."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Iterable, Iterator, Sequence
from contextlib import aclosing
from types import TracebackType
from typing import Any, Self, Unpack

import grpc
import grpc.aio
from grpc_health.v1 import health_pb2

from plyd.clients.library.cards import Cards
from plyd.clients.library.channel import Credentials, channel_config
from plyd.clients.library.connect.balance import Lease
from plyd.clients.library.connect.daemons import AsyncDaemonSet
from plyd.clients.library.connect.embedded import EmbeddedDaemon
from plyd.clients.library.connect.resend import AsyncBatchSender
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
from plyd.v1 import engine_pb2


class AsyncEngineClient:
    """Calls a daemon, or the least loaded of several, from asyncio. Close it, or use it in an `async with`.

    See EngineClient for the arguments.
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
        self._daemons = AsyncDaemonSet(config)
        self._cards = Cards(config)
        self._private: EmbeddedDaemon | None = None

    @classmethod
    async def start(
        cls,
        game: str,
        variant: str = "",
        timeout: float = ANSWER_SECONDS,  # noqa: ASYNC109
        retry_seconds: float = RETRY_SECONDS,
        history: bool = True,
    ) -> Self:
        """A client of a private daemon for a game, which nobody else can reach and which stops with the client."""
        daemon = await asyncio.to_thread(EmbeddedDaemon(game).__enter__)
        client = cls(daemon.target, game, variant, timeout, retry_seconds, Credentials(), history)
        client._private = daemon
        try:
            await client.describe()  # so that boards can be drawn when the daemon is gone
        except BaseException:
            await client.close()
            raise
        return client

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connection; calls in progress, and calls that wait for the daemon, raise Cancelled."""
        await self._daemons.close()
        if self._private:
            private, self._private = self._private, None
            await asyncio.to_thread(private.__exit__, None, None, None)

    @property
    def slots(self) -> int:
        """Concurrent searches of the daemon, or of all daemons together, as far as they have said so."""
        return self._daemons.slots

    async def wait_until_ready(self, timeout: float = 60.0) -> None:  # noqa: ASYNC109
        """Return once the daemon, or one of several, reports SERVING; raise Unavailable after the timeout."""
        waits = not await self._daemons.are_many()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                while True:
                    with await self._daemons.call() as lease:
                        try:
                            reply = await lease.stubs.health.Check(
                                health_pb2.HealthCheckRequest(), wait_for_ready=waits
                            )
                            if reply.status == health_pb2.HealthCheckResponse.SERVING:
                                return
                        except grpc.RpcError:
                            lease.daemon.avoid()
                    await self._pause(0.02)
        raise Unavailable(f"{self.settings.target} is not ready after {timeout:g} s")

    async def watch(self) -> AsyncGenerator[bool, None]:
        """Whether the daemon serves: now, and again at each change. Raises Unavailable when the connection is lost.

        Of several daemons: whether any serves.
        """
        if await self._daemons.are_many():
            async with aclosing(self._daemons.any_serving()) as changes:
                async for is_serving in changes:
                    yield is_serving
        with await self._daemons.call() as lease:
            stream = lease.stubs.health.Watch(health_pb2.HealthCheckRequest())
        try:
            with cancelled_call():
                async for reply in stream:
                    yield reply.status == health_pb2.HealthCheckResponse.SERVING
        except grpc.RpcError as error:
            raise self.settings.explain(error) from None
        finally:
            stream.cancel()

    async def describe(self, timeout: float | None = None) -> engine_pb2.DescribeResponse:  # noqa: ASYNC109
        """The daemon and its engines."""
        response: engine_pb2.DescribeResponse = await self._unary("engine", self.settings.describe(timeout))
        self._daemons.learn(response.daemon)
        self._cards.learn(response)
        return response

    async def search(
        self,
        position: AnyPosition = "",
        moves: Sequence[str] = (),
        *,
        timeout: float | None = None,  # noqa: ASYNC109
        **args: Unpack[SearchArgs],
    ) -> Report:
        """The final report of a search. The keywords are those of SearchArgs: seconds, nodes, depth, lines, ..."""
        root = self.settings.position(position, moves)
        response = await self._unary("engine", self.settings.search("Search", root, args, timeout))
        return Report(response.report)

    async def analyze(
        self,
        position: AnyPosition = "",
        moves: Sequence[str] = (),
        *,
        timeout: float | None = None,  # noqa: ASYNC109
        **args: Unpack[SearchArgs],
    ) -> AsyncGenerator[Report, None]:
        """Reports while the search runs; the last one is final. Close the generator to stop early."""
        call = self.settings.search("Analyze", self.settings.position(position, moves), args, timeout)
        retry, is_begun = self.settings.retry(), False
        while True:
            with await self._daemons.call() as lease:
                stream = lease.stubs.engine.Analyze(call.request, timeout=call.timeout, metadata=self.settings.metadata)
                try:
                    with cancelled_call():
                        async for response in stream:
                            is_begun = True
                            yield Report(response.report)
                    return
                except grpc.RpcError as error:
                    failure = self.settings.explain(error)
                    if is_begun:
                        raise failure from None
                finally:
                    stream.cancel()
            await self._pause(self._daemons.delay_after(failure, lease.daemon, retry))

    async def play(
        self,
        position: AnyPosition = "",
        moves: Sequence[str] = (),
        *,
        options: Options | None = None,
        **more_options: OptionValue,
    ) -> "AsyncGame":
        """A game that the engine follows from move to move; use it in an `async with`.

        `play(options={"threads": 1})` and `play(threads=1)` mean the same.
        """
        texts = option_texts({**(options or {}), **more_options})
        start, retry = self.settings.position(position, moves), self.settings.retry()
        while True:
            lease = await self._daemons.game()
            game = AsyncGame(lease, self.settings, self._cards)
            try:
                await game._change(new_game=self.settings.new_game_command(start, texts))
                return game
            except BaseException as error:
                game.close()
                if not isinstance(error, Unavailable | Overloaded):
                    raise
                await self._pause(self._daemons.delay_after(error, lease.daemon, retry))

    async def evaluate(self, positions: Iterable[str], *, with_moves: bool = False) -> engine_pb2.EvaluateResponse:
        """Values of positions, NaN for those that cannot occur. Sent as one batch, which the daemon limits in size."""
        batch = join_lines(positions)
        [response] = [response async for _, response in self.evaluate_batches([batch], with_moves=with_moves)]
        return response

    async def evaluate_batches(
        self, batches: Iterable[bytes] | AsyncIterable[bytes], *, as_text: bool = False, with_moves: bool = False
    ) -> AsyncGenerator[tuple[bytes, engine_pb2.EvaluateResponse], None]:
        """Each batch with its answer, in order, with several in flight. Survives a restart of the daemon."""
        sender = AsyncBatchSender()

        async def fill() -> None:
            async with aclosing(_aiter(batches)) as source:
                async for lines in source:
                    await sender.add(self.settings.batch(lines, as_text=as_text, with_moves=with_moves))

        filling = asyncio.ensure_future(fill())
        filling.add_done_callback(lambda _: sender.end())
        retry = self.settings.retry()
        try:
            while True:
                with await self._daemons.call() as lease:
                    stream = lease.stubs.engine.Evaluate(sender.stream(), metadata=self.settings.metadata)
                    try:
                        with cancelled_call():
                            async for response in stream:
                                retry = self.settings.retry()
                                yield sender.answered().lines, response
                        await filling
                        return
                    except grpc.RpcError as error:
                        failure = self.settings.explain(error)
                    finally:
                        stream.cancel()
                await self._pause(self._daemons.delay_after(failure, lease.daemon, retry))
        finally:
            filling.cancel()
            sender.close()

    async def new_game(self, start: str = "", seed: int | None = None, timeout: float | None = None) -> State:  # noqa: ASYNC109
        """The start of a game, after the environment's opening moves."""
        return await self._state(self.settings.new_game(start, seed, timeout))

    async def inspect(
        self,
        position: AnyPosition = "",
        moves: Sequence[str] = (),
        timeout: float | None = None,  # noqa: ASYNC109
    ) -> State:
        """Everything the rules say about a position."""
        return await self._state(self.settings.inspect(self.settings.position(position, moves), timeout))

    async def apply(
        self,
        position: AnyPosition,
        *moves: str,
        with_chance: bool = False,
        seed: int | None = None,
        timeout: float | None = None,  # noqa: ASYNC109
    ) -> State:
        """The state after moves and, with_chance, after the environment's reply."""
        root = self.settings.position(position, ())
        return await self._state(self.settings.apply(root, moves, with_chance, seed, timeout))

    async def _state(self, call: RpcCall) -> State:
        return State((await self._unary("rules", call)).state, self._cards.card)

    async def _unary(self, service: str, call: RpcCall) -> Any:
        retry: Retry = self.settings.retry()
        while True:
            with await self._daemons.call() as lease:
                method = getattr(getattr(lease.stubs, service), call.method)
                try:
                    with cancelled_call():
                        return await method(call.request, timeout=call.timeout, metadata=self.settings.metadata)
                except grpc.RpcError as error:
                    failure = self.settings.explain(error)
            await self._pause(self._daemons.delay_after(failure, lease.daemon, retry))

    async def _pause(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._daemons.closed.wait(), seconds)
        if self._daemons.closed.is_set():
            raise Cancelled("the client was closed") from None


class AsyncGame:
    """One game on one stream, so that the engine's tree is kept from move to move."""

    state: State

    def __init__(self, lease: Lease, settings: ClientSettings, cards: Cards) -> None:
        self._lease = lease
        self._settings = settings
        self._cards = cards
        self._stream = lease.stubs.engine.Play(metadata=settings.metadata)
        self._sending = asyncio.Lock()
        self._last_id = 0
        self._last_read_id = 0

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _repr_svg_(self) -> str:
        return self.state.svg()

    def close(self) -> None:
        """End the game; a running search is cancelled."""
        self._stream.cancel()
        self._lease.end()

    async def moves(self, *moves: str, with_chance: bool = False, seed: int | None = None) -> State:
        """Play moves, all or none, and with_chance the environment's reply."""
        return await self._change(moves=moves_command(moves, with_chance, seed))

    async def take_back(self, plies: int = 1) -> State:
        """Take moves back, all or none; with `history=False`, 1,024 plies back at most."""
        return await self._change(take_back=engine_pb2.TakeBackCommand(plies=plies))

    async def go(
        self,
        *moves: str,
        with_chance: bool = False,
        seed: int | None = None,
        ponder: bool = False,
        use_store: bool = False,
        **args: Unpack[LimitArgs],
    ) -> AsyncIterator[Report]:
        """Search; reports while it runs, the last one final. Moves given are played first, as by `moves`.

        With `use_store`, what the daemon's store knows answers, as it does in `search`.
        """
        number = await self._send(**go_command(args, ponder, moves, with_chance, seed, use_store))
        while True:
            response = await self._reply(number)
            if response.HasField("report"):  # before the first one comes the state after the moves, if there are any
                yield Report(response.report)
                if response.report.final:
                    return

    async def best(
        self, *moves: str, with_chance: bool = False, seed: int | None = None, **args: Unpack[LimitArgs]
    ) -> Report:
        """The final report of a search, after moves if any are given: all in one round trip."""
        return [report async for report in self.go(*moves, with_chance=with_chance, seed=seed, **args)][-1]

    async def play_on(
        self,
        moves: int | None = None,
        *,
        seed: int | None = None,
        interval_seconds: float | None = None,
        **args: Unpack[LimitArgs],
    ) -> AsyncGenerator[PlayedOn, None]:
        """Let the engine make moves by itself, 1,000 by default, chance's not counted. Each is searched at depth 1, or
        with the limits given. Yields what it played every `interval_seconds`, the last one final. `stop` ends it early.
        """
        number = await self._send(play_on=play_on_command(moves, seed, interval_seconds, args))
        is_final = False
        while not is_final:
            played = played_on(await self._reply(number), self._cards.card)
            is_final, self.state = played.final, played.state
            yield played

    async def stop(self) -> None:
        """Ask what runs to end: `go` yields its final report, `play_on` its final reply."""
        await self._send(stop=engine_pb2.StopCommand())

    async def _change(self, **command: Any) -> State:
        return State((await self._reply(await self._send(**command))).state, self._cards.card)

    async def _send(self, **command: Any) -> int:
        self._last_id += 1
        number = self._last_id
        with contextlib.suppress(grpc.RpcError, asyncio.InvalidStateError):  # the reply says why it ended
            async with self._sending:
                await self._stream.write(engine_pb2.PlayRequest(id=number, **command))
        return number

    async def _reply(self, number: int) -> engine_pb2.PlayResponse:
        """The next reply to a command; replies to earlier commands are skipped."""
        check_not_superseded(number, self._last_read_id)
        try:
            with cancelled_call():
                while (response := await self._stream.read()) is not grpc.aio.EOF:
                    self._last_read_id = response.id
                    if response.HasField("state"):
                        self.state = State(response.state, self._cards.card)
                    if response.id == number:
                        return check_reply(response, self._settings.target)
        except grpc.RpcError as error:
            raise self._settings.explain(error) from None
        raise Unavailable(f"{self._settings.target} ended the game")


@contextlib.contextmanager
def cancelled_call() -> Iterator[None]:
    """Raise Cancelled if the call was cancelled, CancelledError if the task was; to grpc.aio they are the same."""
    try:
        yield
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        raise Cancelled("the client cancelled the call") from None


async def _aiter(source: Iterable[bytes] | AsyncIterable[bytes]) -> AsyncGenerator[bytes, None]:
    """Any iterable as an asynchronous one."""
    if isinstance(source, AsyncIterable):
        async for item in source:
            yield item
    else:
        for item in source:
            yield item
