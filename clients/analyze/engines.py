"""The daemons that search: one or several at an address, or a private one for each game, restarted when it is lost."""

import asyncio
from typing import Any

from plyd.clients.library.aio import AsyncEngineClient
from plyd.clients.library.connect.locate import DaemonSource, ExistingDaemon, RestartingDaemon
from plyd.clients.library.errors import InvalidRequest, PlydError
from plyd.clients.library.requests import RETRY_SECONDS

FIRST_SECONDS = 1.0  # retries of the first connection
AGAIN_SECONDS = 30.0  # retries when a daemon that answered before is unavailable


class Engines:
    """Clients of the daemons, by game. One client serves all games where an address was given."""

    def __init__(self, connect: str | None, store: str | None = None) -> None:
        self._connect = connect
        self._store = store
        self._sources: dict[str, DaemonSource] = {}
        self._clients: dict[str, AsyncEngineClient] = {}
        self._opening = asyncio.Lock()

    @property
    def slots(self) -> int:
        """Concurrent searches of the daemons used so far; private ones share the cores."""
        return max((client.slots for client in self._clients.values()), default=1)

    async def check(self) -> None:
        """Raise a PlydError if no daemon answers at the address."""
        if self._connect is not None:
            async with AsyncEngineClient(self._connect, retry_seconds=FIRST_SECONDS) as client:
                await client.describe()
            await self.client("")

    async def client(self, game: str) -> AsyncEngineClient:
        """A client for a game, once its daemon is ready."""
        key = "" if self._connect is not None else game
        if client := self._clients.get(key):
            return client
        if self._connect is None and not game:
            error = InvalidRequest("game is missing; without --connect, a query or --game has to name it")
            error.field = "game"
            raise error
        async with self._opening:
            if key not in self._clients:
                self._clients[key] = await self._open(key)
            return self._clients[key]

    async def _open(self, key: str) -> AsyncEngineClient:
        if key not in self._sources:
            private = RestartingDaemon if self._connect is None else None
            self._sources[key] = private(key, self._store) if private else ExistingDaemon(self._connect or "")
        try:
            target = await self._sources[key].target()
        except PlydError:
            self._sources.pop(key).close()  # the next query of this game tries again
            raise
        seconds = RETRY_SECONDS if self._connect is None else AGAIN_SECONDS
        client = AsyncEngineClient(target, retry_seconds=seconds)
        await client.describe()
        return client

    async def lost(self, client: AsyncEngineClient) -> None:
        """Note that a client's daemon is gone: a private one is started again."""
        if self._connect is not None:
            return  # it may come back, and the client goes on trying
        for key in [key for key, known in self._clients.items() if known is client]:
            del self._clients[key]
            self._sources[key].lost()
            await client.close()

    async def describe(self) -> list[Any]:
        """What the daemons used so far say of themselves."""
        return [await client.describe() for client in list(self._clients.values())]

    async def close(self) -> None:
        """Close all connections and stop the private daemons."""
        for client in self._clients.values():
            await client.close()
        for source in self._sources.values():
            source.close()
