"""The daemons behind the bridge: which of them a call goes to, and the call itself.

With one address every call goes there. With several, the request's game decides; a daemon's games are asked for with
the token of the first caller who needs to know, because the bridge has none of its own.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from dataclasses import replace
from typing import Any

import grpc
import grpc.aio
from grpc import StatusCode

from plyd.clients.http.failures import CallFailed, from_rpc, texts_of
from plyd.clients.http.methods import METHODS, Method, game_of
from plyd.clients.http.request import AUTHORIZATION, CallHeaders
from plyd.clients.library.aio import cancelled_call
from plyd.clients.library.channel import TLS, ChannelConfig, Credentials, channel_config, is_local, split_addresses
from plyd.clients.library.connect.balance import Lease
from plyd.clients.library.connect.daemons import AsyncDaemonSet
from plyd.clients.library.errors import Cancelled
from plyd.v1 import engine_pb2

DESCRIBE = next(method for method in METHODS if method.name == "Describe")
DESCRIBE_SECONDS = 5.0  # for a daemon to say which games it serves
Metadata = list[tuple[str, str]]


def config_of(address: str) -> ChannelConfig:
    """How to connect to an address: with the certificates of the environment, but without its token."""
    return channel_config(address, replace(Credentials.of_environment(), token=""))


class DaemonLink:
    """The connection to one address, and the games that were served there when it was last asked."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._takes_tokens = address.startswith(TLS) or all(map(is_local, split_addresses(address)))
        self._daemons = AsyncDaemonSet(config_of(address))
        self.games: frozenset[str] = frozenset()

    async def close(self) -> None:
        """Close all connections."""
        await self._daemons.close()

    @contextlib.asynccontextmanager
    async def lease(self, headers: CallHeaders, *, is_game: bool = False) -> AsyncIterator[Lease]:
        """A connection for one call; its errors are raised as CallFailed."""
        if not self._takes_tokens and any(name == AUTHORIZATION for name, _ in headers.metadata):
            message = f"a token would go to {self.address} unencrypted; is the address {TLS}{self.address}?"
            raise CallFailed(StatusCode.FAILED_PRECONDITION, message)
        with await (self._daemons.game() if is_game else self._daemons.call()) as lease:
            try:
                with cancelled_call():
                    yield lease
            except grpc.RpcError as error:
                failed = from_rpc(error, self.address)
                if failed.code in (StatusCode.NOT_FOUND, StatusCode.UNAVAILABLE):
                    self.games = frozenset()  # another may serve them now: ask again
                raise failed from None
            except Cancelled as error:
                raise CallFailed(StatusCode.CANCELLED, str(error)) from None

    async def call(self, method: Method, message: Any, headers: CallHeaders) -> tuple[Any, Metadata]:
        """The reply to a unary call, and the metadata after it."""
        async with self.lease(headers) as lease:
            call = method.on(lease.stubs)(message, timeout=headers.timeout, metadata=headers.metadata)
            return await call, texts_of(await call.trailing_metadata())


class Daemons:
    """All daemons of the bridge."""

    def __init__(self, addresses: Iterable[str]) -> None:
        self._links = [DaemonLink(address) for address in addresses]

    async def close(self) -> None:
        """Close all connections."""
        await asyncio.gather(*(link.close() for link in self._links))

    async def call(self, method: Method, message: Any, headers: CallHeaders) -> tuple[Any, Metadata]:
        """The reply to a unary call, and the metadata after it. Describe without a game asks every daemon."""
        game = game_of(message) or headers.game
        if method is DESCRIBE and not game and len(self._links) > 1:
            return await self._describe(headers), []
        return await (await self.find(game, headers)).call(method, message, headers)

    async def stream(
        self, method: Method, message: Any, headers: CallHeaders, trailers: Metadata
    ) -> AsyncGenerator[Any, None]:
        """The replies of a stream from the daemon; `trailers` gets the metadata after them."""
        link = await self.find(game_of(message) or headers.game, headers)
        async with link.lease(headers) as lease:
            call = method.on(lease.stubs)(message, timeout=headers.timeout, metadata=headers.metadata)
            try:
                async for reply in call:
                    yield reply
                trailers += texts_of(await call.trailing_metadata())
            finally:
                call.cancel()

    async def find(self, game: str, headers: CallHeaders) -> DaemonLink:
        """The daemon that serves a game."""
        if len(self._links) == 1:
            return self._links[0]
        failures = [] if not game or self._serving(game) else await self._learn_games(headers)
        if link := self._serving(game):
            return link
        if failures:  # one of these may serve it
            raise failures[0]
        known = sorted({name for link in self._links for name in link.games})
        what = f"unknown game {game[:60]!r}" if game else "no game given, and there are several daemons"
        raise CallFailed(StatusCode.NOT_FOUND, f"{what}; served here: {', '.join(known) or 'not known yet'}")

    def _serving(self, game: str) -> DaemonLink | None:
        return next((link for link in self._links if game in link.games), None)

    async def _learn_games(self, headers: CallHeaders) -> list[CallFailed]:
        """Ask every daemon for its games; the failures of those that did not answer."""
        return [each for each in await self._ask_all(headers) if isinstance(each, CallFailed)]

    async def _describe(self, headers: CallHeaders) -> engine_pb2.DescribeResponse:
        """The engines of all daemons that answer; the limits are those of the first."""
        answers = await self._ask_all(headers)
        described = [answer for answer in answers if not isinstance(answer, CallFailed)]
        if not described:
            raise next(answer for answer in answers if isinstance(answer, CallFailed))
        engines = [engine for answer in described for engine in answer.engines]
        return engine_pb2.DescribeResponse(engines=engines, daemon=described[0].daemon)

    async def _ask_all(self, headers: CallHeaders) -> list[engine_pb2.DescribeResponse | CallFailed]:
        timeout = DESCRIBE_SECONDS if headers.timeout is None else min(headers.timeout, DESCRIBE_SECONDS)

        async def ask(link: DaemonLink) -> engine_pb2.DescribeResponse | CallFailed:
            try:
                answer, _ = await link.call(DESCRIBE, engine_pb2.DescribeRequest(), headers._replace(timeout=timeout))
            except CallFailed as failed:
                return failed
            link.games = frozenset(engine.game for engine in answer.engines)
            return answer  # type: ignore[no-any-return]

        return await asyncio.gather(*map(ask, self._links))
