"""The opening stage of swap2: three stones to put, or sides to choose, by what the engine thinks of them."""

import asyncio
from collections.abc import Awaitable, Callable
from random import Random
from typing import NamedTuple

from plyd.clients.gomocup.board import Point, Setup, Table, Wrong
from plyd.clients.gomocup.text import chance
from plyd.clients.library.requests import Report

Ask = Callable[[Setup, float], Awaitable[Report | None]]  # a position, and when by the loop's clock to be back
SWAP = "SWAP"
OPENINGS = (  # black, white, black, by column and row from the middle
    ((-2, -2), (2, 2), (2, -1)),
    ((0, 0), (1, 1), (-2, 1)),
    ((0, 0), (2, 0), (-2, 2)),
    ((1, -2), (0, 0), (-2, -1)),
    ((0, 0), (1, 0), (-2, -2)),
    ((2, 2), (0, 0), (-2, 1)),
)


async def swap2(stones: list[Point], size: int, end: float, ask: Ask, random: Random) -> str:
    """The answer to SWAP2BOARD: three stones, one stone, or SWAP."""
    if len(stones) not in (0, 3, 5):
        raise Wrong(f"{len(stones)} stones; SWAP2BOARD has 0, 3 or 5")
    return await (choose(stones, size, end, ask) if stones else open_up(size, end, ask, random))


async def choose(stones: list[Point], size: int, end: float, ask: Ask) -> str:
    """Go on with white if white is no worse off, or else SWAP.

    To put two stones and leave the choice to the opponent is never better: after it we have the worse side.
    """
    table = table_of(stones, size)
    view = await look(setup_of(table, stones), end, ask)
    if view and view.chance < 0.5:
        return SWAP
    point = table.point_of(view.move) if view else None
    return str(point or table.nearest())


async def open_up(size: int, end: float, ask: Ask, random: Random) -> str:
    """The most even one of some openings, turned about at random."""
    loop = asyncio.get_running_loop()
    best, least = "", 1.0
    turn = random.randrange(8)
    for number, opening in enumerate(OPENINGS):
        stones = [turned(offset, size, turn) for offset in opening]
        until = loop.time() + (end - loop.time()) / (len(OPENINGS) - number)
        view = await look(setup_of(table_of(stones, size), stones), until, ask)
        unevenness = abs(view.chance - 0.5) if view else 0.5
        if not best or unevenness < least:
            best, least = " ".join(map(str, stones)), unevenness
    return best


class View(NamedTuple):
    """What the engine thinks of white, who is to move."""

    chance: float
    move: str


async def look(setup: Setup, end: float, ask: Ask) -> View | None:
    """What the engine thinks of white before and after white's best move.

    The mean of both: an engine that thinks too well of whoever is to move, or too little, does so both times.
    """
    now = asyncio.get_running_loop().time()
    before = await ask(setup, now + (end - now) / 2)
    if not before:
        return None
    white = chance(before, setup)
    later = Setup(setup.start, (*setup.moves, before.move))
    is_proven = before.score.WhichOneof("value") == "proven"
    after = None if is_proven else await ask(later, end)
    return View((white + 1 - chance(after, later)) / 2 if after else white, before.move)


def turned(offset: tuple[int, int], size: int, turn: int) -> Point:
    """A point by its offset from the middle, after one of the eight symmetries."""
    x, y = offset
    if turn & 1:
        x = -x
    if turn & 2:
        y = -y
    if turn & 4:
        x, y = y, x
    return Point(size // 2 + x, size // 2 + y)


def table_of(stones: list[Point], size: int) -> Table:
    """A table with stones that were put in turn."""
    table = Table(size)
    for number, point in enumerate(stones):
        table.put(point, number % 2 + 1)
    return table


def setup_of(table: Table, stones: list[Point]) -> Setup:
    """The position after these moves on an empty board."""
    return Setup(f"{table.size}x{table.size}", tuple(map(table.move_to, stones)))
