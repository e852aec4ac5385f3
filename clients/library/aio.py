"""`AsyncEngineClient`: the client for asyncio, call by call the twin of `EngineClient`."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Iterable, Iterator, Sequence
from contextlib import aclosing
from types import TracebackType
from typing import Any, Self, Unpack

import grpc
import grpc.aio
from grpc_health.v1 import health_pb2, health_pb2_grpc

from plyd.clients.library.channel import Credentials, way_to
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
from plyd.clients.library.resend import AsyncOutbox
from plyd.v1 import engine_pb2, engine_pb2_grpc, rules_pb2_grpc


class AsyncEngineClient:
    """Calls one daemon from asyncio. Close it, or use it in an `async with`. See EngineClient for the settings."""

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
        self._channel = (
            grpc.aio.secure_channel(way.target, way.encryption, CHANNEL_OPTIONS)
            if way.encryption
            else grpc.aio.insecure_channel(way.target, CHANNEL_OPTIONS)
        )
        self._engine: Any = engine_pb2_grpc.EngineServiceStub(self._channel)
        self._rules: Any = rules_pb2_grpc.RulesServiceStub(self._channel)
        self._health: Any = health_pb2_grpc.HealthStub(self._channel)
        self._closed = asyncio.Event()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Hang up; calls under way end, and so do those that wait for the daemon to come back."""
        self._closed.set()
        await self._channel.close()

    async def wait_until_ready(self, timeout: float = 60.0) -> None:  # noqa: ASYNC109
        """Return once the daemon says SERVING; raise Unavailable if it does not in time."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                while True:
                    with contextlib.suppress(grpc.RpcError):
                        reply = await self._health.Check(health_pb2.HealthCheckRequest(), wait_for_ready=True)
                        if reply.status == health_pb2.HealthCheckResponse.SERVING:
                            return
                    await self._pause(0.02)
        raise Unavailable(f"{self.settings.target} is not ready after {timeout:g} s")

    async def watch(self) -> AsyncGenerator[bool, None]:
        """Whether the daemon serves: now, and whenever that changes. Raises Unavailable when it is lost."""
        stream = self._health.Watch(health_pb2.HealthCheckRequest())
        try:
            with told_apart():
                async for reply in stream:
                    yield reply.status == health_pb2.HealthCheckResponse.SERVING
        except grpc.RpcError as error:
            raise self.settings.explain(error) from None
        finally:
            stream.cancel()

    async def describe(self, timeout: float | None = None) -> engine_pb2.DescribeResponse:  # noqa: ASYNC109
        """Who answers there."""
        response: engine_pb2.DescribeResponse = await self._unary(self._engine, self.settings.describe(timeout))
        return response

    async def search(
        self,
        position: str | Position = "",
        moves: Sequence[str] = (),
        *,
        timeout: float | None = None,  # noqa: ASYNC109
        **wish: Unpack[Wish],
    ) -> Report:
        """The final report of a search. Wish says what may be asked: seconds, nodes, depth, lines, ..."""
        asked = self.settings.position(position, moves)
        response = await self._unary(self._engine, self.settings.search("Search", asked, wish, timeout))
        report: Report = response.report
        return report

    async def analyze(
        self,
        position: str | Position = "",
        moves: Sequence[str] = (),
        *,
        timeout: float | None = None,  # noqa: ASYNC109
        **wish: Unpack[Wish],
    ) -> AsyncGenerator[Report, None]:
        """Reports as the search goes on, the last one final. Close the generator to stop early."""
        call = self.settings.search("Analyze", self.settings.position(position, moves), wish, timeout)
        retry, is_begun = self.settings.retry(), False
        while True:
            stream = self._engine.Analyze(call.request, timeout=call.timeout, metadata=self.settings.metadata)
            try:
                with told_apart():
                    async for response in stream:
                        is_begun = True
                        yield response.report
                return
            except grpc.RpcError as error:
                if is_begun:
                    raise self.settings.explain(error) from None
                await self._pause(retry.delay_after(self.settings.explain(error)))
            finally:
                stream.cancel()

    async def play(self, position: str | Position = "", moves: Sequence[str] = (), **options: str) -> "AsyncGame":
        """A game that the engine follows from move to move; use it in an `async with`."""
        start, retry = self.settings.position(position, moves), self.settings.retry()
        while True:
            game = AsyncGame(self._engine, self.settings)
            try:
                await game._change(new_game=engine_pb2.NewGameCommand(position=start, options=options))
                return game
            except BaseException as error:
                game.close()
                if not isinstance(error, Unavailable):
                    raise
                await self._pause(retry.delay_after(error))

    async def evaluate(self, positions: Iterable[str], *, with_moves: bool = False) -> engine_pb2.EvaluateResponse:
        """Values of positions, NaN for those that cannot occur; one batch, so not more than the daemon allows."""
        batch = one_batch(positions)
        [response] = [response async for _, response in self.evaluate_batches([batch], with_moves=with_moves)]
        return response

    async def evaluate_batches(
        self, batches: Iterable[bytes] | AsyncIterable[bytes], *, as_text: bool = False, with_moves: bool = False
    ) -> AsyncGenerator[tuple[bytes, engine_pb2.EvaluateResponse], None]:
        """Each batch with its answer, in order, many on the way at once. Survives a daemon that restarts."""
        outbox = AsyncOutbox()

        async def fill() -> None:
            async with aclosing(_aiter(batches)) as source:
                async for lines in source:
                    await outbox.add(self.settings.batch(lines, as_text=as_text, with_moves=with_moves))

        filling = asyncio.ensure_future(fill())
        filling.add_done_callback(lambda _: outbox.end())
        retry = self.settings.retry()
        try:
            while True:
                stream = self._engine.Evaluate(outbox.stream(), metadata=self.settings.metadata)
                try:
                    with told_apart():
                        async for response in stream:
                            retry = self.settings.retry()
                            yield outbox.answered().lines, response
                    await filling
                    return
                except grpc.RpcError as error:
                    await self._pause(retry.delay_after(self.settings.explain(error)))
                finally:
                    stream.cancel()
        finally:
            filling.cancel()
            outbox.close()

    async def new_game(self, start: str = "", seed: int | None = None, timeout: float | None = None) -> State:  # noqa: ASYNC109
        """The start of a game, with chance's opening moves made."""
        state: State = (await self._unary(self._rules, self.settings.new_game(start, seed, timeout))).state
        return state

    async def inspect(
        self,
        position: str | Position = "",
        moves: Sequence[str] = (),
        timeout: float | None = None,  # noqa: ASYNC109
    ) -> State:
        """Everything the rules say about a position."""
        call = self.settings.inspect(self.settings.position(position, moves), timeout)
        state: State = (await self._unary(self._rules, call)).state
        return state

    async def apply(
        self,
        position: str | Position,
        *moves: str,
        with_chance: bool = False,
        seed: int | None = None,
        timeout: float | None = None,  # noqa: ASYNC109
    ) -> State:
        """The state after moves, and after chance's answer if asked for."""
        call = self.settings.apply(self.settings.position(position, ()), moves, with_chance, seed, timeout)
        state: State = (await self._unary(self._rules, call)).state
        return state

    async def _unary(self, stub: Any, call: Call) -> Any:
        retry: Retry = self.settings.retry()
        while True:
            try:
                with told_apart():
                    method = getattr(stub, call.method)
                    return await method(call.request, timeout=call.timeout, metadata=self.settings.metadata)
            except grpc.RpcError as error:
                await self._pause(retry.delay_after(self.settings.explain(error)))

    async def _pause(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._closed.wait(), seconds)
        if self._closed.is_set():
            raise Cancelled("the client was closed") from None


