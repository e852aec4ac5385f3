"""Tile games that the engine plays as fast as it can: at depth 1, which needs no search slot, a move a round trip."""

import time
from collections.abc import AsyncGenerator

from plyd.clients.library.aio import AsyncEngineClient
from plyd.clients.library.state import State
from plyd.clients.web.daemons import ANSWER_SECONDS, DaemonLink
from plyd.v1 import position_pb2

REPORT_SECONDS = 0.05  # between the states that a page is shown


async def play_on(
    link: DaemonLink, position: position_pb2.Position, slides: int, options: dict[str, str]
) -> AsyncGenerator[tuple[list[str], State], None]:
    """The moves since the last time, and the state after them, until so many slides are made or the game is over."""
    client = AsyncEngineClient(link.address, timeout=ANSWER_SECONDS, history=False)
    async with client, await client.play(position, options=options) as game:
        moves: list[str] = []
        shown, report = time.monotonic(), await game.best(depth=1)
        while report.move and slides:
            slides -= 1
            move, report = report.move, await game.best(report.move, with_chance=True, depth=1)
            moves += [move, *game.state.chance_moves]
            if time.monotonic() >= shown + REPORT_SECONDS:
                yield moves, game.state
                moves, shown = [], time.monotonic()
        yield moves, game.state
