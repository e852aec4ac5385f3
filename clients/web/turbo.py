"""Tile games that the engine plays as fast as it can: at depth 1, all moves made by the daemon."""

from collections.abc import AsyncGenerator

from plyd.clients.library.aio import AsyncEngineClient
from plyd.clients.library.state import PlayedOn
from plyd.clients.web.daemons import ANSWER_SECONDS, DaemonLink
from plyd.v1 import position_pb2

REPORT_SECONDS = 0.05  # between the states that a page is shown


async def play_on(
    link: DaemonLink, position: position_pb2.Position, slides: int, options: dict[str, str]
) -> AsyncGenerator[PlayedOn, None]:
    """The moves since the last time, and the state after them, until so many slides are made or the game is over."""
    client = AsyncEngineClient(link.address, timeout=ANSWER_SECONDS, history=False)
    async with client, await client.play(position, options=options) as game:
        async for played in game.play_on(slides, interval_seconds=REPORT_SECONDS):
            yield played