class AsyncGame:
    """One game on one stream. What the engine learned about one move serves for the next."""

    state: State

    def __init__(self, stub: Any, settings: Settings) -> None:
        self._settings = settings
        self._stream = stub.Play(metadata=settings.metadata)
        self._sending = asyncio.Lock()
        self._last_id = 0
        self._heard_id = 0

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the game; a search that runs is given up."""
        self._stream.cancel()

    async def moves(self, *moves: str) -> State:
        """Play moves, all or none."""
        return await self._change(moves=engine_pb2.MovesCommand(moves=moves))

    async def take_back(self, plies: int = 1) -> State:
        """Take moves back, all or none."""
        return await self._change(take_back=engine_pb2.TakeBackCommand(plies=plies))

    async def go(self, *, ponder: bool = False, **thinking: Unpack[Thinking]) -> AsyncIterator[Report]:
        """Search; reports as it goes on, the last one final. Plays nothing."""
        number = await self._send(go=go_command(thinking, ponder))
        while True:
            response = await self._reply(number)
            yield response.report
            if is_final(response):
                return

    async def best(self, **thinking: Unpack[Thinking]) -> Report:
        """The final report of a search."""
        return [report async for report in self.go(**thinking)][-1]

    async def stop(self) -> None:
        """Ask the search that runs to end; its final report comes from `go`."""
        await self._send(stop=engine_pb2.StopCommand())

    async def _change(self, **command: Any) -> State:
        self.state = (await self._reply(await self._send(**command))).state
        return self.state

    async def _send(self, **command: Any) -> int:
        self._last_id += 1
        number = self._last_id
        with contextlib.suppress(grpc.RpcError, asyncio.InvalidStateError):  # the reply says why it ended
            async with self._sending:
                await self._stream.write(engine_pb2.PlayRequest(id=number, **command))
        return number

    async def _reply(self, number: int) -> engine_pb2.PlayResponse:
        """The next reply to a command; replies to earlier ones, which nobody waits for, are passed over."""
        check_heard(number, self._heard_id)
        try:
            with told_apart():
                while (response := await self._stream.read()) is not grpc.aio.EOF:
                    self._heard_id = response.id
                    if response.id == number:
                        return settled(response, self._settings.target)
        except grpc.RpcError as error:
            raise self._settings.explain(error) from None
        raise Unavailable(f"{self._settings.target} ended the game")


@contextlib.contextmanager
def told_apart() -> Iterator[None]:
    """Raise Cancelled where a call was cancelled, which grpc.aio does not tell from a task that was."""
    try:
        yield
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        raise Cancelled("the call was cancelled from this side") from None


async def _aiter(source: Iterable[bytes] | AsyncIterable[bytes]) -> AsyncGenerator[bytes, None]:
    """Any iterable as an asynchronous one."""
    if isinstance(source, AsyncIterable):
        async for item in source:
            yield item
    else:
        for item in source:
            yield item
