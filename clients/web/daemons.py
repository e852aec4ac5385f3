"""The daemons behind the page: who serves which game, and whether they are there."""

import asyncio
import contextlib
from collections.abc import Callable, Iterable
from typing import Any

from plyd.clients.library.aio import AsyncEngineClient
from plyd.clients.library.errors import PlydError, UnknownGame
from plyd.clients.web.fair_queue import Turns
from plyd.v1 import engine_pb2

AGAIN_SECONDS = 0.4  # before a daemon that is away is looked for again
PATIENCE_SECONDS = 8.0  # for a call, while a daemon restarts
ANSWER_SECONDS = 60.0  # for an answer: a person would rather wait than lose a move


class Post:
    """One daemon: its client, its games, its turns, and whether it serves."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.client = AsyncEngineClient(address, timeout=ANSWER_SECONDS, retry_seconds=PATIENCE_SECONDS)
        self.engines: list[engine_pb2.EngineInfo] = []
        self.turns = Turns()
        self.serving = asyncio.Event()

    async def watch(self, changed: Callable[[], None]) -> None:
        """Follow the daemon's health for ever; say when it comes or goes."""
        while True:
            with contextlib.suppress(PlydError):
                async for is_serving in self.client.watch():
                    if is_serving:
                        await self._greet()
                    self._is_there(is_serving, changed)
            self._is_there(False, changed)
            await asyncio.sleep(AGAIN_SECONDS)

    async def _greet(self) -> None:
        described = await self.client.describe()
        self.engines = list(described.engines)
        self.turns.resize(described.daemon.slots)

    def _is_there(self, is_there: bool, changed: Callable[[], None]) -> None:
        if is_there == self.serving.is_set():
            return
        if is_there:
            self.serving.set()
        else:
            self.serving.clear()
        changed()


class Fleet:
    """All daemons that the page may ask. Start it and close it; `listeners` hear of every change."""

    def __init__(self, addresses: Iterable[str]) -> None:
        self._addresses = list(addresses)
        self.posts: list[Post] = []
        self.listeners: set[Callable[[], None]] = set()
        self._watching: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Connect to every daemon, there or not."""
        self.posts = [Post(address) for address in self._addresses]
        self._watching = [asyncio.ensure_future(post.watch(self._tell)) for post in self.posts]

    async def close(self) -> None:
        """Hang up."""
        for task in self._watching:
            task.cancel()
        await asyncio.gather(*self._watching, return_exceptions=True)
        await asyncio.gather(*(post.client.close() for post in self.posts))

    def find(self, game: str) -> Post:
        """The daemon that serves a game, one that is there before one that is away."""
        able = [post for post in self.posts if any(engine.game == game for engine in post.engines)]
        if not able:
            known = sorted({engine.game for post in self.posts for engine in post.engines})
            raise UnknownGame(f"no daemon serves {game!r}; games are {', '.join(known) or 'none yet'}")
        return min(able, key=lambda post: not post.serving.is_set())

    def cards(self) -> list[tuple[engine_pb2.EngineInfo, bool]]:
        """Every game that is or was served, in the daemons' order, and whether it is now."""
        cards: dict[str, tuple[Any, bool]] = {}
        for post in self.posts:
            for engine in post.engines:
                there = post.serving.is_set()
                if engine.game not in cards or (there and not cards[engine.game][1]):
                    cards[engine.game] = (engine, there)
        return list(cards.values())

    @property
    def is_complete(self) -> bool:
        """Whether every daemon serves."""
        return all(post.serving.is_set() for post in self.posts)

    def _tell(self) -> None:
        for listener in list(self.listeners):
            listener()
