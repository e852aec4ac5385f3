"""The daemons behind the page: which games each one serves, and whether it is up."""

import asyncio
import contextlib
from collections.abc import Callable, Iterable

from plyd.clients.library.aio import AsyncEngineClient
from plyd.clients.library.errors import PlydError, UnknownGame
from plyd.clients.web.fair_queue import FairQueue
from plyd.v1 import engine_pb2

RECONNECT_SECONDS = 0.4
RETRY_SECONDS = 8.0  # a call is repeated for this long while a daemon restarts
ANSWER_SECONDS = 60.0  # timeout of a call: waiting is better than losing a move


class DaemonLink:
    """The connection to one daemon: its client, its games, its queue of searches, and whether it serves."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.client = AsyncEngineClient(address, timeout=ANSWER_SECONDS, retry_seconds=RETRY_SECONDS)
        self.engines: list[engine_pb2.EngineInfo] = []
        self.queue = FairQueue()
        self.serving = asyncio.Event()

    async def watch(self, on_change: Callable[[], None]) -> None:
        """Follow the daemon's health until cancelled; call `on_change` when it comes or goes."""
        while True:
            with contextlib.suppress(PlydError):
                async for is_serving in self.client.watch():
                    is_new = not self.engines
                    if is_serving or is_new:  # one that is starting describes itself, too
                        await self._describe()
                    self._set_serving(is_serving, on_change)
                    if is_new and not is_serving:
                        on_change()
            self._set_serving(False, on_change)
            await asyncio.sleep(RECONNECT_SECONDS)

    async def _describe(self) -> None:
        described = await self.client.describe()
        self.engines = list(described.engines)
        self.queue.resize(described.daemon.slots)

    def _set_serving(self, is_serving: bool, on_change: Callable[[], None]) -> None:
        if is_serving == self.serving.is_set():
            return
        if is_serving:
            self.serving.set()
        else:
            self.serving.clear()
        on_change()


class DaemonPool:
    """All daemons that the page may use. Call start() and close(); `listeners` are called on every change."""

    def __init__(self, addresses: Iterable[str]) -> None:
        self._addresses = list(addresses)
        self._links: list[DaemonLink] = []
        self.listeners: set[Callable[[], None]] = set()
        self._watching: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Watch every daemon, whether it is up or not."""
        self._links = [DaemonLink(address) for address in self._addresses]
        self._watching = [asyncio.ensure_future(link.watch(self._changed)) for link in self._links]

    async def close(self) -> None:
        """Close all connections."""
        for task in self._watching:
            task.cancel()
        await asyncio.gather(*self._watching, return_exceptions=True)
        await asyncio.gather(*(link.client.close() for link in self._links))

    def find(self, game: str) -> DaemonLink:
        """The daemon that serves a game; one that is up is preferred."""
        able = [link for link in self._links if any(engine.game == game for engine in link.engines)]
        if not able:
            known = sorted({engine.game for link in self._links for engine in link.engines})
            raise UnknownGame(f"no daemon serves {game!r}; games are {', '.join(known) or 'none yet'}")
        return min(able, key=lambda link: not link.serving.is_set())

    def cards(self) -> list[tuple[engine_pb2.EngineInfo, bool]]:
        """Every game that is starting, served or was served, in the order of addresses; whether it is served now."""
        cards: dict[str, tuple[engine_pb2.EngineInfo, bool]] = {}
        for link in self._links:
            is_serving = link.serving.is_set()
            for engine in link.engines:
                if engine.game not in cards or (is_serving and not cards[engine.game][1]):
                    cards[engine.game] = (engine, is_serving)
        return list(cards.values())

    def card(self, game: str) -> engine_pb2.EngineInfo:
        """The card of a game that is or was served."""
        return next(engine for engine in self.find(game).engines if engine.game == game)

    @property
    def is_complete(self) -> bool:
        """Whether every daemon serves."""
        return all(link.serving.is_set() for link in self._links)

    def _changed(self) -> None:
        for listener in list(self.listeners):
            listener()
